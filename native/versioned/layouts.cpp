// The four layouts that were published, for values in general. Keys are those of layouts/, and
// tombstones there are none, as nothing is deleted.
//
//   mono_space     Enc(name), 00 00, ~version   the value
//   dual_timeline  the same, and beside it
//                  Enc(name), 00 00, 00 × 8     the newest value
//   option_1       name                         version (8), the newest value
//                  version, name                the value
//   issue_196      name, version, 00            the value
//
// As of an earlier version the newest value is of no use, and dual_timeline seeks among all.
// option_1 has no seek by name: where the newest value came later, it looks the name up in one
// version after the other, downwards, until it is there.

#include "layout.h"

#include "common/failure.h"
#include "layouts/dual_timeline.h"
#include "layouts/issue_196.h"
#include "layouts/mono_space.h"
#include "layouts/option_1.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>

namespace cdb::versioned {

namespace {

using coin_set::Items;
using coin_set::Seek;
using layouts::DualLatestKeys;
using layouts::Issue196Keys;
using layouts::Key;
using layouts::kHeightBytes;
using layouts::MonoSpaceKeys;
using layouts::NameKeys;
using layouts::Option1;
using layouts::Options;
using layouts::RowsInTurn;
using Names = std::vector<const uint8_t *>;

bool reads_as_published(const Options &options) {
  return options.value("reads", "right") == "published";
}

layouts::Space as_space(Space space) { return static_cast<layouts::Space>(space); }

Failure damage() { return {CDB_CORRUPT, "", "a version's key makes no sense"}; }

// Values that are looked up by whole keys.
class LookUp {
 public:
  // lead_bytes: in front of each value.
  LookUp(size_t n, size_t value_bytes, size_t lead_bytes, Answer *answer)
      : room_(lead_bytes + value_bytes), lead_(lead_bytes), answer_(*answer) {
    answer_.looked_up.resize(n * room_);
    answer_.values.assign(n, {});
  }

  // Sets answers at[i] by keys.item[i], where it is there.
  void get(const Source &source, Space space, const Items &keys, const std::vector<size_t> &at) {
    std::vector<okv_wanted> wanted(at.size());
    for (size_t i = 0; i < at.size(); ++i)
      wanted[i] = {0, static_cast<uint32_t>(room_), place(at[i]), 0};
    source.get_many(space, keys, &wanted, OKV_OFTEN);
    for (size_t i = 0; i < at.size(); ++i) {
      const size_t length = wanted[i].length;
      if (length == OKV_ABSENT) continue;
      if (length < lead_ || length > room_) throw Failure(CDB_CORRUPT, "", "a value is cut");
      answer_.values[at[i]] = {place(at[i]) + lead_, length - lead_};
    }
  }
  bool is_found(size_t i) const { return answer_.values[i].bytes != nullptr; }
  uint8_t *place(size_t i) { return answer_.looked_up.data() + i * room_; }

 private:
  const size_t room_, lead_;
  Answer &answer_;
};

std::vector<size_t> numbers_below(size_t n) {
  std::vector<size_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// All rows of a space that keys with a version are in.
template <typename Keys>
class AllVersions : public RowScan {
 public:
  AllVersions(const Keys &keys, const Source &source, Space space)
      : keys_(keys), rows_(source, as_space(space)) {}
  bool next() override {
    if (!rows_.next()) return false;
    uint64_t version = 0;
    if (!keys_.read(rows_.key(), name_.data(), &version)) throw damage();
    version_ = static_cast<uint32_t>(version);
    return true;
  }
  const uint8_t *name() const override { return name_.data(); }
  uint32_t version() const override { return version_; }
  Span value() const override { return rows_.value(); }

 private:
  const Keys keys_;
  RowsInTurn rows_;
  std::array<uint8_t, kNameBytes> name_{};
  uint32_t version_ = 0;
};

// Of each name the first row that counts, where a name's versions descend.
template <typename Keys>
class FirstOfEach : public RowScan {
 public:
  FirstOfEach(const Keys &keys, const Source &source, Space space, uint32_t as_of)
      : rows_(keys, source, space), as_of_(as_of) {}
  bool next() override {
    while (rows_.next()) {
      if (rows_.version() > as_of_ || (is_begun_ && is_same_name(rows_.name(), last_.data())))
        continue;
      std::copy_n(rows_.name(), kNameBytes, last_.begin());
      return is_begun_ = true;
    }
    return false;
  }
  const uint8_t *name() const override { return last_.data(); }
  uint32_t version() const override { return rows_.version(); }
  Span value() const override { return rows_.value(); }

 private:
  AllVersions<Keys> rows_;
  const uint32_t as_of_;
  std::array<uint8_t, kNameBytes> last_{};
  bool is_begun_ = false;
};

// A row that stays when a scan goes on.
struct KeptRow {
  std::array<uint8_t, kNameBytes> name{};
  uint32_t version = 0;  // 0: none
  Bytes value;
};

// And the last one, where they ascend: it is known when the next name comes.
template <typename Keys>
class LastOfEach : public RowScan {
 public:
  LastOfEach(const Keys &keys, const Source &source, Space space, uint32_t as_of)
      : rows_(keys, source, space), as_of_(as_of) {}
  bool next() override {
    while (rows_.next()) {
      if (rows_.version() > as_of_) continue;
      const bool is_next = last_.version > 0 && !is_same_name(rows_.name(), last_.name.data());
      if (is_next) std::swap(last_, given_);
      std::copy_n(rows_.name(), kNameBytes, last_.name.begin());
      last_.version = rows_.version();
      last_.value.assign(rows_.value().bytes, rows_.value().bytes + rows_.value().n);
      if (is_next) return true;
    }
    std::swap(last_, given_);
    last_.version = 0;
    return given_.version > 0;
  }
  const uint8_t *name() const override { return given_.name.data(); }
  uint32_t version() const override { return given_.version; }
  Span value() const override { return given_.value; }

 private:
  AllVersions<Keys> rows_;
  const uint32_t as_of_;
  KeptRow last_, given_;
};

// Versions in one space, by keys of layouts/.
template <typename Keys>
class Timeline {
 public:
  Timeline(const Options &options, Space space, size_t value_bytes)
      : keys_(options),
        space_(space),
        value_bytes_(value_bytes),
        is_published_(reads_as_published(options)) {}

  const Keys &keys() const { return keys_; }
  okv_space space() const {
    okv_space space = keys_.space();
    if (is_published_) space.order = OKV_UNFILTERED;
    return space;
  }

  void put(uint32_t version, const Rows &rows, Batch *to) const {
    for (const Row &row : rows) to->put(space_, keys_.key(row.name, version), row.value);
  }

  void get(const Source &source, const Names &names, uint32_t as_of, Answer *answer) const {
    Items sought;
    sought.reserve(names.size(), Keys::kMostBytes);
    for (const uint8_t *name : names)
      sought.add(is_published_ ? published(name, as_of) : keys_.sought(name, as_of));
    answer->sought = source.seek_many(space_, sought, how(), OKV_OFTEN);
    answer->values.assign(names.size(), {});
    answer->sought.for_each(
        [answer](size_t i, const Span &, const Span &value) { answer->values[i] = value; });
  }

  std::unique_ptr<RowScan> state(const Source &source, uint32_t as_of) const {
    using OfEach = std::conditional_t<Keys::kIsNewestFirst, FirstOfEach<Keys>, LastOfEach<Keys>>;
    return std::make_unique<OfEach>(keys_, source, space_, as_of);
  }
  std::unique_ptr<RowScan> all(const Source &source) const {
    return std::make_unique<AllVersions<Keys>>(keys_, source, space_);
  }

 private:
  // The last one before ~(h + 1), where the newest comes first: one that came later. And Issue-196
  // takes whatever is before what it seeks, also another name's.
  Key published(const uint8_t *name, uint32_t as_of) const {
    return Keys::kIsNewestFirst ? keys_.key(name, uint64_t{as_of} + 2) : keys_.sought(name, as_of);
  }
  Seek how() const {
    if (!is_published_) return {Keys::kSuffixBytes, Keys::kIsBefore, value_bytes_};
    constexpr uint32_t kSuffix = Keys::kIsNewestFirst ? Keys::kSuffixBytes : Keys::kMostBytes;
    return {kSuffix, /*is_before=*/true, value_bytes_};
  }

  const Keys keys_;
  const Space space_;
  const size_t value_bytes_;
  const bool is_published_;
};

// mono_space and issue_196: versions, and nothing else.
template <typename Keys>
class OnlyTimeline : public Layout {
 public:
  OnlyTimeline(const Options &options, size_t value_bytes)
      : timeline_(options, kFirst, value_bytes) {}
  okv_space first_space() const override { return timeline_.space(); }
  void put(uint32_t version, const Rows &rows, Batch *to) const override {
    timeline_.put(version, rows, to);
  }
  void get(const Source &source, const Names &names, uint32_t as_of, bool,
           Answer *answer) const override {
    timeline_.get(source, names, as_of, answer);
  }
  std::unique_ptr<RowScan> state(const Source &source, uint32_t as_of, bool) const override {
    return timeline_.state(source, as_of);
  }
  std::unique_ptr<RowScan> all(const Source &source) const override {
    return timeline_.all(source);
  }

 private:
  const Timeline<Keys> timeline_;
};

// The newest value of each name.
template <typename Keys>
class LatestRows : public RowScan {
 public:
  LatestRows(const Keys &keys, const Source &source)
      : keys_(keys), rows_(source, as_space(kFirst)) {}
  bool next() override {
    if (!rows_.next()) return false;
    if (!keys_.read(rows_.key(), name_.data())) throw damage();
    return true;
  }
  const uint8_t *name() const override { return name_.data(); }
  uint32_t version() const override { return 0; }
  Span value() const override { return rows_.value(); }

 private:
  const Keys keys_;
  RowsInTurn rows_;
  std::array<uint8_t, kNameBytes> name_{};
};

class DualTimeline : public Layout {
 public:
  DualTimeline(const Options &options, size_t value_bytes)
      : timeline_(options, kSecond, value_bytes),
        latest_(timeline_.keys()),
        value_bytes_(value_bytes) {}
  okv_space first_space() const override { return {"latest", OKV_RANDOM, 0, 0}; }
  okv_space second_space() const override { return timeline_.space(); }

  void put(uint32_t version, const Rows &rows, Batch *to) const override {
    for (const Row &row : rows) to->put(kFirst, latest_.key(row.name), row.value);
    timeline_.put(version, rows, to);
  }
  void get(const Source &source, const Names &names, uint32_t as_of, bool is_newest,
           Answer *answer) const override {
    if (!is_newest) return timeline_.get(source, names, as_of, answer);
    Items keys;
    for (const uint8_t *name : names) keys.add(latest_.key(name));
    LookUp(names.size(), value_bytes_, 0, answer)
        .get(source, kFirst, keys, numbers_below(names.size()));
  }
  std::unique_ptr<RowScan> state(const Source &source, uint32_t as_of,
                                 bool is_newest) const override {
    if (!is_newest) return timeline_.state(source, as_of);
    return std::make_unique<LatestRows<DualLatestKeys>>(latest_, source);
  }
  std::unique_ptr<RowScan> all(const Source &source) const override {
    return timeline_.all(source);
  }

 private:
  const Timeline<MonoSpaceKeys> timeline_;
  const DualLatestKeys latest_;
  const size_t value_bytes_;
};

// Its log, whose keys layouts/option_1.h makes.
struct LogKeys {
  bool read(const Span &key, uint8_t *name, uint64_t *version) const {
    if (key.n != Option1::kLogKeyBytes) return false;
    *version = load_big_endian(key.bytes);
    std::memcpy(name, key.bytes + kHeightBytes, kNameBytes);
    return true;
  }
};

// One version's rows.
class Delta : public RowScan {
 public:
  Delta(const Source &source, uint32_t version)
      : Delta(source, begin(version), begin(version + 1)) {}
  bool next() override { return rows_.next(); }
  const uint8_t *name() const override { return rows_.key().bytes + kHeightBytes; }
  uint32_t version() const override { return 0; }
  Span value() const override { return rows_.value(); }

 private:
  Delta(const Source &source, const Key &first, const Key &end)
      : rows_(source, as_space(kSecond), first, end) {}
  static Key begin(uint32_t version) {
    Key key;
    key.add_height(version);
    return key;
  }

  RowsInTurn rows_;
};

class Option1Values : public Layout {
 public:
  Option1Values(const Options &options, size_t value_bytes)
      : value_bytes_(value_bytes), is_published_(reads_as_published(options)) {}
  okv_space first_space() const override { return {"latest_by_name", OKV_RANDOM, 0, 0}; }
  okv_space second_space() const override { return {"heights", OKV_ASCENDING, 0, 0}; }

  void put(uint32_t version, const Rows &rows, Batch *to) const override {
    Bytes value;
    for (const Row &row : rows) {
      value.resize(kHeightBytes);
      store_big_endian(value.data(), uint64_t{version});
      value.insert(value.end(), row.value.bytes, row.value.bytes + row.value.n);
      to->put(kFirst, NameKeys().key(row.name), value);
    }
    for (const Row &row : rows) to->put(kSecond, Option1::log_key(version, row.name), row.value);
  }

  void get(const Source &source, const Names &names, uint32_t as_of, bool is_newest,
           Answer *answer) const override {
    const size_t n = names.size();
    if (is_published_ && !is_newest) return look_in_log(source, names, as_of, as_of, answer);
    Items keys;
    for (const uint8_t *name : names) keys.add(NameKeys().key(name));
    LookUp latest(n, value_bytes_, kHeightBytes, answer);
    latest.get(source, kFirst, keys, numbers_below(n));
    if (is_newest) return;
    std::vector<size_t> later;
    for (size_t i = 0; i < n; ++i)
      if (latest.is_found(i) && load_big_endian(latest.place(i)) > as_of) later.push_back(i);
    find_earlier(source, names, as_of, later, answer);
  }

  std::unique_ptr<RowScan> state(const Source &source, uint32_t as_of,
                                 bool is_newest) const override;
  std::unique_ptr<RowScan> all(const Source &source) const override {
    return std::make_unique<AllVersions<LogKeys>>(LogKeys(), source, kSecond);
  }

  // Sets the answers of those names whose newest value came later.
  void find_earlier(const Source &source, const Names &names, uint32_t as_of,
                    const std::vector<size_t> &later, Answer *answer) const {
    Names sought;
    for (const size_t i : later) sought.push_back(names[i]);
    Answer found;
    look_in_log(source, sought, as_of, 1, &found);
    for (size_t n = 0; n < later.size(); ++n) answer->values[later[n]] = found.values[n];
    answer->looked_up_later = std::move(found.looked_up);
  }

 private:
  // From version `from` down to `to`.
  void look_in_log(const Source &source, const Names &names, uint32_t from, uint32_t to,
                   Answer *answer) const {
    LookUp log(names.size(), value_bytes_, 0, answer);
    std::vector<size_t> missing = numbers_below(names.size());
    for (uint32_t version = from; version >= to && version > 0 && !missing.empty(); --version) {
      Items keys;
      keys.reserve(missing.size(), Option1::kLogKeyBytes);
      for (const size_t i : missing) keys.add(Option1::log_key(version, names[i]));
      log.get(source, kSecond, keys, missing);
      const auto is_found = [&log](size_t i) { return log.is_found(i); };
      missing.erase(std::remove_if(missing.begin(), missing.end(), is_found), missing.end());
    }
  }

  const size_t value_bytes_;
  const bool is_published_;
};

// The newest value of each name, without its version.
class Option1Latest : public RowScan {
 public:
  explicit Option1Latest(const Source &source) : rows_(NameKeys(), source) {}
  bool next() override {
    if (!rows_.next()) return false;
    if (rows_.value().n < kHeightBytes) throw damage();
    return true;
  }
  const uint8_t *name() const override { return rows_.name(); }
  uint32_t version() const override {
    return static_cast<uint32_t>(load_big_endian(rows_.value().bytes));
  }
  Span value() const override {
    return {rows_.value().bytes + kHeightBytes, rows_.value().n - kHeightBytes};
  }

 private:
  LatestRows<NameKeys> rows_;
};

// The same as of a version: where the newest one came later, by what the log has, a batch at a
// time.
class Option1AsOf : public RowScan {
 public:
  Option1AsOf(const Option1Values &layout, const Source &source, uint32_t as_of)
      : layout_(layout), source_(source), as_of_(as_of), rows_(source) {}
  bool next() override {
    do {
      if (++at_ >= kept_.size() && !fill()) return false;
    } while (answer_.values[at_].bytes == nullptr);
    return true;
  }
  const uint8_t *name() const override { return kept_[at_].name.data(); }
  uint32_t version() const override { return 0; }
  Span value() const override { return answer_.values[at_]; }

 private:
  static constexpr size_t kBatch = 1000;  // names

  bool fill() {
    at_ = 0;
    kept_.clear();
    while (kept_.size() < kBatch && rows_.next()) {
      KeptRow &row = kept_.emplace_back();
      std::copy_n(rows_.name(), kNameBytes, row.name.begin());
      row.version = rows_.version();
      if (row.version > as_of_) continue;
      row.value.assign(rows_.value().bytes, rows_.value().bytes + rows_.value().n);
    }
    Names names;
    std::vector<size_t> later;
    answer_.values.clear();
    for (const KeptRow &row : kept_) {
      if (row.version > as_of_) later.push_back(names.size());
      names.push_back(row.name.data());
      answer_.values.push_back(row.value);
    }
    layout_.find_earlier(source_, names, as_of_, later, &answer_);
    return !kept_.empty();
  }

  const Option1Values &layout_;
  const Source &source_;
  const uint32_t as_of_;
  Option1Latest rows_;
  std::vector<KeptRow> kept_;
  Answer answer_;
  size_t at_ = 0;
};

std::unique_ptr<RowScan> Option1Values::state(const Source &source, uint32_t as_of,
                                              bool is_newest) const {
  if (is_published_ && !is_newest) return std::make_unique<Delta>(source, as_of);
  if (is_newest) return std::make_unique<Option1Latest>(source);
  return std::make_unique<Option1AsOf>(*this, source, as_of);
}

}  // namespace

std::unique_ptr<Layout> layout_of(const Options &options, size_t value_bytes) {
  if (options.layout() == "mono_space")
    return std::make_unique<OnlyTimeline<MonoSpaceKeys>>(options, value_bytes);
  if (options.layout() == "dual_timeline")
    return std::make_unique<DualTimeline>(options, value_bytes);
  if (options.layout() == "option_1") return std::make_unique<Option1Values>(options, value_bytes);
  if (options.layout() == "issue_196")
    return std::make_unique<OnlyTimeline<Issue196Keys>>(options, value_bytes);
  throw Failure(CDB_INVALID, "", "no layout " + std::string(options.layout()));
}

}  // namespace cdb::versioned
