// What layouts with versions share: a row for each block that confirms or spends a coin, which says
// what the coin is from that block on.
//
//   a version   confirmed index (4), spent index (4) or 0, position among the block's confirms (4);
//               and with payload=inline the confirm (72)
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
#include <optional>

namespace cdb::layouts {

constexpr size_t kVersionBytes = 12;
constexpr size_t kHeightBytes = 8;

class Key : public ShortBytes {
 public:
  void add_height(uint64_t height) { add_number(height); }
};

// The value of a coin's version. spent: 0, where that does not tell of a spend. confirm: nothing,
// or the coin's with payload=inline.
template <typename Coin>
ShortBytes version_value(const Coin &coin, uint32_t spent, const Span &confirm) {
  ShortBytes value;
  value.add_number(coin.confirmed_index);
  value.add_number(spent);
  value.add_number(coin.position);
  value.add(confirm);
  return value;
}

struct Version {
  CoinState coin;
  Span confirm;
};

// at: what the asker calls the coin.
inline Version version_in(const Span &value, size_t at, const Payload &payload) {
  if (value.n != kVersionBytes + payload.n_bytes()) throw damage("a coin's version is cut");
  return {{static_cast<uint32_t>(at), load_big_endian<uint32_t>(value.bytes),
           load_big_endian<uint32_t>(value.bytes + 8), load_big_endian<uint32_t>(value.bytes + 4)},
          {value.bytes + kVersionBytes, payload.n_bytes()}};
}

// The versions in one space.
template <typename Keys>
class Versions {
 public:
  Versions(Space space, const Keys &keys, const Payload &payload)
      : space_(space), keys_(keys), payload_(payload) {}

  void find(const Source &source, const std::vector<Asked> &sorted, int64_t as_of, okv_reuse reuse,
            Found *found) const {
    if (as_of < 0) return;
    Items sought;
    sought.reserve(sorted.size(), Keys::kMostBytes);
    for (const Asked &one : sorted)
      sought.add(keys_.sought(one.name, static_cast<uint64_t>(as_of)));
    const size_t version_bytes = kVersionBytes + payload_.n_bytes();
    const coin_set::Seek how{Keys::kSuffixBytes, Keys::kIsBefore, version_bytes};
    source.seek_many(space_, sought, how, reuse)
        .for_each([this, found](size_t i, const Span &, const Span &value) {
          const Version version = version_in(value, i, payload_);
          found->add(version.coin, version.confirm);
        });
  }

  template <typename Put>
  void put_rows(const Coins &coins, Put put) const {
    for_each_sorted(coins, [this, &put](const PendingCoin &coin, const Span &confirm) {
      const bool is_ephemeral = coin.is_confirmed && coin.spent_index == coin.confirmed_index;
      const bool has_spend = is_spent(coin) && !is_ephemeral;
      const auto put_version = [&](uint32_t version, uint32_t spent) {
        put(keys_.key(coin.name, version), version_value(coin, spent, confirm));
      };
      if (has_spend && Keys::kIsNewestFirst) put_version(coin.spent_index, coin.spent_index);
      if (coin.is_confirmed) put_version(coin.confirmed_index, is_ephemeral ? coin.spent_index : 0);
      if (has_spend && !Keys::kIsNewestFirst) put_version(coin.spent_index, coin.spent_index);
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
    return std::make_unique<NewestOfEach>(keys_, payload_, RowsInTurn(source, space_), as_of);
  }

 private:
  // Of each coin the newest version up to a block.
  class NewestOfEach : public CoinScan {
   public:
    NewestOfEach(const Keys &keys, const Payload &payload, RowsInTurn rows, int64_t as_of)
        : keys_(keys), payload_(payload), rows_(std::move(rows)), as_of_(as_of) {}
    bool next(size_t most, Scanned *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!rows_.next()) {
          if (newest_) coins->add(*newest_, confirm_);
          newest_.reset();
          return false;
        }
        take_row(coins);
      }
      return true;
    }

   private:
    void take_row(Scanned *coins) {
      NamedCoin coin;
      uint64_t version = 0;
      if (!keys_.read(rows_.key(), coin.name.data(), &version))
        throw damage("a version's key makes no sense");
      if (version > UINT32_MAX || !is_visible(static_cast<uint32_t>(version), as_of_)) return;
      const bool is_same = newest_ && is_same_name(newest_->name.data(), coin.name.data());
      if (is_same && Keys::kIsNewestFirst) return;
      const auto [state, confirm] = version_in(rows_.value(), 0, payload_);
      coin.confirmed_index = state.confirmed_index;
      coin.position = state.position;
      coin.spent_index = state.spent_index;
      if (newest_ && !is_same) coins->add(*newest_, confirm_);
      newest_ = coin;
      confirm_.assign(confirm.bytes, confirm.bytes + confirm.n);
    }

    const Keys keys_;
    const Payload payload_;
    RowsInTurn rows_;
    const int64_t as_of_;
    std::optional<NamedCoin> newest_;  // of the coin whose rows come
    Bytes confirm_;                    // its confirm, where rows have that
  };

  const Space space_;
  const Keys keys_;
  const Payload payload_;
};

// A layout that has nothing but versions, in its first space.
template <typename Keys>
class OnlyVersions : public LayoutOf<OnlyVersions<Keys>> {
 public:
  explicit OnlyVersions(const Keys &keys, const Payload &payload = {})
      : keys_(keys), payload_(payload), versions_(kFirst, keys, payload) {}

  LayoutSpaces spaces() const override {
    return {{keys_.space(), {"unused", OKV_ASCENDING, 0, 0}}};
  }
  bool is_inline() const override { return payload_.is_inline(); }
  void find(const Source &source, const std::vector<Asked> &sorted, const AsOf &as_of,
            okv_reuse reuse, Found *found) const override {
    versions_.find(source, sorted, as_of.index, reuse, found);
  }
  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst) versions_.put_rows(coins, put);
  }
  bool reads_to_undo() const override { return false; }
  void undo(const Source &, const Blocks &blocks, int64_t, Batch *to) const override {
    versions_.undo(blocks, to);
  }
  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const override {
    return versions_.scan(source, as_of);
  }

 private:
  const Keys keys_;
  const Payload payload_;
  const Versions<Keys> versions_;
};

}  // namespace cdb::layouts
