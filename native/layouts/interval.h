// The layout "interval": one entry says where a coin is confirmed, another one where it is spent.
//
//   coins   name (32)   index of the block that confirms it (4), position among its confirms (4)
//   spends  name (32)   index of the block that spends it (4)
//
// Numbers are big endian. A spend is written blind: a coin's entry is never read to be changed. As
// of a block an entry of a later one is not there. docs/layouts/interval.md says more.
#pragma once

#include "rows.h"

#include <array>

namespace cdb::layouts {

class Interval : public LayoutOf<Interval> {
 public:
  static constexpr size_t kCoinBytes = 8;
  static constexpr size_t kSpendBytes = 4;

  struct Place {
    uint32_t index;
    uint32_t position;
  };

  static std::array<uint8_t, kCoinBytes> coin_value(const Place &place) {
    std::array<uint8_t, kCoinBytes> value;
    store_big_endian(value.data(), place.index);
    store_big_endian(value.data() + 4, place.position);
    return value;
  }
  static Place place_in(const uint8_t *coin_value) {
    return {load_big_endian<uint32_t>(coin_value), load_big_endian<uint32_t>(coin_value + 4)};
  }
  static std::array<uint8_t, kSpendBytes> spend_value(uint32_t spent_index) {
    std::array<uint8_t, kSpendBytes> value;
    store_big_endian(value.data(), spent_index);
    return value;
  }
  static uint32_t spent_index_in(const uint8_t *spend_value) {
    return load_big_endian<uint32_t>(spend_value);
  }

  LayoutSpaces spaces() const override {
    return {{{"coins", OKV_RANDOM, 0, 0}, {"spends", OKV_RANDOM, 0, 0}}};
  }
  bool repeats_places() const override { return false; }

  void find(const Source &source, const std::vector<Asked> &sorted, Wanted wanted,
            const AsOf &as_of, okv_reuse reuse, std::vector<CoinState> *found) const override {
    if (wanted == kSpent) return find_spends(source, sorted, as_of.index, reuse, found);
    const size_t n_before = found->size();
    find_coins(source, sorted, as_of.index, reuse, found);
    if (wanted == kPlace) return;
    std::vector<Asked> coins;
    for (size_t i = n_before; i < found->size(); ++i)
      coins.push_back({sorted[(*found)[i].at].name, i});
    std::vector<CoinState> spends;
    find_spends(source, coins, as_of.index, reuse, &spends);
    for (const CoinState &spend : spends)
      (*found)[n_before + spend.at].spent_index = spend.spent_index;
  }

  // Each of these calls put(key, value) in the order of keys.
  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst)
      for_each_sorted(coins, is_confirmed, [&put](const PendingCoin &coin) {
        put(name_at(coin.name), coin_value({coin.confirmed_index, coin.position}));
      });
    else
      for_each_sorted(coins, is_spent, [&put](const PendingCoin &coin) {
        put(name_at(coin.name), spend_value(coin.spent_index));
      });
  }

  void undo(const Source &, const Blocks &blocks, int64_t, Batch *to) const override {
    erase(
        kFirst, blocks.confirm_count(), [&](size_t i) { return blocks.name(i); }, to);
    erase(
        kSecond, blocks.spend_count(), [&](size_t i) { return blocks.spend(i); }, to);
  }

  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const override {
    return std::make_unique<BothSideBySide>(source, as_of);
  }

 private:
  class BothSideBySide : public CoinScan {
   public:
    BothSideBySide(const Source &source, int64_t as_of)
        : as_of_(as_of), coins_(source, kFirst), spends_(source, kSecond) {
      has_spend_ = spends_.next();
    }
    bool next(size_t most, std::vector<NamedCoin> *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!coins_.next()) return false;
        const Span key = coins_.key(), value = coins_.value();
        if (key.n != kNameBytes || value.n != kCoinBytes) throw damage("a coin's place is cut");
        const Place place = place_in(value.bytes);
        const uint32_t spent_index = spent_index_of(key.bytes);
        if (!is_visible(place.index, as_of_)) continue;
        NamedCoin &coin = coins->emplace_back();
        std::memcpy(coin.name.data(), key.bytes, kNameBytes);
        coin.confirmed_index = place.index;
        coin.position = place.position;
        coin.spent_index = spent_index;
      }
      return true;
    }

   private:
    uint32_t spent_index_of(const uint8_t *name) {
      for (; has_spend_; has_spend_ = spends_.next()) {
        const Span key = spends_.key(), value = spends_.value();
        if (key.n != kNameBytes || value.n != kSpendBytes) throw damage("a spent index is cut");
        const int order = compare_names(key.bytes, name);
        if (order > 0) return 0;
        const uint32_t spent_index = spent_index_in(value.bytes);
        if (order == 0) return is_visible(spent_index, as_of_) ? spent_index : 0;
      }
      return 0;
    }

    const int64_t as_of_;
    RowsInTurn coins_, spends_;
    bool has_spend_;
  };

  static void find_coins(const Source &source, const std::vector<Asked> &sorted, int64_t as_of,
                         okv_reuse reuse, std::vector<CoinState> *found) {
    const Values<kCoinBytes> values(source, kFirst, names_of(sorted), reuse,
                                    "a coin's place is cut");
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (values.at(i) == nullptr) continue;
      const Place place = place_in(values.at(i));
      if (is_visible(place.index, as_of))
        found->push_back({static_cast<uint32_t>(i), place.index, place.position, 0});
    }
  }

  static void find_spends(const Source &source, const std::vector<Asked> &sorted, int64_t as_of,
                          okv_reuse reuse, std::vector<CoinState> *found) {
    const Values<kSpendBytes> values(source, kSecond, names_of(sorted), reuse,
                                     "a spent index is cut");
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (values.at(i) == nullptr) continue;
      const uint32_t spent_index = spent_index_in(values.at(i));
      if (is_visible(spent_index, as_of))
        found->push_back({static_cast<uint32_t>(i), 0, 0, spent_index});
    }
  }

  // Erases n names, each once, in their order.
  template <typename NameOf>
  static void erase(Space space, size_t n, NameOf name_of, Batch *to) {
    std::vector<coin_set::NameAt> sorted;
    sorted.reserve(n);
    for (uint32_t i = 0; i < n; ++i) sorted.emplace_back(name_of(i), i);
    sort_by_name(&sorted, name_of);
    for (const coin_set::NameAt &one : sorted) to->erase(space, name_at(name_of(one.at)));
  }
};

}  // namespace cdb::layouts
