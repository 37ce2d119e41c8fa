// Opening: the derived files are loaded, and the log behind them is replayed, in steps.
#pragma once

#include "coin_log/store/store.h"

namespace cdb::coin_log {

// Makes a store of what is on the disk; the methods stand in the order in which they are called.
class Opening {
 public:
  // Loads what is derived.
  Opening(const Directory &directory, const cdb_coin_log_options &options, Access &access,
          Readers &readers);
  // Replay about so many coins of the log, and set *coins to how many it were. Returns whether
  // there are more. What an opening leaves that ends before is what a crash leaves.
  bool replay(uint64_t max_coins, uint64_t *coins);
  // Once nothing is left to replay.
  std::unique_ptr<Store> take_store() { return std::move(made_); }

 private:
  // Behind the records that were read so far.
  struct Place {
    uint64_t offset, rows, previous_checksum;
    size_t block;
    RewardKinds kinds;
    ReadAhead ahead;
  };

  void check_acked() const;
  void take_up_rewind();
  bool has_all_derived_files() const;
  void forget_derived();
  void load_derived();
  void check_last_covered() const;
  BlockPlace load_base();
  void load_history(BlockPlace first);
  void add_early(const std::vector<uint32_t> &rows, const std::string &file);
  // recovery.cpp
  void begin_replay();
  bool replay_batch();
  bool read_next(OwnedBlocks *blocks, std::vector<RecordHeader> *headers);
  void replay_blocks(const Blocks &blocks, const std::vector<RecordHeader> &headers);
  uint64_t acknowledged() const;
  bool tells_of(uint64_t offset, uint64_t at, const RecordHeader &header) const;
  bool is_acknowledged_behind(uint64_t offset, uint64_t file_bytes) const;
  bool is_acknowledged_somewhere(uint64_t offset, uint64_t from, uint64_t file_bytes) const;
  void end_log(uint64_t acked, uint64_t file_bytes);

  const Manifest &manifest() const { return checkpoints_.manifest(); }

  const cdb_coin_log_options options_;
  std::unique_ptr<Store> made_;
  Store &store_;
  State &state_;
  Acked &acked_;
  Checkpoints &checkpoints_;
  uint64_t acked_bytes_ = 0, file_bytes_ = 0;  // as replaying began
  Place place_{};
  Bytes record_;
};

// The whole of it.
std::unique_ptr<Store> open_store(const Directory &directory, const cdb_coin_log_options &options,
                                  Access &access, Readers &readers);

}  // namespace cdb::coin_log
