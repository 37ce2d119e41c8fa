// The layout "option_1": the newest version of each coin, and a log of what each block changed.
//
//   latest_by_name  name (32)               the newest version; see versions.h
//   heights         version (8), name (32)  each version
//
// version is the index of the block that wrote it, big endian. The log has no seek by a name: as of
// any block the newest version answers, as far as it counts. docs/layouts/option_1.md draws it.
#pragma once

#include "latest.h"
#include "options.h"

namespace cdb::layouts {

class Option1 : public LayoutOf<Option1> {
 public:
  static constexpr size_t kLogKeyBytes = kHeightBytes + kNameBytes;

  explicit Option1(const Options &) : latest_(kFirst, NameKeys()) {}

  static Key log_key(uint64_t version, const uint8_t *name) {
    Key key;
    key.add_height(version);
    key.add(name, kNameBytes);
    return key;
  }

  LayoutSpaces spaces() const override {
    return {{{"latest_by_name", OKV_RANDOM, 0, 0}, {"heights", OKV_ASCENDING, 0, 0}}};
  }
  bool repeats_places() const override { return true; }

  void find(const Source &source, const std::vector<Asked> &sorted, Wanted, const AsOf &as_of,
            okv_reuse reuse, std::vector<CoinState> *found) const override {
    latest_.find(source, sorted, as_of.index, reuse, found);
  }

  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst)
      latest_.put_rows(coins, put);
    else
      put_log(coins, put);
  }

  void undo(const Source &source, const Blocks &blocks, int64_t kept, Batch *to) const override {
    latest_.undo(source, blocks, kept, to);
    std::vector<Touched> all;
    for (size_t b = 0; b < blocks.n; ++b) {
      for (size_t i = blocks.confirm_begin(b); i < blocks.confirm_ends[b]; ++i)
        all.push_back({blocks.indices[b], blocks.name(i), nullptr});
      for (size_t i = blocks.spend_begin(b); i < blocks.spend_ends[b]; ++i)
        all.push_back({blocks.indices[b], blocks.spend(i), nullptr});
    }
    sort(&all);
    // An ephemeral coin is in its block twice, and has one version.
    const auto is_same = [](const Touched &a, const Touched &b) { return !(a < b); };
    all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
    for (const Touched &one : all) to->erase(kSecond, log_key(one.version, one.name));
  }

  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const override {
    return latest_.scan(source, as_of);
  }

  std::unique_ptr<CoinScan> log(const Source &source, int64_t first, int64_t last) const override {
    Key begin, end;
    begin.add_height(static_cast<uint64_t>(first));
    end.add_height(static_cast<uint64_t>(last + 1));
    return std::make_unique<Log>(RowsInTurn(source, kSecond, begin, end));
  }

 private:
  class Log : public CoinScan {
   public:
    explicit Log(RowsInTurn rows) : rows_(std::move(rows)) {}
    bool next(size_t most, std::vector<NamedCoin> *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!rows_.next()) return false;
        if (rows_.key().n != kLogKeyBytes) throw damage("a version's key makes no sense");
        const CoinState state = version_in(rows_.value(), 0);
        NamedCoin &coin = coins->emplace_back();
        std::memcpy(coin.name.data(), rows_.key().bytes + kHeightBytes, kNameBytes);
        coin.confirmed_index = state.confirmed_index;
        coin.position = state.position;
        coin.spent_index = state.spent_index;
      }
      return true;
    }

   private:
    RowsInTurn rows_;
  };

  // What a block touched.
  struct Touched {
    uint64_t version;
    const uint8_t *name;
    const PendingCoin *coin;
    bool operator<(const Touched &other) const {
      return version != other.version ? version < other.version
                                      : compare_names(name, other.name) < 0;
    }
  };

  static void sort(std::vector<Touched> *all) { std::sort(all->begin(), all->end()); }

  template <typename Put>
  static void put_log(const Coins &coins, Put put) {
    std::vector<Touched> all;
    for (const PendingCoin &coin : coins) {
      const bool is_ephemeral = coin.is_confirmed && coin.spent_index == coin.confirmed_index;
      if (coin.is_confirmed) all.push_back({coin.confirmed_index, coin.name, &coin});
      if (is_spent(coin) && !is_ephemeral) all.push_back({coin.spent_index, coin.name, &coin});
    }
    sort(&all);
    for (const Touched &one : all) {
      const PendingCoin &coin = *one.coin;
      const uint32_t spent = coin.spent_index == one.version ? coin.spent_index : 0;
      put(log_key(one.version, one.name),
          version_value(coin.confirmed_index, spent, coin.position));
    }
  }

  const Latest<NameKeys> latest_;
};

}  // namespace cdb::layouts
