#include "coin_log/index/keys.h"

namespace cdb::coin_log {

namespace {

constexpr bool table_is_in_order() {
  for (size_t i = 0; i < kKeyKinds.size(); ++i)
    if (place_of_kind(kKeyKinds[i].index) != i) return false;
  return true;
}
static_assert(table_is_in_order());

}  // namespace

void enter_puzzle_hashes(const GoodBlocks &blocks, uint32_t first, KeyIndex *index) {
  if (const size_t n = blocks.blocks.confirm_begin(blocks.n); n > 0)
    index->insert(blocks.blocks.confirms + kNameBytes, kConfirmBytes, n, first);
}

void enter_odd_parents(const GoodBlocks &blocks, uint32_t first, KeyIndex *index) {
  blocks.each_odd_parent([&](size_t block, uint32_t coin) {
    index->insert(blocks.blocks.confirm(coin), 0, 1, first + static_cast<uint32_t>(block));
  });
}

Keys::Keys(const NameBits &bits, bool is_on) : are_on_(is_on) {
  for (size_t i = 0; i < kKeyKinds.size(); ++i) indexes_.emplace_back(bits);
}

void Keys::enter(const GoodBlocks &blocks, const Extent &before) {
  if (!are_on_) return;
  for (const KeyKind &kind : kKeyKinds)
    kind.enter(blocks, before.end(kind.places), &of(kind.index));
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
