// The coin set: the log, and what is derived from it.
#pragma once

#include "acked.h"
#include "cdb_coin_log_api.h"
#include "cold_reads.h"
#include "failure.h"
#include "history.h"
#include "index.h"
#include "log.h"
#include "manifest.h"
#include "recent_names.h"
#include "common/parents.h"
#include "unverified.h"

#include <future>
#include <optional>
#include <set>

namespace cdb::coin_log {

class Reader;

// A coin as its record has it.
struct CoinView {
  uint32_t row;
  uint32_t block;  // number in the block table
  const uint8_t *parent;
  const uint8_t *puzzle_hash;
  uint64_t amount;
};

class Store {
 public:
  // open.cpp
  Store(const Directory &directory, const cdb_coin_log_options &options);
  ~Store();
  Store(const Store &) = delete;
  Store &operator=(const Store &) = delete;

  // checkpoint.cpp
  void flush();
  void close();

  // accept.cpp. How many blocks were accepted, before one that breaks a rule. trusting: old spends
  // may be verified later (verify.cpp), but before anything is acknowledged or read.
  size_t accept(const Blocks &blocks, bool trusting) {
    return accept_all(blocks, nullptr, trusting);
  }

  // Have everything that was accepted in the log's file.
  void settle_log() { log_.settle(); }
  // And verified. What reads begins with this.
  void settle() {
    settle_log();
    verify();
  }
  // The block for which verifying has failed last; null without one.
  std::unique_ptr<Reader> taken_back();
  // With options.before_damage: where the log is damaged, if it is.
  const std::optional<Failure> &damage() const { return damage_; }

  // rewind.cpp
  void rewind(int64_t block_index);

  // lookup.cpp. Everything must be settled.
  void lookup(const uint8_t *names, size_t n, cdb_coin_log_info *infos, uint8_t *found) const;

  cdb_coin_log_totals totals() const;
  const Directory &directory() const { return directory_; }
  bool is_read_only() const { return options_.read_only != 0; }
  // Throws when the one who writes has rewound since this was opened.
  void check_not_rewound() const;
  const Log &log() const { return log_; }
  // The bytes of the log that hold the blocks with first_index ≤ index ≤ last_index.
  std::pair<uint64_t, uint64_t> range(int64_t first_index, int64_t last_index) const;
  // The block whose record begins there.
  size_t block_at(uint64_t offset) const;
  // Whether an intact record is the block's, and not what a rewind has taken from its place: a
  // write may have been lost. record: as the log has it, or a copy.
  bool is_current(size_t block, const uint8_t *record) const;
  std::set<Reader *> &readers() { return readers_; }

 private:
  friend class Acceptance;

  // open.cpp
  void check_acked() const;
  bool has_all_derived_files() const;
  void forget_derived();
  void load_derived();
  void load_history();
  uint64_t history_checksum() const;
  void check_block_table() const;
  void check_last_covered() const;
  void remove_strays();
  // recovery.cpp
  void replay();
  void replay_records(uint64_t file_bytes);
  void replay_blocks(OwnedBlocks *blocks, std::vector<RecordHeader> *headers);
  bool is_dead(const RecordHeader &header, uint64_t offset) const;
  uint64_t acknowledged() const;
  bool tells_of(uint64_t offset, uint64_t at, const RecordHeader &header) const;
  bool is_acknowledged_behind(uint64_t offset, uint64_t file_bytes) const;
  bool is_acknowledged_somewhere(uint64_t offset, uint64_t from, uint64_t file_bytes) const;
  void end_log(uint64_t acked, uint64_t file_bytes);
  // accept.cpp
  // replayed: the records that the log has of these blocks already, or null.
  size_t accept_all(const Blocks &blocks, const RecordHeader *replayed, bool trusting);
  void add_block(const RecordHeader &header, uint64_t offset);
  // checkpoint.cpp
  void sync_log();
  struct Checkpoint {
    Manifest manifest;
    Runs runs;
    SectionPlace section;
  };
  void checkpoint_if_due();
  void start_checkpoint();
  // Wait for it, if there is one.
  void finish_checkpoint();
  Checkpoint write_checkpoint(Manifest manifest, const Section &section, const Memtable &memtable,
                              const Runs &runs);
  Section uncovered_section() const;
  std::vector<uint32_t> early_rows_from(uint32_t first_row) const;
  // Have the manifest in memory cover so many blocks.
  void cover(size_t blocks);
  // verify.cpp. Throws TAKEN_BACK when a block that was accepted spends what it must not: that one
  // and those after it are gone then, and the others are as they were.
  void verify();
  std::vector<Claim> false_claims(std::vector<Claim> claims) const;
  size_t correct(const std::vector<Claim> &wrong);
  void take_back(size_t block);
  // rewind.cpp
  void take_up_rewind();
  void cut(size_t blocks);
  void drop(size_t blocks);
  void preserve_for_readers(uint64_t offset);
  void lower_manifest(uint64_t offset);
  void forget_blocks(size_t blocks);
  void unspend(size_t blocks);
  void uncover_section();
  // lookup.cpp
  // The coins of rows that the log holds; at most kFetch of them. in_order: they follow on those of
  // the last call, and the log was told to read on.
  static constexpr size_t kFetch = 256;
  void fetch(const uint32_t *rows, size_t n, CoinView *views, bool in_order = false) const;
  // Whether it is the coin of this name. Throws when its record is damaged.
  bool has_name(const CoinView &view, const uint8_t *name) const;
  // The row before limit that has the name, or kNoRow: all candidates are held against it.
  uint32_t find_exactly(const uint8_t *name, uint32_t limit) const;
  bool lookup_exactly(const uint8_t *name, cdb_coin_log_info *info) const;
  cdb_coin_log_info info_of(const CoinView &view) const;

  size_t blocks_up_to(int64_t block_index) const;
  uint64_t offset_of(size_t block) const;
  uint32_t first_row_of(size_t block) const;
  uint64_t checksum_before(size_t block) const;
  size_t block_of(uint32_t row) const;
  void check_record(size_t block) const;
  void check_alive(size_t block) const;
  Failure damaged(size_t block) const;

  Directory directory_;
  cdb_coin_log_options options_;
  Manifest manifest_;
  Acked acked_;
  bool acked_is_damaged_ = false;
  Log log_;
  Index index_;
  const uint32_t epoch_on_opening_;  // as the manifest's file had it; see take_up_rewind()
  uint32_t epoch_;

  std::vector<BlockLine> blocks_;
  std::vector<uint32_t> block_hints_;                 // of each 64th row
  std::vector<uint32_t, HugePages<uint32_t>> spent_;  // by row: the block that spends it, or 0
  std::vector<uint32_t> new_spent_rows_;  // of the blocks that the manifest does not cover
  std::vector<SectionPlace> sections_;
  Parents parents_;
  RecentNames recent_names_;
  Unverified unverified_;
  mutable ColdReads cold_reads_;
  mutable std::set<size_t> checked_records_;  // by their blocks
  mutable uint64_t records_checked_ = 0;
  uint32_t rows_ = 0;
  uint64_t last_checksum_ = 0;
  std::set<Reader *> readers_;
  std::unique_ptr<Reader> taken_back_;
  bool is_replaying_ = false;
  std::optional<Failure> damage_;
  // Under way in a thread of its own, which uses what is above.
  std::future<Checkpoint> checkpoint_;
};

}  // namespace cdb::coin_log
