// A store that any thread may ask, and that ends while others still do.
#pragma once

#include "coin_log/store/opening.h"

namespace cdb::coin_log {

class Database {
 public:
  // Begins to open it.
  Database(const char *path, const cdb_coin_log_options &options);
  // Replay some of the log: see Opening. Returns whether it is open now.
  bool replay(uint64_t max_coins, uint64_t *coins);
  // Unless abandon, everything is durable then. Released it is in any case.
  void close(bool abandon);

  // Calls body(store) inside of the state: any number at once.
  template <typename Body>
  void read(Body body) {
    const Reading reading(access_);
    const Store &store = opened();
    try {
      with_readable_mappings(*lost_, [&] { body(store); });
    } catch (const Failure &failure) {
      store.check_undisturbed(failure);
      throw;
    }
  }
  // The same, with everything verified.
  template <typename Body>
  void read_verified(Body body) {
    read([&](const Store &store) {
      if (!store.is_verified())
        throw Failure(CDB_UNVERIFIED, "", "what was accepted is not verified yet");
      store.state().log.drain();
      body(store);
    });
  }
  // Calls body(store), one at a time. What fails leaves it in doubt, but for a block's refusal.
  template <typename Body>
  void write(Body body) {
    if (opened().is_read_only()) throw Failure(CDB_INVALID, "", "it was opened only for reading");
    change(body);
  }
  // The same, also where it was opened only for reading: what it accepts is for its memory.
  template <typename Body>
  void change(Body body) {
    const Writing writing(readers_);
    try {
      with_readable_mappings(*lost_, [&] { body(opened()); });
    } catch (const Failure &failure) {
      if (failure.status() != CDB_TAKEN_BACK && failure.status() != CDB_INVALID)
        doubt(failure.what());
      throw;
    } catch (const std::exception &exception) {
      doubt(exception.what());
      throw;
    }
  }

  // Also after a write that failed.
  cdb_coin_log_totals totals();
  Readers &readers() { return readers_; }

 private:
  // Somebody writes, as long as it lives.
  class Writing {
   public:
    explicit Writing(Readers &readers) : readers_(readers) { readers_.tell_writing(true); }
    ~Writing() { readers_.tell_writing(false); }
    Writing(const Writing &) = delete;
    Writing &operator=(const Writing &) = delete;

   private:
    Readers &readers_;
  };

  Store &there();
  Store &opened();  // and no write of it has failed
  void doubt(const char *why);

  std::shared_ptr<LostPages> lost_;
  Access access_;
  Readers readers_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Opening> opening_;  // until it is open
};

}  // namespace cdb::coin_log
