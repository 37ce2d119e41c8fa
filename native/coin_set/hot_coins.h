// The option `hot_latest_mb`: in memory, what the newest block makes of coins that blocks touched
// last. It is filled where coins are indexed, and emptied by a rewind.
//
// By a keyed hash of its name a coin has a bucket of a few; where that is full, the one goes that was
// touched longest ago. A spend of an older coin is taken where it is known where the coin is.
#pragma once

#include "common/keyed_hash.h"
#include "layouts/layout.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cdb::coin_set {

class HotCoins {
 public:
  explicit HotCoins(uint64_t bytes) : buckets_(std::max<uint64_t>(1, bytes / sizeof(Bucket))) {}

  void clear() { std::fill(buckets_.begin(), buckets_.end(), Bucket{}); }

  void take(const std::vector<PendingCoin> &coins) {
    for (const PendingCoin &coin : coins) {
      Bucket &bucket = bucket_of(coin.name);
      const auto is_it = [&coin](const Hot &each) { return each.is(coin.name); };
      auto place = std::find_if(bucket.begin(), bucket.end(), is_it);
      if (!coin.is_confirmed) {
        if (place != bucket.end()) place->spent_index = coin.spent_index;
        continue;
      }
      const auto is_older = [](const Hot &a, const Hot &b) { return a.touched() < b.touched(); };
      if (place == bucket.end()) place = std::min_element(bucket.begin(), bucket.end(), is_older);
      *place = {{}, 1, coin.confirmed_index, coin.position, coin.spent_index};
      std::memcpy(place->name.data(), coin.name, kNameBytes);
    }
  }

  // Appends what it knows of names that are asked for, and gives the others, each with its number
  // among all as its tag.
  std::vector<layouts::Asked> find(const std::vector<layouts::Asked> &asked,
                                   std::vector<layouts::CoinState> *known) const {
    std::vector<layouts::Asked> others;
    for (size_t i = 0; i < asked.size(); ++i) {
      const Bucket &bucket = bucket_of(asked[i].name);
      const auto is_it = [&](const Hot &each) { return each.is(asked[i].name); };
      const auto place = std::find_if(bucket.begin(), bucket.end(), is_it);
      if (place == bucket.end())
        others.push_back({asked[i].name, i});
      else
        known->push_back({static_cast<uint32_t>(i), place->confirmed_index, place->position,
                          place->spent_index});
    }
    return others;
  }

 private:
  struct Hot {
    std::array<uint8_t, kNameBytes> name;
    uint32_t is_there;
    uint32_t confirmed_index, position, spent_index;

    bool is(const uint8_t *other) const {
      return is_there != 0 && std::memcmp(name.data(), other, kNameBytes) == 0;
    }
    uint32_t touched() const { return std::max(confirmed_index, spent_index); }
  };
  using Bucket = std::array<Hot, 8>;

  Bucket &bucket_of(const uint8_t *name) {
    return buckets_[hash_.of(name) % buckets_.size()];
  }
  const Bucket &bucket_of(const uint8_t *name) const {
    return const_cast<HotCoins *>(this)->bucket_of(name);
  }

  KeyedHash hash_{random_hash_key()};
  std::vector<Bucket> buckets_;
};

}  // namespace cdb::coin_set
