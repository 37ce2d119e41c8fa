#include "keys.h"

#include "rules/reward_parents.h"
#include "layouts/sorted_names.h"

#include <algorithm>

namespace cdb::coin_set {

void KeyRows::add_block(const NameBits &bits, const Blocks &blocks, size_t block, int64_t before) {
  Joined joined;
  join(blocks, block, &joined);
  if (!joined.is_canonical) throw Failure(CDB_CORRUPT, "", "a block is not in order");
  const size_t first = blocks.confirm_begin(block);
  const auto index = static_cast<uint32_t>(blocks.indices[block]);
  for (size_t i = first; i < blocks.confirm_ends[block]; ++i)
    add(HashRow{bits.of(blocks.confirm(i) + kNameBytes), index, static_cast<uint32_t>(i - first),
                blocks.name(i)});
  for (const uint32_t coin : joined.explicit_parents) {
    const uint8_t *const parent = blocks.confirm(first + coin);
    if (!tells_its_block(parent, before, index)) add(ParentRow{bits.of(parent), index});
  }
}

std::vector<uint32_t> KeyRows::hash_order() const {
  std::vector<NameAt> sorted;
  sorted.reserve(hashes_.size());
  for (uint32_t i = 0; i < hashes_.size(); ++i)
    sorted.emplace_back(static_cast<uint32_t>(hashes_[i].bits >> 32), i);
  sort_in_order(&sorted, [this](uint32_t i, uint32_t j) {
    const HashRow &a = hashes_[i], &b = hashes_[j];
    if (a.bits != b.bits) return a.bits < b.bits;
    if (a.index != b.index) return a.index < b.index;
    return compare_names(a.name, b.name) < 0;
  });
  std::vector<uint32_t> order(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) order[i] = sorted[i].at;
  return order;
}

std::vector<ParentRow> KeyRows::sorted_parents() const {
  std::vector<ParentRow> sorted(parents_);
  std::sort(sorted.begin(), sorted.end());
  const auto is_same = [](const ParentRow &a, const ParentRow &b) { return !(a < b); };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), is_same), sorted.end());
  return sorted;
}

void KeySum::add_rows(const KeyRows &rows) {
  const auto position_in = [](const Span &value) { return load_big_endian<uint32_t>(value.bytes); };
  rows.put_hashes([&](const Span &key, const Span &value) {
    add_hash(load_big_endian(key.bytes), load_big_endian<uint32_t>(key.bytes + 8),
             key.bytes + kKeyBytes, position_in(value));
  });
  rows.put_parents([&](const Span &key, const Span &) {
    add_parent(load_big_endian(key.bytes), load_big_endian<uint32_t>(key.bytes + 8));
  });
}

}  // namespace cdb::coin_set
