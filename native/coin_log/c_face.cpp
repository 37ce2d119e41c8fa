// The functions of cdb_coin_log.h: exceptions become statuses, and nothing else happens here.
#include "common/coin_name.h"
#include "database.h"
#include "reader.h"

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>

namespace coin_log = cdb::coin_log;

using coin_log::Store;

struct cdb_coin_log {
  std::shared_ptr<coin_log::Database> database;
};

struct cdb_coin_log_reader {
  std::shared_ptr<coin_log::Database> database;  // outlives the reader
  std::unique_ptr<coin_log::Reader> reader;
};

namespace {

cdb_coin_log_status fail(cdb_coin_log_status status, const char *text, char **error) noexcept {
  *error = strdup(text);
  return status;
}

template <typename Body>
cdb_coin_log_status guarded(char **error, Body body) noexcept {
  try {
    body();
    return COIN_LOG_OK;
  } catch (const coin_log::Failure &failure) {
    return fail(failure.status(), failure.what(), error);
  } catch (const std::bad_alloc &) {
    return fail(COIN_LOG_NO_MEMORY, "\tout of memory", error);
  } catch (const std::exception &exception) {
    return fail(COIN_LOG_FAILED, exception.what(), error);
  } catch (...) {
    return fail(COIN_LOG_FAILED, "\tunknown C++ exception", error);
  }
}

template <typename T>
void copy(const std::vector<T> &from, T *to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

}  // namespace

cdb_coin_log_status cdb_coin_log_open(const char *path, const cdb_coin_log_options *options,
                                      cdb_coin_log **log, char **error) {
  return guarded(error, [=] {
    *log = new cdb_coin_log{std::make_shared<coin_log::Database>(path, *options)};
  });
}

cdb_coin_log_status cdb_coin_log_close(cdb_coin_log *log, int32_t abandon, char **error) {
  return guarded(error, [=] { log->database->close(abandon != 0); });
}

void cdb_coin_log_release(cdb_coin_log *log) { delete log; }

cdb_coin_log_status cdb_coin_log_count(cdb_coin_log *log, cdb_coin_log_totals *totals,
                                       char **error) {
  return guarded(
      error, [=] { log->database->read([=](const Store &store) { *totals = store.totals(); }); });
}

cdb_coin_log_status cdb_coin_log_accept(cdb_coin_log *log, size_t n, const uint64_t *indices,
                                        const uint64_t *timestamps, const uint64_t *spend_ends,
                                        const uint64_t *confirm_ends, const uint8_t *spends,
                                        const uint8_t *confirms, const uint8_t *names,
                                        int32_t trusting, size_t *accepted, char **error) {
  return guarded(error, [&] {
    const cdb::Blocks blocks = {n,      indices,  timestamps, spend_ends, confirm_ends,
                                spends, confirms, names};
    log->database->write([&](Store &store) { *accepted = store.accept(blocks, trusting != 0); });
  });
}

cdb_coin_log_status cdb_coin_log_settle(cdb_coin_log *log, char **error) {
  return guarded(error, [=] { log->database->change([](Store &store) { store.verify(); }); });
}

cdb_coin_log_status cdb_coin_log_await_settled(cdb_coin_log *log, uint32_t most_milliseconds,
                                               char **error) {
  return guarded(error, [=] {
    log->database->readers().await_verified(std::chrono::milliseconds(most_milliseconds));
  });
}

cdb_coin_log_status cdb_coin_log_taken_back(cdb_coin_log *log, cdb_coin_log_reader **reader,
                                            char **error) {
  return guarded(error, [=] {
    log->database->change([=](Store &store) {
      std::unique_ptr<coin_log::Reader> taken_back = store.taken_back();
      if (taken_back == nullptr)
        throw coin_log::Failure(COIN_LOG_INVALID, "", "no block was taken back");
      *reader = new cdb_coin_log_reader{log->database, std::move(taken_back)};
    });
  });
}

cdb_coin_log_status cdb_coin_log_check(cdb_coin_log *log, char **error) {
  return guarded(error, [=] {
    log->database->read([](const Store &store) {
      if (store.damage()) throw coin_log::Failure(*store.damage());
    });
  });
}

cdb_coin_log_status cdb_coin_log_flush(cdb_coin_log *log, char **error) {
  return guarded(error, [=] { log->database->write([](Store &store) { store.flush(); }); });
}

cdb_coin_log_status cdb_coin_log_rewind(cdb_coin_log *log, int64_t block_index, char **error) {
  return guarded(error,
                 [=] { log->database->write([=](Store &store) { store.rewind(block_index); }); });
}

cdb_coin_log_status cdb_coin_log_lookup(cdb_coin_log *log, const uint8_t *names, size_t n,
                                        cdb_coin_log_info *infos, uint8_t *found, char **error) {
  return guarded(error, [=] {
    log->database->read_verified([=](const Store &store) {
      try {
        store.state().lookup(names, n, infos, found);
      } catch (const coin_log::Failure &) {
        store.check_not_rewound();
        throw;
      }
      store.check_not_rewound();
    });
  });
}

cdb_coin_log_status cdb_coin_log_read(cdb_coin_log *log, int64_t first_index, int64_t last_index,
                                      cdb_coin_log_reader **reader, char **error) {
  return guarded(error, [=] {
    log->database->read_verified([=](const Store &store) {
      const auto range = store.state().range(first_index, last_index);
      *reader = new cdb_coin_log_reader{
          log->database, std::make_unique<coin_log::Reader>(log->database->readers(), range)};
    });
  });
}

cdb_coin_log_status cdb_coin_log_next(cdb_coin_log_reader *reader, uint64_t max_confirms,
                                      cdb_coin_log_counts *counts, char **error) {
  return guarded(error, [=] {
    reader->database->read([=](const Store &store) { reader->reader->next(store, max_confirms); });
    const cdb::Blocks blocks = reader->reader->blocks().view();
    *counts = {blocks.n, blocks.spend_count(), blocks.confirm_count()};
  });
}

void cdb_coin_log_take(const cdb_coin_log_reader *reader, uint64_t *indices, uint64_t *timestamps,
                       uint64_t *spend_ends, uint64_t *confirm_ends, uint8_t *spends,
                       uint8_t *confirms, uint8_t *names) {
  const cdb::OwnedBlocks &blocks = reader->reader->blocks();
  copy(blocks.indices, indices);
  copy(blocks.timestamps, timestamps);
  copy(blocks.spend_ends, spend_ends);
  copy(blocks.confirm_ends, confirm_ends);
  copy(blocks.spends, spends);
  copy(blocks.confirms, confirms);
  copy(blocks.names, names);
}

void cdb_coin_log_end(cdb_coin_log_reader *reader) { delete reader; }

void cdb_coin_log_name(const uint8_t *confirms, size_t n, uint8_t *names) {
  cdb::name_coins(confirms, n, names);
}

void cdb_coin_log_free(char *error) { std::free(error); }
