// What layouts with one row a coin share: its newest version, which a spend replaces. It may be
// newer than the block as of which it is read: then less of it counts.
//
//   the row   a version; see versions.h
//
// What keys look like, the layout says by a class Keys: kMostBytes, key(name) and read(key, &name),
// as in versions.h.
#pragma once

#include "versions.h"

#include <algorithm>

namespace cdb::layouts {

// A coin's name is the key.
struct NameKeys {
  static constexpr size_t kMostBytes = kNameBytes;
  Key key(const uint8_t *name) const {
    Key key;
    key.add(name, kNameBytes);
    return key;
  }
  bool read(const Span &key, uint8_t *name) const {
    if (key.n != kNameBytes) return false;
    std::memcpy(name, key.bytes, kNameBytes);
    return true;
  }
};

// What blocks have made of a coin: confirmed it, or else only spent it.
struct TouchedCoin {
  const uint8_t *name;
  bool is_confirmed;
};

// The coins that blocks touch, by name, each once.
inline std::vector<TouchedCoin> touched_by(const Blocks &blocks) {
  std::vector<TouchedCoin> coins;
  for (size_t i = 0; i < blocks.confirm_count(); ++i) coins.push_back({blocks.name(i), true});
  for (size_t i = 0; i < blocks.spend_count(); ++i) coins.push_back({blocks.spend(i), false});
  std::sort(coins.begin(), coins.end(), [](const TouchedCoin &a, const TouchedCoin &b) {
    const int names = compare_names(a.name, b.name);
    return names != 0 ? names < 0 : a.is_confirmed > b.is_confirmed;
  });
  const auto is_same = [](const TouchedCoin &a, const TouchedCoin &b) {
    return is_same_name(a.name, b.name);
  };
  coins.erase(std::unique(coins.begin(), coins.end(), is_same), coins.end());
  return coins;
}

template <typename Keys>
class Latest {
 public:
  Latest(Space space, const Keys &keys, const Payload &payload)
      : space_(space), keys_(keys), payload_(payload) {}

  void find(const Source &source, const std::vector<Asked> &sorted, int64_t as_of, okv_reuse reuse,
            Found *found) const {
    Items keys;
    keys.reserve(sorted.size(), Keys::kMostBytes);
    for (const Asked &one : sorted) keys.add(keys_.key(one.name));
    const Values values(source, space_, keys, kVersionBytes + payload_.n_bytes(), reuse,
                        "a coin's version is cut");
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (!values.has(i)) continue;
      auto [state, confirm] = version_in(values.at(i), i, payload_);
      if (!is_visible(state.confirmed_index, as_of)) continue;
      if (!is_visible(state.spent_index, as_of)) state.spent_index = 0;
      found->add(state, confirm);
    }
  }

  template <typename Put>
  void put_rows(const Coins &coins, Put put) const {
    for_each_sorted(coins, [this, &put](const PendingCoin &coin, const Span &confirm) {
      put(keys_.key(coin.name), version_value(coin, coin.spent_index, confirm));
    });
  }

  // Puts rows back as they were as of a block, by what they say themselves. What these blocks
  // confirm was not there before: it goes, unread.
  void undo(const Source &source, const Blocks &blocks, int64_t kept, Batch *to) const {
    const std::vector<TouchedCoin> touched = touched_by(blocks);
    std::vector<Asked> older;
    for (size_t i = 0; i < touched.size(); ++i)
      if (!touched[i].is_confirmed) older.push_back({touched[i].name, i});
    Found found;
    find(source, older, kept, OKV_ONCE, &found);
    size_t next = 0;
    for (size_t i = 0; i < touched.size(); ++i) {
      const Key key = keys_.key(touched[i].name);
      if (next == found.coins.size() || older[found.coins[next].at].tag != i) {
        to->erase(space_, key);
        continue;
      }
      const CoinState &coin = found.coins[next];
      to->put(space_, key, version_value(coin, coin.spent_index, found.confirm(next)));
      ++next;
    }
  }

  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const {
    return std::make_unique<AllAsOf>(keys_, payload_, RowsInTurn(source, space_), as_of);
  }

 private:
  class AllAsOf : public CoinScan {
   public:
    AllAsOf(const Keys &keys, const Payload &payload, RowsInTurn rows, int64_t as_of)
        : keys_(keys), payload_(payload), rows_(std::move(rows)), as_of_(as_of) {}
    bool next(size_t most, Scanned *coins) override {
      for (size_t row = 0; row < most; ++row) {
        if (!rows_.next()) return false;
        const auto [state, confirm] = version_in(rows_.value(), 0, payload_);
        if (!is_visible(state.confirmed_index, as_of_)) continue;
        NamedCoin coin;
        if (!keys_.read(rows_.key(), coin.name.data()))
          throw damage("a version's key makes no sense");
        coin.confirmed_index = state.confirmed_index;
        coin.position = state.position;
        coin.spent_index = is_visible(state.spent_index, as_of_) ? state.spent_index : 0;
        coins->add(coin, confirm);
      }
      return true;
    }

   private:
    const Keys keys_;
    const Payload payload_;
    RowsInTurn rows_;
    const int64_t as_of_;
  };

  const Space space_;
  const Keys keys_;
  const Payload payload_;
};

}  // namespace cdb::layouts
