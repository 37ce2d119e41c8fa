#include "coin_log/index/keys.h"

#include "rules/reward_parents.h"

namespace cdb::coin_log {

namespace {

constexpr bool table_is_in_order() {
  for (size_t i = 0; i < kKeyKinds.size(); ++i)
    if (place_of_kind(kKeyKinds[i].index) != i) return false;
  return true;
}
static_assert(table_is_in_order());

}  // namespace

void enter_puzzle_hashes(const NewBlocks &blocks, KeyIndex *index) {
  if (const size_t n = blocks.blocks.confirm_begin(blocks.n); n > 0)
    index->insert(blocks.blocks.confirms + kNameBytes, kConfirmBytes, n,
                  blocks.before.end(Places::kRows));
}

void enter_odd_parents(const NewBlocks &blocks, KeyIndex *index) {
  int64_t before = blocks.newest_index;
  auto coin = blocks.explicit_parents.begin();
  for (size_t block = 0; block < blocks.n; ++block) {
    const uint64_t block_index = blocks.blocks.indices[block];
    const uint32_t place = blocks.before.end(Places::kBlocks) + static_cast<uint32_t>(block);
    for (; coin != blocks.explicit_parents.end() && *coin < blocks.blocks.confirm_ends[block];
         ++coin) {
      const uint8_t *const parent = blocks.blocks.confirm(*coin);
      if (!tells_its_block(parent, before, block_index)) index->insert(parent, 0, 1, place);
    }
    before = static_cast<int64_t>(block_index);
  }
}

Keys::Keys(const NameBits &bits, bool is_on) : are_on_(is_on) {
  for (size_t i = 0; i < kKeyKinds.size(); ++i) indexes_.emplace_back(bits);
}

void Keys::enter(const NewBlocks &blocks) {
  if (!are_on_) return;
  for (const KeyKind &kind : kKeyKinds) kind.enter(blocks, &of(kind.index));
}

void Keys::cut(const Extent &kept) {
  for (const KeyKind &kind : kKeyKinds) of(kind.index).cut(kept.end(kind.places));
}

uint64_t Keys::probes() const {
  uint64_t probes = 0;
  for (const KeyIndex &index : indexes_) probes += index.probes();
  return probes;
}

}  // namespace cdb::coin_log
