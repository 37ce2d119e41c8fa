// Blocks drawn from an input, valid ones and others, and what a coin database must know of them.
#pragma once

#include "common/bytes.h"
#include "common/shared_api.h"
#include "input.h"
#include "scratch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <vector>

using cdb::load_big_endian;
using cdb::store_big_endian;
using Name = std::array<uint8_t, 32>;
using Confirm = std::array<uint8_t, 72>;  // parent, puzzle hash, amount (8, big endian)

// In canonical order; names[i] is that of confirms[i].
struct Block {
  uint64_t index = 0;
  uint64_t timestamp = 0;
  std::vector<Name> spends;
  std::vector<Confirm> confirms;
  std::vector<Name> names;
};

inline void require_same(const Block &a, const Block &b) {
  require(a.index == b.index && a.timestamp == b.timestamp, "a block's head is right");
  require(a.spends == b.spends && a.confirms == b.confirms && a.names == b.names,
          "a block's coins are right");
}

struct Known {
  Confirm confirm;
  uint64_t confirmed_index;
  uint64_t spent_index;  // 0: unspent
};

// Blocks in the arrays of a C face.
struct Packed {
  std::vector<uint64_t> indices, timestamps, spend_ends, confirm_ends;
  std::vector<uint8_t> spends, confirms, names;

  void add(const Block &block) {
    indices.push_back(block.index);
    timestamps.push_back(block.timestamp);
    for (const Name &name : block.spends) spends.insert(spends.end(), name.begin(), name.end());
    for (const Confirm &confirm : block.confirms)
      confirms.insert(confirms.end(), confirm.begin(), confirm.end());
    for (const Name &name : block.names) names.insert(names.end(), name.begin(), name.end());
    spend_ends.push_back(spends.size() / sizeof(Name));
    confirm_ends.push_back(confirms.size() / sizeof(Confirm));
  }

  cdb_blocks blocks() const {
    return {indices.size(),      indices.data(), timestamps.data(), spend_ends.data(),
            confirm_ends.data(), spends.data(),  confirms.data(),   names.data()};
  }
};

// The reference: all blocks that were accepted, and their coins.
class Chain {
 public:
  // As the C faces have it: sets names[i] for n confirms.
  using NameCoins = void (*)(const uint8_t *confirms, size_t n, uint8_t *names);
  explicit Chain(NameCoins name_coins) : name_coins_(name_coins) {}

  const std::vector<Block> &blocks() const { return blocks_; }
  const std::map<Name, Known> &coins() const { return coins_; }
  int64_t newest() const {
    return blocks_.empty() ? -1 : static_cast<int64_t>(blocks_.back().index);
  }

  // Few kinds of coins and names, so that rules are broken often, by all kinds of accidents.
  Block draw(Input *input) const {
    Block block;
    const size_t step = input->below(8);
    block.index = static_cast<uint64_t>(newest() + 1) + (step < 6 ? step / 2 : 0);
    if (step == 6) block.index = input->number(2);
    if (step == 7) block.index = input->number(8);
    block.timestamp = input->number(1) << 56 | input->number(1);
    for (size_t n = input->below(5); n > 0; --n) block.spends.push_back(draw_spend(input));
    const size_t n_confirms = input->below(64);
    for (size_t n = n_confirms < 56 ? n_confirms % 6 : n_confirms; n > 0; --n)
      block.confirms.push_back(draw_confirm(input, block, n));
    std::sort(block.confirms.begin(), block.confirms.end());
    block.names = names_of(block.confirms);
    if (!block.names.empty() && input->below(4) == 0)
      block.spends.push_back(block.names[input->below(256) % block.names.size()]);
    std::sort(block.spends.begin(), block.spends.end());
    return block;
  }

  // Takes a block that keeps all rules; false, and nothing is changed, for any other.
  bool add(const Block &block) {
    if (block.index > UINT32_MAX || static_cast<int64_t>(block.index) <= newest()) return false;
    if (block.index == 0 && !block.spends.empty()) return false;
    const std::set<Name> names(block.names.begin(), block.names.end());
    const std::set<Name> spends(block.spends.begin(), block.spends.end());
    if (names.size() != block.names.size() || spends.size() != block.spends.size()) return false;
    for (const Name &name : names)
      if (coins_.count(name) != 0) return false;
    for (const Name &name : spends) {
      const auto known = coins_.find(name);
      if (known == coins_.end() ? names.count(name) == 0 : known->second.spent_index != 0)
        return false;
    }
    for (size_t i = 0; i < block.names.size(); ++i)
      coins_[block.names[i]] = {block.confirms[i], block.index, 0};
    for (const Name &name : block.spends) coins_.at(name).spent_index = block.index;
    blocks_.push_back(block);
    return true;
  }

  // Keeps the blocks with an index of at most this one.
  void rewind(int64_t index) {
    for (; !blocks_.empty() && newest() > index; blocks_.pop_back()) {
      for (const Name &name : blocks_.back().spends) coins_.at(name).spent_index = 0;
      for (const Name &name : blocks_.back().names) coins_.erase(name), rewound_.push_back(name);
    }
  }

  // Every name that there is, and some that aren't; in the order of names.
  std::vector<Name> asked() const {
    std::vector<Name> names;
    for (const auto &[name, known] : coins_) {
      names.push_back(name);
      names.push_back(name);
      names.back()[31] ^= 1;
    }
    return names;
  }

  // Info is a C face's: parent, puzzle_hash, amount, confirmed_index, spent_index.
  template <typename Info>
  void check(const Name &name, bool is_found, const Info &info) const {
    const auto known = coins_.find(name);
    require(is_found == (known != coins_.end()), "a coin is found that is there, and no other");
    if (!is_found) return;
    const Confirm &confirm = known->second.confirm;
    require(std::memcmp(info.parent, confirm.data(), 32) == 0, "the parent is right");
    require(std::memcmp(info.puzzle_hash, confirm.data() + 32, 32) == 0, "the puzzle is right");
    require(info.amount == load_big_endian(confirm.data() + 64), "the amount is right");
    require(info.confirmed_index == known->second.confirmed_index, "the confirmed index is right");
    require(info.spent_index == known->second.spent_index, "the spent index is right");
  }

  std::vector<Name> names_of(const std::vector<Confirm> &confirms) const {
    std::vector<Name> names(confirms.size());
    if (!confirms.empty())
      name_coins_(confirms.front().data(), confirms.size(), names.front().data());
    return names;
  }

 private:
  Name draw_spend(Input *input) const {
    const size_t kind = input->below(16);
    if (kind == 0 || coins_.empty()) {
      const uint8_t byte = input->byte();
      if (!rewound_.empty()) return rewound_[byte % rewound_.size()];
      Name name;
      name.fill(byte);
      return name;
    }
    auto known = coins_.begin();
    std::advance(known, static_cast<ptrdiff_t>(input->number(2) % coins_.size()));
    if (kind > 2)  // the next one that is unspent
      for (size_t i = 0; known->second.spent_index != 0 && i < coins_.size(); ++i)
        if (++known == coins_.end()) known = coins_.begin();
    return known->first;
  }

  Confirm draw_confirm(Input *input, const Block &block, size_t n) const {
    constexpr std::array<uint64_t, 8> kAmounts{
        0, 1, 127, 128, 255, 1u << 31, uint64_t{1} << 63, UINT64_MAX};
    // How much lower a reward's height is than its block's index, modulo 2^32.
    constexpr std::array<uint32_t, 12> kAges{
        0,   UINT32_MAX, UINT32_MAX - 1, UINT32_MAX - 2, 1,        255,
        256, 65'535,     65'536,         (1u << 24) - 1, 1u << 24, 1u << 31};
    Confirm confirm{};
    switch (input->below(4)) {
      case 0: {  // a reward: 16 bytes of the network's, zeros, and a height
        const size_t kind = input->below(16);  // mostly of two kinds, and of more than have numbers
        std::fill_n(confirm.begin(), 16, static_cast<uint8_t>(0xe0 + (kind < 8 ? kind % 2 : kind)));
        store_big_endian(confirm.data() + 28,
                         static_cast<uint32_t>(block.index - kAges[input->below(kAges.size())]));
        break;
      }
      case 1:
        std::fill_n(confirm.begin(), 32, input->byte());
        break;
      default:
        if (!block.spends.empty()) {
          const Name &parent = block.spends[input->below(256) % block.spends.size()];
          std::copy(parent.begin(), parent.end(), confirm.begin());
        }
    }
    confirm[32] = static_cast<uint8_t>(n);
    confirm[33] = static_cast<uint8_t>(input->below(4));
    store_big_endian(confirm.data() + 64, kAmounts[input->below(8)]);
    return confirm;
  }

  NameCoins name_coins_;
  std::vector<Block> blocks_;
  std::map<Name, Known> coins_;
  std::vector<Name>
      rewound_;  // those that a rewind has taken, once or more; there may be such coins again
};
