// What layouts with versions share: a row for each block that confirms or spends a coin, which says
// what the coin is from that block on.
//
//   a version   confirmed index (4), spent index (4) or 0, position among the block's confirms (4)
//
// Numbers are big endian. What keys look like, and how the version as of a block is sought, the
// layout says by a class Keys:
//
//   kMostBytes, kSuffixBytes     of a key; and those behind what all versions of a coin share
//   kIsBefore, kIsNewestFirst    whether the version as of a block is at or before what is sought
//   for
//                                it; and whether a coin's versions descend
//   key(name, version)           a Key
//   sought(name, as_of)          a Key, near which the version as of a block is
//   read(key, &name, &version)   takes one apart; false where it is none
#pragma once

#include "rows.h"

#include <algorithm>
#include <array>
#include <optional>

namespace cdb::layouts {

constexpr size_t kVersionBytes = 12;
constexpr size_t kHeightBytes = 8;

// Bytes of a key, few.
class Key {
 public:
  void add(const uint8_t *bytes, size_t n) {
    std::memcpy(bytes_.data() + n_, bytes, n);
    n_ += n;
  }
  void add(uint8_t byte) { bytes_[n_++] = byte; }
  void add_height(uint64_t height) {
    store_big_endian(bytes_.data() + n_, height);
    n_ += kHeightBytes;
  }
  const uint8_t *data() const { return bytes_.data(); }
  size_t size() const { return n_; }

 private:
  std::array<uint8_t, 88> bytes_;
  size_t n_ = 0;
};

inline std::array<uint8_t, kVersionBytes> version_value(uint32_t confirmed, uint32_t spent,
                                                        uint32_t position) {
  std::array<uint8_t, kVersionBytes> value;
  store_big_endian(value.data(), confirmed);
  store_big_endian(value.data() + 4, spent);
  store_big_endian(value.data() + 8, position);
  return value;
}

// at: what the asker calls the coin.
inline CoinState version_in(const Span &value, size_t at) {
  if (value.n != kVersionBytes) throw damage("a coin's version is cut");
  return {static_cast<uint32_t>(at), load_big_endian<uint32_t>(value.bytes),
          load_big_endian<uint32_t>(value.bytes + 8), load_big_endian<uint32_t>(value.bytes + 4)};
}

// The versions in one space.
template <typename Keys>
class Versions {
 public:
  Versions(Space space, const Keys &keys) : space_(space), keys_(keys) {}

  void find(const Source &source, const std::vector<Asked> &sorted, int64_t as_of, okv_reuse reuse,
            std::vector<CoinState> *found) const {
    if (as_of < 0) return;
    Items sought;
    sought.reserve(sorted.size(), Keys::kMostBytes);
    for (const Asked &one : sorted)
      sought.add(keys_.sought(one.name, static_cast<uint64_t>(as_of)));
    const coin_set::Seek how{Keys::kSuffixBytes, Keys::kIsBefore, kVersionBytes};
    source.seek_many(space_, sought, how, reuse)
        .for_each([found](size_t i, const Span &, const Span &value) {
          found->push_back(version_in(value, i));
        });
  }

  template <typename Put>
  void put_rows(const Coins &coins, Put put) const {
    for_each_sorted(coins, is_any, [this, &put](const PendingCoin &coin) {
      const bool is_ephemeral = coin.is_confirmed && coin.spent_index == coin.confirmed_index;
      const bool has_spend = is_spent(coin) && !is_ephemeral;
      if (has_spend && Keys::kIsNewestFirst) put_spend(coin, put);
      if (coin.is_confirmed) put_confirm(coin, is_ephemeral ? coin.spent_index : 0, put);
      if (has_spend && !Keys::kIsNewestFirst) put_spend(coin, put);
    });
  }

  void undo(const Blocks &blocks, Batch *to) const {
    std::vector<std::pair<const uint8_t *, uint64_t>> rows;
    for (size_t b = 0; b < blocks.n; ++b) {
      for (size_t i = blocks.confirm_begin(b); i < blocks.confirm_ends[b]; ++i)
        rows.emplace_back(blocks.name(i), blocks.indices[b]);
      for (size_t i = blocks.spend_begin(b); i < blocks.spend_ends[b]; ++i)
        rows.emplace_back(blocks.spend(i), blocks.indices[b]);
    }
    const auto order = [](const auto &a, const auto &b) {
      const int names = compare_names(a.first, b.first);
      if (names != 0) return names < 0;
      return Keys::kIsNewestFirst ? a.second > b.second : a.second < b.second;
    };
    std::sort(rows.begin(), rows.end(), order);
    // An ephemeral coin is in its block twice, and has one version.
    const auto is_same = [&order](const auto &a, const auto &b) { return !order(a, b); };
    rows.erase(std::unique(rows.begin(), rows.end(), is_same), rows.end());
    for (const auto &[name, version] : rows) to->erase(space_, keys_.key(name, version));
  }

  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const {
    return std::make_unique<NewestOfEach>(keys_, RowsInTurn(source, space_), as_of);
  }

 private:
  // Of each coin the newest version up to a block.
  class NewestOfEach : public CoinScan {
   public:
    NewestOfEach(const Keys &keys, RowsInTurn rows, int64_t as_of)
        : keys_(keys), rows_(std::move(rows)), as_of_(as_of) {}
    bool next(size_t most, std::vector<NamedCoin> *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!rows_.next()) {
          if (newest_) coins->push_back(*newest_);
          newest_.reset();
          return false;
        }
        take_row(coins);
      }
      return true;
    }

   private:
    void take_row(std::vector<NamedCoin> *coins) {
      NamedCoin coin;
      uint64_t version = 0;
      if (!keys_.read(rows_.key(), coin.name.data(), &version))
        throw damage("a version's key makes no sense");
      if (version > UINT32_MAX || !is_visible(static_cast<uint32_t>(version), as_of_)) return;
      const bool is_same = newest_ && is_same_name(newest_->name.data(), coin.name.data());
      if (is_same && Keys::kIsNewestFirst) return;
      const CoinState state = version_in(rows_.value(), 0);
      coin.confirmed_index = state.confirmed_index;
      coin.position = state.position;
      coin.spent_index = state.spent_index;
      if (newest_ && !is_same) coins->push_back(*newest_);
      newest_ = coin;
    }

    const Keys keys_;
    RowsInTurn rows_;
    const int64_t as_of_;
    std::optional<NamedCoin> newest_;  // of the coin whose rows come
  };

  template <typename Put>
  void put_confirm(const PendingCoin &coin, uint32_t spent, Put &put) const {
    put(keys_.key(coin.name, coin.confirmed_index),
        version_value(coin.confirmed_index, spent, coin.position));
  }
  template <typename Put>
  void put_spend(const PendingCoin &coin, Put &put) const {
    put(keys_.key(coin.name, coin.spent_index),
        version_value(coin.confirmed_index, coin.spent_index, coin.position));
  }

  const Space space_;
  const Keys keys_;
};

// A layout that has nothing but versions, in its first space.
template <typename Keys>
class OnlyVersions : public LayoutOf<OnlyVersions<Keys>> {
 public:
  explicit OnlyVersions(const Keys &keys) : keys_(keys), versions_(kFirst, keys) {}

  LayoutSpaces spaces() const override {
    return {{keys_.space(), {"unused", OKV_ASCENDING, 0, 0}}};
  }
  bool repeats_places() const override { return true; }
  void find(const Source &source, const std::vector<Asked> &sorted, Wanted, const AsOf &as_of,
            okv_reuse reuse, std::vector<CoinState> *found) const override {
    versions_.find(source, sorted, as_of.index, reuse, found);
  }
  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst) versions_.put_rows(coins, put);
  }
  void undo(const Source &, const Blocks &blocks, int64_t, Batch *to) const override {
    versions_.undo(blocks, to);
  }
  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const override {
    return versions_.scan(source, as_of);
  }

 private:
  const Keys keys_;
  const Versions<Keys> versions_;
};

}  // namespace cdb::layouts
