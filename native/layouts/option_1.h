// The layout "option_1": the newest version of each coin, and a log of what each block changed.
//
//   latest_by_name  name (32)               the newest version; see versions.h
//   heights         version (8), name (32)  each version
//
// With payload=inline they are latest_by_name_inline and heights_inline.
// version is the index of the block that wrote it, big endian. The log has no seek by a name: as of
// any block the newest version answers, as far as it counts. docs/layouts/option_1.md draws it.
#pragma once

#include "latest.h"
#include "options.h"

namespace cdb::layouts {

class Option1 : public LayoutOf<Option1> {
 public:
  static constexpr size_t kLogKeyBytes = kHeightBytes + kNameBytes;

  explicit Option1(const Options &options)
      : payload_(options), latest_(kFirst, NameKeys(), payload_) {}

  static Key log_key(uint64_t version, const uint8_t *name) {
    Key key;
    key.add_height(version);
    key.add(name, kNameBytes);
    return key;
  }

  LayoutSpaces spaces() const override {
    return {{{payload_.choose("latest_by_name", "latest_by_name_inline"), OKV_RANDOM, 0, 0},
             {payload_.choose("heights", "heights_inline"), OKV_ASCENDING, 0, 0}}};
  }
  bool is_inline() const override { return payload_.is_inline(); }

  void find(const Source &source, const std::vector<Asked> &sorted, const AsOf &as_of,
            okv_reuse reuse, Found *found) const override {
    latest_.find(source, sorted, as_of.index, reuse, found);
  }

  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst)
      latest_.put_rows(coins, put);
    else
      put_log(coins, put);
  }

  bool reads_to_undo() const override { return true; }
  void undo(const Source &source, const Blocks &blocks, int64_t kept, Batch *to) const override {
    latest_.undo(source, blocks, kept, to);
    std::vector<Touched> all;
    for (size_t b = 0; b < blocks.n; ++b) {
      for (size_t i = blocks.confirm_begin(b); i < blocks.confirm_ends[b]; ++i)
        all.push_back({blocks.indices[b], blocks.name(i), i});
      for (size_t i = blocks.spend_begin(b); i < blocks.spend_ends[b]; ++i)
        all.push_back({blocks.indices[b], blocks.spend(i), i});
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
    return std::make_unique<Log>(payload_, RowsInTurn(source, kSecond, begin, end));
  }

 private:
  class Log : public CoinScan {
   public:
    Log(const Payload &payload, RowsInTurn rows) : payload_(payload), rows_(std::move(rows)) {}
    bool next(size_t most, Scanned *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!rows_.next()) return false;
        if (rows_.key().n != kLogKeyBytes) throw damage("a version's key makes no sense");
        const auto [state, confirm] = version_in(rows_.value(), 0, payload_);
        NamedCoin coin{{}, state.confirmed_index, state.position, state.spent_index};
        std::memcpy(coin.name.data(), rows_.key().bytes + kHeightBytes, kNameBytes);
        coins->add(coin, confirm);
      }
      return true;
    }

   private:
    const Payload payload_;
    RowsInTurn rows_;
  };

  // What a block touched: the coin at this place among all.
  struct Touched {
    uint64_t version;
    const uint8_t *name;
    size_t at;
    bool operator<(const Touched &other) const {
      return version != other.version ? version < other.version
                                      : compare_names(name, other.name) < 0;
    }
  };

  static void sort(std::vector<Touched> *all) { std::sort(all->begin(), all->end()); }

  template <typename Put>
  static void put_log(const Coins &coins, Put put) {
    std::vector<Touched> all;
    for (size_t i = 0; i < coins.coins.size(); ++i) {
      const PendingCoin &coin = coins.coins[i];
      const bool is_ephemeral = coin.is_confirmed && coin.spent_index == coin.confirmed_index;
      if (coin.is_confirmed) all.push_back({coin.confirmed_index, coin.name, i});
      if (is_spent(coin) && !is_ephemeral) all.push_back({coin.spent_index, coin.name, i});
    }
    sort(&all);
    for (const Touched &one : all) {
      const PendingCoin &coin = coins.coins[one.at];
      const uint32_t spent = coin.spent_index == one.version ? coin.spent_index : 0;
      put(log_key(one.version, one.name), version_value(coin, spent, coins.confirm(one.at)));
    }
  }

  const Payload payload_;
  const Latest<NameKeys> latest_;
};

}  // namespace cdb::layouts
