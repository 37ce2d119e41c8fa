// The layout "interval": one entry says where a coin is confirmed, another one where it is spent.
//
//   coins   name (32)   index of the block that confirms it (4), position among its confirms (4)
//   spends  name (32)   index of the block that spends it (4)
//
// With payload=inline coins_inline is in the place of coins, and has the coins' confirms, too.
// Numbers are big endian. A spend is written blind: a coin's entry is never read to be changed. As
// of a block an entry of a later one is not there. docs/layouts/interval.md says more.
#pragma once

#include "rows.h"

namespace cdb::layouts {

class Interval : public LayoutOf<Interval> {
 public:
  static constexpr size_t kCoinBytes = 8;
  static constexpr size_t kSpendBytes = 4;

  struct Place {
    uint32_t index;
    uint32_t position;
  };

  explicit Interval(const Options &options) : payload_(options) {}

  static ShortBytes coin_value(const Place &place, const Span &confirm) {
    ShortBytes value;
    value.add_number(place.index);
    value.add_number(place.position);
    value.add(confirm);
    return value;
  }
  static Place place_in(const uint8_t *coin_value) {
    return {load_big_endian<uint32_t>(coin_value), load_big_endian<uint32_t>(coin_value + 4)};
  }
  static ShortBytes spend_value(uint32_t spent_index) {
    ShortBytes value;
    value.add_number(spent_index);
    return value;
  }
  static uint32_t spent_index_in(const uint8_t *spend_value) {
    return load_big_endian<uint32_t>(spend_value);
  }

  LayoutSpaces spaces() const override {
    return {{{payload_.choose("coins", "coins_inline"), OKV_RANDOM, 0, 0},
             {"spends", OKV_RANDOM, 0, 0}}};
  }
  bool repeats_places() const override { return false; }
  bool is_inline() const override { return payload_.is_inline(); }

  void find(const Source &source, const std::vector<Asked> &sorted, Wanted wanted,
            const AsOf &as_of, okv_reuse reuse, Found *found) const override {
    if (wanted == kSpent) return find_spends(source, sorted, as_of.index, reuse, &found->coins);
    const size_t n_before = found->coins.size();
    find_coins(source, sorted, as_of.index, reuse, found);
    if (wanted == kPlace) return;
    std::vector<Asked> coins;
    for (size_t i = n_before; i < found->coins.size(); ++i)
      coins.push_back({sorted[found->coins[i].at].name, i});
    std::vector<CoinState> spends;
    find_spends(source, coins, as_of.index, reuse, &spends);
    for (const CoinState &spend : spends)
      found->coins[n_before + spend.at].spent_index = spend.spent_index;
  }

  // Each of these calls put(key, value) in the order of keys.
  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst)
      for_each_sorted(coins, is_confirmed, [&put](const PendingCoin &coin, const Span &confirm) {
        put(name_at(coin.name), coin_value({coin.confirmed_index, coin.position}, confirm));
      });
    else
      for_each_sorted(coins, is_spent, [&put](const PendingCoin &coin, const Span &) {
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
    return std::make_unique<BothSideBySide>(source, coin_bytes(), as_of);
  }

 private:
  class BothSideBySide : public CoinScan {
   public:
    BothSideBySide(const Source &source, size_t coin_bytes, int64_t as_of)
        : coin_bytes_(coin_bytes), as_of_(as_of), coins_(source, kFirst), spends_(source, kSecond) {
      has_spend_ = spends_.next();
    }
    bool next(size_t most, Scanned *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!coins_.next()) return false;
        const Span key = coins_.key(), value = coins_.value();
        if (key.n != kNameBytes || value.n != coin_bytes_) throw damage("a coin's place is cut");
        const Place place = place_in(value.bytes);
        const uint32_t spent_index = spent_index_of(key.bytes);
        if (!is_visible(place.index, as_of_)) continue;
        NamedCoin coin{{}, place.index, place.position, spent_index};
        std::memcpy(coin.name.data(), key.bytes, kNameBytes);
        coins->add(coin, confirm_in(value));
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

    const size_t coin_bytes_;
    const int64_t as_of_;
    RowsInTurn coins_, spends_;
    bool has_spend_;
  };

  size_t coin_bytes() const { return kCoinBytes + payload_.n_bytes(); }

  static Span confirm_in(const Span &coin_value) {
    return {coin_value.bytes + kCoinBytes, coin_value.n - kCoinBytes};
  }

  void find_coins(const Source &source, const std::vector<Asked> &sorted, int64_t as_of,
                  okv_reuse reuse, Found *found) const {
    const Values values(source, kFirst, names_of(sorted), coin_bytes(), reuse,
                        "a coin's place is cut");
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (!values.has(i)) continue;
      const Place place = place_in(values.at(i).bytes);
      if (is_visible(place.index, as_of))
        found->add({static_cast<uint32_t>(i), place.index, place.position, 0},
                   confirm_in(values.at(i)));
    }
  }

  static void find_spends(const Source &source, const std::vector<Asked> &sorted, int64_t as_of,
                          okv_reuse reuse, std::vector<CoinState> *found) {
    const Values values(source, kSecond, names_of(sorted), kSpendBytes, reuse,
                        "a spent index is cut");
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (!values.has(i)) continue;
      const uint32_t spent_index = spent_index_in(values.at(i).bytes);
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

  const Payload payload_;
};

}  // namespace cdb::layouts
