#include "model.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace cdb::versioned {

namespace {

using Name = std::array<uint8_t, kNameBytes>;

constexpr uint32_t kMillion = 1'000'000;
constexpr std::array<std::string_view, 4> kKinds{"account_", "validator_", "committee_", "hash_"};

// What numbers are drawn for, so that none is drawn twice.
enum Stream : uint64_t { kNames, kAbsent, kWritten, kValues };

// SplitMix64: a sequence of numbers without a pattern.
class Numbers {
 public:
  Numbers(uint64_t seed, Stream stream, uint64_t a, uint64_t b = 0)
      : state_(mixed(mixed(mixed(seed + stream) + a) + b)) {}
  uint64_t next() { return mixed(state_ += kStep); }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

Name name_from(Numbers numbers) {
  Name name;
  const std::string_view kind = kKinds[numbers.next() % kKinds.size()];
  auto next = std::copy(kind.begin(), kind.end(), name.begin());
  std::generate(next, name.end(), [&] { return static_cast<uint8_t>(numbers.next()); });
  return name;
}

void fill(Numbers numbers, size_t period_bytes, uint8_t *to, size_t n) {
  const size_t n_drawn = period_bytes == 0 ? n : std::min(period_bytes, n);
  for (size_t i = 0; i < n_drawn; i += sizeof(uint64_t)) {
    const uint64_t number = numbers.next();
    std::memcpy(to + i, &number, std::min(n_drawn - i, sizeof number));
  }
  for (size_t i = n_drawn; i < n; ++i) to[i] = to[i - n_drawn];
}

}  // namespace

Model::Model(const cdb_versioned_shape &shape) : shape_(shape) {
  std::vector<Name> names;
  for (uint32_t i = 0; i < shape.keys; ++i) names.push_back(name_from({shape.seed, kNames, i}));
  std::sort(names.begin(), names.end());
  for (const Name &name : names) names_.insert(names_.end(), name.begin(), name.end());
  // About the golden section of all: neighbours come far apart.
  stride_ = 1 + shape.keys / 1000 * 618;
  while (std::gcd(stride_, uint64_t{shape.keys}) > 1) ++stride_;
}

uint32_t Model::find(const uint8_t *name) const {
  uint32_t first = 0, last = shape_.keys;
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    const int order = compare_names(this->name(middle), name);
    if (order == 0) return middle;
    order < 0 ? first = middle + 1 : last = middle;
  }
  return shape_.keys;
}

void Model::absent_name(uint32_t number, uint8_t *name) const {
  const Name made = name_from({shape_.seed, kAbsent, number});
  std::copy(made.begin(), made.end(), name);
}

uint32_t Model::scattered(uint32_t place) const {
  return static_cast<uint32_t>(place * stride_ % shape_.keys);
}

bool Model::is_written(uint32_t key, uint32_t version) const {
  if (version <= 1) return version == 1;
  return Numbers(shape_.seed, kWritten, key, version).next() % kMillion <
         shape_.rewritten_per_million;
}

uint32_t Model::newest(uint32_t key, uint32_t as_of) const {
  uint32_t version = std::min(as_of, shape_.versions);
  while (version > 0 && !is_written(key, version)) --version;
  return version;
}

uint64_t Model::count() const {
  uint64_t n = 0;
  for (uint32_t version = 1; version <= shape_.versions; ++version)
    for (uint32_t key = 0; key < shape_.keys; ++key) n += is_written(key, version) ? 1U : 0U;
  return n;
}

void Model::add_value(uint32_t key, uint32_t version, Bytes *bytes) const {
  const size_t at = bytes->size();
  bytes->resize(at + shape_.value_bytes);
  fill({shape_.seed, kValues, key, version}, shape_.period_bytes, bytes->data() + at,
       shape_.value_bytes);
}

bool Model::is_value(uint32_t key, uint32_t version, const Span &value) const {
  expected_.clear();
  add_value(key, version, &expected_);
  return Span(expected_) == value;
}

}  // namespace cdb::versioned
