// The coin set: the log, and what is derived from it. The one who writes calls it; readers ask its
// state.
#pragma once

#include "coin_log/log/acked.h"
#include "coin_log/store/checkpoints.h"
#include "coin_log/store/readers.h"
#include "coin_log/index/recent_names.h"
#include "coin_log/state/state.h"
#include "coin_log/store/unverified.h"

#include <future>
#include <optional>

namespace cdb::coin_log {

// What blocks are checked by, beside the state.
struct Validation {
  explicit Validation(const cdb_coin_log_options &options)
      : recent_names(options.recent_bits),
        unverified(options.unverified_spends),
        begun(options.unverified_spends) {}

  Parents parents;
  RecentNames recent_names;
  Unverified unverified;
  Unverified begun;  // those before them, which are verified beside
};

class Reader;

class Store {
 public:
  // opening.h makes it of what is on the disk.
  Store(const Directory &directory, const cdb_coin_log_options &options, Access &access,
        Readers &readers, Acked acked, const Manifest &manifest);
  ~Store();
  Store(const Store &) = delete;
  Store &operator=(const Store &) = delete;

  // What readers see.
  const State &state() const { return state_; }
  // Whether what was accepted is verified, as it must be before anything is read.
  bool is_verified() const {
    return validation_.unverified.size() == 0 && validation_.begun.size() == 0;
  }
  cdb_coin_log_totals totals() const;
  const Directory &directory() const { return directory_; }
  bool is_read_only() const { return options_.read_only != 0; }
  // Throws when the one who writes has rewound since this was opened.
  void check_not_rewound() const;
  // A read has failed. Throws what others have done to the files since these were opened, if that
  // is why.
  void check_undisturbed(const Failure &failure) const;
  // With options.before_damage: where the log is damaged, if it is.
  const std::optional<Failure> &damage() const { return damage_; }

  // accept.cpp. How many blocks were accepted, before one that breaks a rule. trusting: old spends
  // may be verified later (verify.cpp), but before anything is acknowledged or read.
  // replayed: the records that the log has of these blocks already, or null.
  size_t accept(const Blocks &blocks, bool trusting, const RecordHeader *replayed = nullptr);

  // verify.cpp. Throws TAKEN_BACK when a block that was accepted spends what it must not: that one
  // and those after it are gone then, and the others are as they were.
  void verify();
  // The same for one who reads: the next call of the one who writes throws it.
  void verify_for_reader();
  // Throws TAKEN_BACK if that is owed.
  void check_taken_back() const;
  // Of these claims, those that are false, by their spends.
  std::vector<Claim> false_claims(std::vector<Claim> claims) const;
  // The block for which verifying has failed; null without one. From then on it is told.
  std::unique_ptr<Reader> taken_back();

  // store.cpp
  void flush();
  // The same in two steps: what was accepted before begin_flush() is verified and synced beside
  // what comes between them, and durable when end_flush() returns. Both throw TAKEN_BACK as
  // verify() does: of what was begun before, and of what was begun.
  void begin_flush();
  void end_flush();
  void close();

  // rewind.cpp
  void rewind(int64_t block_index);

 private:
  friend class Acceptance;
  friend class Opening;

  void sync_log();
  void checkpoint_if_due();
  void checkpoint();
  // verify.cpp
  void begin_verifying();
  void end_verifying();
  void settle(std::vector<Claim> wrong);
  size_t correct(const std::vector<Claim> &wrong);
  void take_back(size_t block);
  // rewind.cpp
  void cut(size_t blocks);
  void drop(size_t blocks, const LastRewind &rewind);

  Directory directory_;
  cdb_coin_log_options options_;
  Access &access_;
  Readers &readers_;
  State state_;
  // From here on the writer's alone; the sizes of unverified and begun are the readers', too.
  Acked acked_;
  Validation validation_;
  Checkpoints checkpoints_;
  const uint32_t epoch_on_opening_;  // as the manifest's file had it
  uint32_t epoch_;
  uint64_t flushing_ = 0;  // the log up to here, by a flush that was begun; 0: none was
  std::unique_ptr<Reader> taken_back_;
  bool is_replaying_ = false;
  std::optional<Failure> damage_;
  std::future<std::vector<Claim>> verifying_;  // of those that are begun; uses what is above
};

}  // namespace cdb::coin_log
