#include "block_log.h"

#include <algorithm>
#include <utility>

namespace cdb::coin_set {

namespace {

constexpr size_t kHeadBytes = 16;
constexpr size_t kPageRows = 1024;
constexpr size_t kPageBytes = 64u << 10;
constexpr size_t kBytesOfOne = 4u << 10;

Failure damage(const char *what) { return {CDB_CORRUPT, "", what}; }

// Behind all rows of blocks up to this one; nothing where there can be no more.
Bytes end_behind(int64_t last) {
  if (last >= int64_t{UINT32_MAX}) return {};
  const BlockKey key = block_key(static_cast<uint64_t>(last + 1), 0);
  return {key.begin(), key.end()};
}

}  // namespace

Span block_head(const cdb_set_block &block, Bytes *buffer) {
  buffer->resize(kHeadBytes + block.n_spends * kNameBytes);
  store_big_endian(buffer->data(), block.timestamp);
  store_big_endian(buffer->data() + 8, uint64_t{block.n_spends} << 32 | block.n_confirms);
  std::copy_n(block.spends, block.n_spends * kNameBytes, buffer->data() + kHeadBytes);
  return *buffer;
}

int64_t newest_block(const Engine &engine, uint8_t space, int64_t limit) {
  if (limit < 0) return -1;
  Scan rows(engine, space, {}, end_behind(limit), /*is_reverse=*/true, OKV_OFTEN, kBytesOfOne);
  if (!rows.read(1)) return -1;
  if (rows.key(0).n != kBlockKeyBytes) throw damage("a block's key is cut");
  return load_big_endian<uint32_t>(rows.key(0).bytes);
}

BlockCursor::BlockCursor(const Engine &engine, uint8_t space, uint32_t first, uint32_t last)
    : is_of_one_(first == last),
      rows_(engine, space, block_key(first, 0), end_behind(last), /*is_reverse=*/false, OKV_ONCE,
            is_of_one_ ? kBytesOfOne : kPageBytes) {}

bool BlockCursor::next(cdb_set_block *block) {
  if (!has(1)) return false;
  read_head(block);
  read_parts(block);
  next_ += 1 + parts_of(block->n_confirms);
  return true;
}

// Whether there are n rows from next_ on in memory, or can be. Of one block alone no row behind it
// is asked for, whose damage would be none of it.
bool BlockCursor::has(size_t n) {
  while (rows_.n() - next_ < n) {
    rows_.drop(std::exchange(next_, 0));
    if (!rows_.read(is_of_one_ ? n : std::max(n, kPageRows))) return false;
  }
  return true;
}

void BlockCursor::read_head(cdb_set_block *block) const {
  const Span key = rows_.key(next_), value = rows_.value(next_);
  if (key.n != kBlockKeyBytes) throw damage("a block's key is cut");
  if (load_big_endian<uint32_t>(key.bytes + 4) != 0) throw damage("a block has no head");
  if (value.n < kHeadBytes) throw damage("a block's head is cut");
  block->index = load_big_endian<uint32_t>(key.bytes);
  block->timestamp = load_big_endian(value.bytes);
  block->n_spends = load_big_endian<uint32_t>(value.bytes + 8);
  block->n_confirms = load_big_endian<uint32_t>(value.bytes + 12);
  if (value.n != kHeadBytes + block->n_spends * kNameBytes)
    throw damage("a block's spends are cut");
}

// Values lie behind each other in memory, and so do the confirms of all parts.
void BlockCursor::read_parts(cdb_set_block *block) {
  size_t n_bytes = 0;
  for (size_t part = 1; part <= parts_of(block->n_confirms); ++part) {
    if (!has(1 + part) || !(rows_.key(next_ + part) == block_key(block->index, part)))
      throw damage("a part of a block is missing");
    n_bytes += rows_.value(next_ + part).n;
  }
  if (n_bytes != block->n_confirms * kConfirmBytes) throw damage("a block's confirms are cut");
  block->spends = rows_.value(next_).bytes + kHeadBytes;
  block->confirms = block->spends + block->n_spends * kNameBytes;
}

}  // namespace cdb::coin_set
