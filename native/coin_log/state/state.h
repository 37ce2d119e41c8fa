// What readers see: the blocks of the log, the coins in them and what is spent.
//
// common/access.h says who may touch it when.
#pragma once

#include "coin_log/cdb_coin_log_api.h"
#include "common/access.h"
#include "coin_log/format/checked.h"
#include "coin_log/format/failure.h"
#include "coin_log/index/index.h"
#include "coin_log/index/keys.h"
#include "coin_log/log/log.h"
#include "coin_log/state/block_table.h"
#include "coin_log/state/spent_rows.h"

namespace cdb::coin_log {

// A coin as its record has it.
struct CoinView {
  uint32_t row;
  uint32_t block;  // number in the block table
  const uint8_t *parent;
  const uint8_t *puzzle_hash;
  uint64_t amount;
  uint8_t composed[kNameBytes];  // the parent of a reward, which the record has in short

  CoinView() = default;
  CoinView(const CoinView &) = delete;
  CoinView &operator=(const CoinView &) = delete;
};

// Where the last rewind went back to: records there need its epoch.
struct LastRewind {
  uint32_t epoch = 0;
  uint64_t offset = 0;

  bool has_removed(const RecordHeader &header, uint64_t at) const {
    return at >= offset && header.epoch < epoch;
  }
};

class State {
 public:
  State(const Directory &directory, bool read_only, const NameBits &bits, bool has_keys);

  // As of a height: with what blocks up to it have done. Everything must be verified.
  void lookup(const uint8_t *names, size_t n, int64_t height, cdb_coin_info *infos,
              uint8_t *found) const;
  // The rows of the coins with these names; kNoRow where there is none.
  void find_rows(const uint8_t *names, size_t n, uint32_t *rows) const;
  // Of the block that spent the coin; 0: it is unspent.
  uint32_t spent_index_of(uint32_t row) const;
  // How many coins are unspent as of a height. It takes a step for each block above that.
  uint64_t count_unspent(int64_t height) const;

  // The bytes of the log that hold the blocks with first_index ≤ index ≤ last_index.
  std::pair<uint64_t, uint64_t> range(int64_t first_index, int64_t last_index) const;
  // The block whose record begins there.
  size_t block_at(uint64_t offset) const { return blocks.before(offset); }
  // Whether an intact record is the block's, and not what a rewind has taken from its place: a
  // write may have been lost. record: as the log has it, or a copy.
  bool is_current(size_t block, const uint8_t *record) const;

  // How many blocks have an index up to this one.
  size_t blocks_up_to(int64_t block_index) const { return blocks.up_to(block_index); }
  // Whether the newest block's record is in the log still, as its checksum has it.
  bool has_newest_record() const;
  // Where the block begins, and its coins; behind the last one, where the next would.
  uint64_t offset_of(size_t block) const;
  uint32_t first_row_of(size_t block) const;
  // Of the record before the block's; 0 for the first one.
  uint64_t checksum_before(size_t block) const;
  // How often the blocks before it spend.
  uint64_t spends_before(size_t block) const;
  size_t block_of(uint32_t row) const;
  Extent extent() const { return {row_count, blocks.size()}; }
  // 0 while there is no block.
  uint32_t newest_index() const { return blocks.empty() ? 0 : blocks.back().index; }

  // The coins of rows that the log holds; at most kFetch of them. passing: they follow on those of
  // the last call, and the log was told to read on.
  static constexpr size_t kFetch = 256;
  void fetch(const uint32_t *rows, size_t n, CoinView *views, bool passing = false) const;
  // The names of fetched coins, without gaps; at most kNamedAtOnce, so that they take little room.
  static void name_views(const CoinView *views, size_t n, uint8_t *names);
  // Whether it is the coin of this name. computed: by name_views(). Throws when its record is
  // damaged.
  bool has_name(const CoinView &view, const uint8_t *computed, const uint8_t *name) const;
  // That its record is intact and the one that should be there. Throws when it is not.
  void check_record(size_t block) const;
  // It is about to be checked; of several, all are to be announced first.
  void announce_record(size_t block) const;
  // The row before limit that has the name, or kNoRow: all candidates are held against it.
  uint32_t find_exactly(const uint8_t *name, uint32_t limit) const;

  // These change it.
  void add_block(const RecordHeader &header, uint64_t offset);
  void add_line(const BlockLine &line);
  // Have the log end behind so many blocks. What others have spent must be unspent. base,
  // spent_rows: where the base so far has more blocks, as for adopt().
  void cut(size_t n_blocks, std::shared_ptr<const Base> base,
           const std::vector<uint32_t> &spent_rows);
  // Have a base for the oldest blocks, or none, and keep so many in all. spent_rows: those that the
  // blocks behind it spend, in their order.
  void adopt(std::shared_ptr<const Base> base, size_t n_blocks,
             const std::vector<uint32_t> &spent_rows);
  // Enter what the blocks from one on spend; false where there is no such row.
  bool enter_spends(size_t first_block, const std::vector<uint32_t> &spent_rows);
  // The rows that blocks with first ≤ number < end spend, block by block; each row is looked at.
  std::vector<uint32_t> spends_of(size_t first, size_t end) const;

  Log log;
  Index index;
  Keys keys;
  BlockTable blocks;
  std::vector<uint32_t> block_hints;  // of each kHintRows-th row
  RewardKinds kinds;                  // that the blocks have introduced
  SpentRows spent;                    // of row_count rows, and more while a block is examined
  uint32_t row_count = 0;
  uint64_t spend_count = 0;  // of all blocks
  uint64_t last_checksum = 0;
  LastRewind last_rewind;
  uint64_t rule_probes = 0;         // that examining blocks has taken so far
  mutable Checked checked_records;  // one a block: those of coins that were asked for, and others

 private:
  template <typename Found>
  void visit(const uint8_t *names, size_t n, Found found) const;
  cdb_coin_info info_of(const CoinView &view) const;
  void compose_parent(const uint8_t *from, CoinView *view) const;
  void check_alive(size_t block) const;
  Failure damaged(size_t block) const;
};

// Calls visit(which, tables) for each index of a state.
template <typename State, typename Visit>
void each_index(State &state, Visit visit) {
  visit(IndexOf::kNames, state.index.tables());
  for (const KeyKind &kind : kKeyKinds) visit(kind.index, state.keys.of(kind.index).tables());
}

}  // namespace cdb::coin_log
