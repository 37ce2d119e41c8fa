// Secondary keys: what finds coins by puzzle hash, and blocks by the parents of their coins. In two
// spaces of their own, whatever the layout.
//
//   hashes   bits of the puzzle hash (8), index of the block (4), name (32)   position (4)
//   parents  bits of the parent's name (8), index of the block (4)            nothing
//
// Numbers are big endian. Bits are a hash with a secret of the database's: whatever hashes are
// chosen, none share them but by chance. The coins of a hash stand in the order of an answer, and
// with all that decides which of them are given.
//
// Most parents tell by themselves which block confirms their children: the one that spends them, or
// the one of their height (tells_its_block). `parents` has the others.
#pragma once

#include "rules/joined.h"
#include "common/name_bits.h"
#include "ordered_kv/ordered_kv.h"

#include <array>

namespace cdb::coin_set {

constexpr size_t kKeyBytes = 12;  // bits, index
constexpr size_t kHashKeyBytes = kKeyBytes + kNameBytes;
constexpr size_t kPositionBytes = 4;

using KeyPrefix = std::array<uint8_t, kKeyBytes>;

// The first key that such an entry may have.
inline KeyPrefix key_prefix(uint64_t bits, uint32_t index) {
  KeyPrefix key;
  store_big_endian(key.data(), bits);
  store_big_endian(key.data() + 8, index);
  return key;
}

struct HashRow {
  uint64_t bits;
  uint32_t index;
  uint32_t position;
  const uint8_t *name;
};

struct ParentRow {
  uint64_t bits;
  uint32_t index;
  bool operator<(const ParentRow &other) const {
    return bits != other.bits ? bits < other.bits : index < other.index;
  }
};

// Many entries, in any order.
class KeyRows {
 public:
  void add(const HashRow &row) { hashes_.push_back(row); }
  void add(const ParentRow &row) { parents_.push_back(row); }
  // Those of a block, whose names must stay where they are. before: the index of the block before
  // it; -1: none.
  void add_block(const NameBits &bits, const Blocks &blocks, size_t block, int64_t before);
  size_t n() const { return hashes_.size() + parents_.size(); }

  // Each of these calls put(key, value) in the order of keys.
  template <typename Put>
  void put_hashes(Put put) const {
    std::array<uint8_t, kHashKeyBytes> key;
    std::array<uint8_t, kPositionBytes> value;
    for (const uint32_t i : hash_order()) {
      const HashRow &row = hashes_[i];
      const KeyPrefix prefix = key_prefix(row.bits, row.index);
      std::memcpy(key.data(), prefix.data(), prefix.size());
      std::memcpy(key.data() + prefix.size(), row.name, kNameBytes);
      store_big_endian(value.data(), row.position);
      put(Span(key), Span(value));
    }
  }
  template <typename Put>
  void put_parents(Put put) const {
    for (const ParentRow &row : sorted_parents())
      put(Span(key_prefix(row.bits, row.index)), Span());
  }

 private:
  std::vector<uint32_t> hash_order() const;
  std::vector<ParentRow> sorted_parents() const;

  std::vector<HashRow> hashes_;
  std::vector<ParentRow> parents_;
};

// A sum over entries, whatever their order. The same ones give the same sum, and others another one
// but by chance.
class KeySum {
 public:
  explicit KeySum(const NameBits &bits) : hash_(bits.secret()) {}
  void add_hash(uint64_t bits, uint32_t index, const uint8_t *name, uint32_t position) {
    sum_ += hash_.of<3>({bits, uint64_t{index} << 32 | position, hash_.of(name)});
  }
  void add_parent(uint64_t bits, uint32_t index) { sum_ += hash_.of<2>({bits, index}); }
  void add_rows(const KeyRows &rows);
  // What no entry looks like.
  void add_wrong() { ++sum_; }
  uint64_t sum() const { return sum_; }

 private:
  KeyedHash hash_;
  uint64_t sum_ = 0;
};

}  // namespace cdb::coin_set
