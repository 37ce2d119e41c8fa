// Opening: the derived files are loaded, and the log behind them is replayed.
#pragma once

#include "store.h"

namespace cdb::coin_log {

std::unique_ptr<Store> open_store(const Directory &directory, const cdb_coin_log_options &options,
                                  Access &access, Readers &readers);

// Makes a store of what is on the disk; a step a method, in the order in which they are called.
class Opening {
 public:
  Opening(const cdb_coin_log_options &options, Store *store)
      : options_(options),
        store_(*store),
        state_(store->state_),
        acked_(store->acked_),
        checkpoints_(store->checkpoints_) {}

  void run();

 private:
  void check_acked() const;
  void take_up_rewind();
  bool has_all_derived_files() const;
  void forget_derived();
  void load_derived();
  void check_last_covered() const;
  void load_history();
  void check_block_table() const;
  // recovery.cpp
  void replay();
  void replay_records(uint64_t file_bytes);
  void replay_blocks(OwnedBlocks *blocks, std::vector<RecordHeader> *headers);
  uint64_t acknowledged() const;
  bool tells_of(uint64_t offset, uint64_t at, const RecordHeader &header) const;
  bool is_acknowledged_behind(uint64_t offset, uint64_t file_bytes) const;
  bool is_acknowledged_somewhere(uint64_t offset, uint64_t from, uint64_t file_bytes) const;
  void end_log(uint64_t acked, uint64_t file_bytes);

  const Manifest &manifest() const { return checkpoints_.manifest(); }

  const cdb_coin_log_options &options_;
  Store &store_;
  State &state_;
  Acked &acked_;
  Checkpoints &checkpoints_;
};

}  // namespace cdb::coin_log
