// What layouts share: coins, names and values in the order of keys.
#pragma once

#include "layouts/sorted_names.h"
#include "layout.h"
#include "payload.h"

#include <array>

namespace cdb::layouts {

// The bytes of a key or a value, few.
class ShortBytes {
 public:
  void add(const uint8_t *bytes, size_t n) {
    std::memcpy(bytes_.data() + n_, bytes, n);
    n_ += n;
  }
  void add(const Span &bytes) {
    if (bytes.n > 0) add(bytes.bytes, bytes.n);
  }
  void add(uint8_t byte) { bytes_[n_++] = byte; }
  template <typename Number>
  void add_number(Number number) {
    store_big_endian(bytes_.data() + n_, number);
    n_ += sizeof number;
  }
  const uint8_t *data() const { return bytes_.data(); }
  size_t size() const { return n_; }

 private:
  std::array<uint8_t, 88> bytes_;
  size_t n_ = 0;
};

inline Span name_at(const uint8_t *name) { return {name, kNameBytes}; }

// Calls row(coin, confirm) for each coin, in the order of names.
template <typename Row>
void for_each_sorted(const Coins &all, Row row) {
  constexpr size_t kPrefetched = 16;  // coins
  const std::vector<PendingCoin> &coins = all.coins;
  std::vector<coin_set::NameAt> sorted;
  sorted.reserve(coins.size());
  for (uint32_t i = 0; i < coins.size(); ++i) sorted.emplace_back(coins[i].name, i);
  sort_by_name(&sorted, [&coins](uint32_t i) { return coins[i].name; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i + kPrefetched < sorted.size()) {
      const uint32_t ahead = sorted[i + kPrefetched].at;
      prefetch(&coins[ahead]);
      if (const Span confirm = all.confirm(ahead); confirm.n > 0) {
        prefetch(confirm.bytes);
        prefetch(confirm.bytes + confirm.n - 1);
      }
    }
    row(coins[sorted[i].at], all.confirm(sorted[i].at));
  }
}

inline bool is_spent(const PendingCoin &coin) { return coin.spent_index != 0; }

inline Items names_of(const std::vector<Asked> &asked) {
  Items names;
  names.reserve(asked.size(), kNameBytes);
  for (const Asked &one : asked) names.add(name_at(one.name));
  return names;
}

// The values of keys, n_bytes each, one after the other; and which keys are there.
class Values {
 public:
  Values(const Source &source, Space space, const Items &keys, size_t n_bytes, okv_reuse reuse,
         const char *if_cut)
      : bytes_(keys.n() * n_bytes), wanted_(keys.n()) {
    for (size_t i = 0; i < wanted_.size(); ++i)
      wanted_[i] = {0, static_cast<uint32_t>(n_bytes), bytes_.data() + i * n_bytes, 0};
    source.get_many(space, keys, &wanted_, reuse);
    for (const okv_wanted &one : wanted_)
      if (one.length != OKV_ABSENT && one.length != n_bytes) throw damage(if_cut);
  }
  bool has(size_t i) const { return wanted_[i].length != OKV_ABSENT; }
  Span at(size_t i) const { return {wanted_[i].to, wanted_[i].length}; }

 private:
  Bytes bytes_;
  std::vector<okv_wanted> wanted_;
};

// Whether what a block did counts as of another one (-1: of none).
inline bool is_visible(uint32_t index, int64_t as_of) { return int64_t{index} <= as_of; }

// One row after the other of a scan.
class RowsInTurn {
 public:
  // first, end: of the keys; all of them where they are empty.
  explicit RowsInTurn(const Source &source, Space space, const Span &first = {},
                      const Span &end = {})
      : rows_(source, space, first, end, /*is_reverse=*/false, OKV_ONCE, kPageBytes) {}
  // Whether there is a row, which is good until the next call.
  bool next() {
    if (++at_ < rows_.n()) return true;
    at_ = 0;
    rows_.drop(rows_.n());
    return rows_.read(kPageEntries);
  }
  Span key() const { return rows_.key(at_); }
  Span value() const { return rows_.value(at_); }

 private:
  static constexpr size_t kPageBytes = 64u << 10;
  static constexpr size_t kPageEntries = 1024;

  Scan rows_;
  size_t at_ = 0;
};

}  // namespace cdb::layouts
