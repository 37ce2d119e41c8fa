#include "database.h"

#include "common/failure.h"

#include <algorithm>

namespace cdb::versioned {

namespace {

constexpr std::string_view kNewestMark = "newest version";

okv_options options_for(const cdb_versioned_options &wanted,
                        const std::array<okv_space, 3> &spaces) {
  okv_options options{};
  options.create = wanted.create;
  options.mostly = OKV_POWER;
  options.cache_bytes = wanted.cache_bytes;
  options.memtable_bytes = coin_set::memtable_bytes(wanted.cache_bytes);
  options.n_spaces = spaces.size();
  options.spaces = spaces.data();
  return options;
}

}  // namespace

Database::Database(const std::string &path, const cdb_versioned_options &options,
                   const cdb_versioned_shape &shape)
    : model_(shape),
      layout_(layout_of(layouts::Options(options.layout), shape.value_bytes)),
      spaces_{{{"marks", OKV_ASCENDING, 0, 0}, layout_->first_space(), layout_->second_space()}},
      engine_(path, options_for(options, spaces_)) {}

void Database::close() {
  scan_.reset();
  engine_.close();
}

uint64_t Database::prepare(uint32_t version) {
  prepared_ = version;
  values_.clear();
  rows_.clear();
  std::vector<uint32_t> keys;
  for (uint32_t key = 0; key < model_.shape().keys; ++key)
    if (model_.is_written(key, version)) keys.push_back(key);
  for (const uint32_t key : keys) model_.add_value(key, version, &values_);
  const size_t n_bytes = model_.shape().value_bytes;
  for (size_t i = 0; i < keys.size(); ++i)
    rows_.push_back({model_.name(keys[i]), {values_.data() + i * n_bytes, n_bytes}});
  return rows_.size();
}

// The mark says that the version is there, in the same step.
void Database::commit() {
  std::array<uint8_t, sizeof(uint64_t)> mark;
  store_big_endian(mark.data(), uint64_t{prepared_});
  coin_set::Batch batch;
  batch.put(kMarks, kNewestMark, mark);
  layout_->put(prepared_, rows_, &batch);
  batch.commit(engine_, OKV_POWER);
}

void Database::draw(uint32_t first, uint32_t n, bool are_absent) {
  drawn_.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    Drawn &one = drawn_[i];
    one.key = are_absent ? model_.shape().keys : model_.scattered(first + i);
    if (are_absent)
      model_.absent_name(first + i, one.name.data());
    else
      std::copy_n(model_.name(one.key), kNameBytes, one.name.begin());
  }
  std::sort(drawn_.begin(), drawn_.end(),
            [](const Drawn &a, const Drawn &b) { return a.name < b.name; });
  names_.clear();
  for (const Drawn &one : drawn_) names_.push_back(one.name.data());
}

void Database::get(uint32_t as_of) {
  as_of_ = as_of;
  scan_.reset();
  checked_ = {};
  layout_->get(engine_, names_, as_of, is_newest(as_of), &answer_);
}

void Database::scan(uint32_t as_of) {
  as_of_ = as_of;
  scan_.reset();
  checked_ = {};
  const size_t n = as_of == 0 ? size_t{model_.shape().keys} * model_.shape().versions
                              : size_t{model_.shape().keys};
  seen_.assign(n, false);
  given_ = {};
  scan_ = as_of == 0 ? layout_->all(engine_) : layout_->state(engine_, as_of, is_newest(as_of));
}

uint32_t Database::next(uint32_t most) {
  if (scan_ == nullptr) throw Failure(CDB_INVALID, "", "no scan goes on");
  given_.names.clear();
  given_.values.clear();
  given_.value_ends.clear();
  given_.versions.clear();
  while (given_.versions.size() < most && scan_->next()) {
    const Span value = scan_->value();
    given_.names.insert(given_.names.end(), scan_->name(), scan_->name() + kNameBytes);
    given_.values.insert(given_.values.end(), value.bytes, value.bytes + value.n);
    given_.value_ends.push_back(given_.values.size());
    given_.versions.push_back(scan_->version());
  }
  return static_cast<uint32_t>(given_.versions.size());
}

cdb_versioned_checked Database::check() {
  scan_ == nullptr ? check_answers() : check_rows();
  return checked_;
}

void Database::check_answers() {
  for (size_t i = 0; i < drawn_.size(); ++i) {
    const uint32_t key = drawn_[i].key;
    const bool is_absent = key == model_.shape().keys;
    const uint32_t version = is_absent ? 0 : model_.newest(key, as_of_);
    const Span &value = answer_.values[i];
    const bool is_there = value.bytes != nullptr;
    tell(key, version, value,
         version == 0 ? !is_there : is_there && model_.is_value(key, version, value));
  }
}

void Database::check_rows() {
  const uint32_t n_keys = model_.shape().keys;
  for (size_t i = 0; i < given_.versions.size(); ++i) {
    const size_t begin = i == 0 ? 0 : given_.value_ends[i - 1];
    const Span value(given_.values.data() + begin, given_.value_ends[i] - begin);
    const uint32_t key = model_.find(given_.names.data() + i * kNameBytes);
    const uint32_t version = as_of_ == 0 ? given_.versions[i] : model_.newest(key, as_of_);
    const bool is_known = key < n_keys && version > 0 && version <= model_.shape().versions &&
                          model_.is_written(key, version);
    const size_t at = as_of_ == 0 ? size_t{key} * model_.shape().versions + version - 1 : key;
    const bool is_right = is_known && !seen_[at] && model_.is_value(key, version, value);
    if (is_right) seen_[at] = true;
    tell(key, version, value, is_right);
  }
}

void Database::tell(uint32_t key, uint32_t version, const Span &value, bool is_right) {
  if (is_right) {
    ++checked_.right;
    return;
  }
  if (checked_.wrong++ > 0) return;
  checked_.key = key;
  checked_.right_version = version;
  checked_.found_version = UINT32_MAX;
  if (value.bytes == nullptr) checked_.found_version = 0;
  for (uint32_t each = 1; key < model_.shape().keys && each <= model_.shape().versions; ++each)
    if (model_.is_value(key, each, value)) checked_.found_version = each;
}

}  // namespace cdb::versioned
