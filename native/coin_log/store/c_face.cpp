// The functions of cdb_coin_log.h: exceptions become errors, and nothing else happens here.
#include "common/c_face.h"
#include "common/coin_name.h"
#include "coin_log/store/database.h"
#include "coin_log/store/inspection.h"
#include "coin_log/state/query.h"
#include "coin_log/store/reader.h"

#include <memory>

namespace coin_log = cdb::coin_log;

using cdb::guarded;
using coin_log::Store;

struct cdb_coin_log {
  std::shared_ptr<coin_log::Database> database;
};

struct cdb_coin_log_reader {
  std::shared_ptr<coin_log::Database> database;  // outlives the reader
  std::unique_ptr<coin_log::Reader> reader;
};

struct cdb_coin_log_answer {
  std::vector<cdb_found_coin> coins;
};

struct cdb_coin_log_inspection {
  coin_log::Inspection inspection;
};

namespace {

template <typename T>
void copy(const std::vector<T> &from, T *to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

cdb_coin_log_counts counts_of(const cdb::OwnedBlocks &read) {
  const cdb::Blocks blocks = read.view();
  return {blocks.n, blocks.spend_count(), blocks.confirm_count()};
}

void take(const cdb::OwnedBlocks &blocks, uint64_t *indices, uint64_t *timestamps,
          uint64_t *spend_ends, uint64_t *confirm_ends, uint8_t *spends, uint8_t *confirms,
          uint8_t *names) {
  copy(blocks.indices, indices);
  copy(blocks.timestamps, timestamps);
  copy(blocks.spend_ends, spend_ends);
  copy(blocks.confirm_ends, confirm_ends);
  copy(blocks.spends, spends);
  copy(blocks.confirms, confirms);
  copy(blocks.names, names);
}

// Calls body. What it reads counts for nothing where the one who writes has rewound.
template <typename Body>
void unless_rewound(const Store &store, Body body) {
  body();
  store.check_not_rewound();
}

}  // namespace

cdb_status cdb_coin_log_open(const char *path, const cdb_coin_log_options *options,
                             cdb_coin_log **log, cdb_error *error) {
  return guarded(error, [=] {
    *log = new cdb_coin_log{std::make_shared<coin_log::Database>(path, *options)};
  });
}

cdb_status cdb_coin_log_replay(cdb_coin_log *log, uint64_t max_coins, uint64_t *coins,
                               int32_t *is_open, cdb_error *error) {
  return guarded(error, [=] { *is_open = log->database->replay(max_coins, coins) ? 1 : 0; });
}

cdb_status cdb_coin_log_close(cdb_coin_log *log, int32_t abandon, cdb_error *error) {
  return guarded(error, [=] { log->database->close(abandon != 0); });
}

void cdb_coin_log_release(cdb_coin_log *log) { delete log; }

cdb_status cdb_coin_log_count(cdb_coin_log *log, cdb_coin_log_totals *totals, cdb_error *error) {
  return guarded(error, [=] { *totals = log->database->totals(); });
}

cdb_status cdb_coin_log_accept(cdb_coin_log *log, const cdb_blocks *blocks, int32_t trusting,
                               size_t *accepted, cdb_error *error) {
  return guarded(error, [=] {
    log->database->write([=](Store &store) { *accepted = store.accept({*blocks}, trusting != 0); });
  });
}

cdb_status cdb_coin_log_verify_spends(cdb_coin_log *log, cdb_error *error) {
  return guarded(error, [=] {
    log->database->change([](Store &store) {
      store.verify();
      store.check_taken_back();
    });
  });
}

cdb_status cdb_coin_log_verify(cdb_coin_log *log, cdb_error *error) {
  return guarded(error,
                 [=] { log->database->change([](Store &store) { store.verify_for_reader(); }); });
}

cdb_status cdb_coin_log_await_verified(cdb_coin_log *log, uint32_t most_milliseconds,
                                       int32_t *is_writing, cdb_error *error) {
  return guarded(error, [=] {
    const std::chrono::milliseconds most(most_milliseconds);
    *is_writing = log->database->readers().await_verified(most) ? 1 : 0;
  });
}

cdb_status cdb_coin_log_taken_back(cdb_coin_log *log, cdb_coin_log_reader **reader,
                                   cdb_error *error) {
  return guarded(error, [=] {
    log->database->change([=](Store &store) {
      std::unique_ptr<coin_log::Reader> taken_back = store.taken_back();
      if (taken_back == nullptr) throw cdb::Failure(CDB_INVALID, "", "no block was taken back");
      *reader = new cdb_coin_log_reader{log->database, std::move(taken_back)};
    });
  });
}

cdb_status cdb_coin_log_check(cdb_coin_log *log, cdb_error *error) {
  return guarded(error, [=] {
    log->database->read([](const Store &store) {
      if (store.damage()) throw cdb::Failure(*store.damage());
    });
  });
}

cdb_status cdb_coin_log_flush(cdb_coin_log *log, cdb_error *error) {
  return guarded(error, [=] { log->database->write([](Store &store) { store.flush(); }); });
}

cdb_status cdb_coin_log_begin_flush(cdb_coin_log *log, cdb_error *error) {
  return guarded(error, [=] {
    log->database->write([](Store &store) {
      store.check_taken_back();
      store.begin_flush();
    });
  });
}

cdb_status cdb_coin_log_end_flush(cdb_coin_log *log, cdb_error *error) {
  return guarded(error, [=] {
    log->database->write([](Store &store) {
      store.end_flush();
      store.check_taken_back();
    });
  });
}

cdb_status cdb_coin_log_rewind(cdb_coin_log *log, int64_t block_index, cdb_error *error) {
  return guarded(error,
                 [=] { log->database->write([=](Store &store) { store.rewind(block_index); }); });
}

cdb_status cdb_coin_log_lookup(cdb_coin_log *log, const uint8_t *names, size_t n, int64_t height,
                               cdb_coin_info *infos, uint8_t *found, cdb_error *error) {
  return guarded(error, [=] {
    log->database->read_verified([=](const Store &store) {
      unless_rewound(store, [&] { store.state().lookup(names, n, height, infos, found); });
    });
  });
}

cdb_status cdb_coin_log_count_unspent(cdb_coin_log *log, int64_t height, uint64_t *n,
                                      cdb_error *error) {
  return guarded(error, [=] {
    log->database->read_verified([=](const Store &store) {
      unless_rewound(store, [&] { *n = store.state().count_unspent(height); });
    });
  });
}

cdb_status cdb_coin_log_ask(cdb_coin_log *log, const cdb_query *query, const uint8_t *values,
                            size_t n, size_t *n_coins, cdb_coin_log_answer **answer,
                            cdb_error *error) {
  return guarded(error, [=] {
    log->database->read_verified([=](const Store &store) {
      auto coins = std::make_unique<cdb_coin_log_answer>();
      unless_rewound(store, [&] {
        coins->coins = coin_log::Query(store.state(), *query, values, n).answer();
      });
      *n_coins = coins->coins.size();
      *answer = coins.release();
    });
  });
}

void cdb_coin_log_answer_take(const cdb_coin_log_answer *answer, cdb_found_coin *coins) {
  copy(answer->coins, coins);
}

void cdb_coin_log_answer_end(cdb_coin_log_answer *answer) { delete answer; }

cdb_status cdb_coin_log_read(cdb_coin_log *log, int64_t first_index, int64_t last_index,
                             cdb_coin_log_reader **reader, cdb_error *error) {
  return guarded(error, [=] {
    log->database->read_verified([=](const Store &store) {
      const auto range = store.state().range(first_index, last_index);
      *reader = new cdb_coin_log_reader{
          log->database,
          std::make_unique<coin_log::Reader>(log->database->readers(), store.state(), range)};
    });
  });
}

cdb_status cdb_coin_log_next(cdb_coin_log_reader *reader, uint64_t max_confirms,
                             cdb_coin_log_counts *counts, cdb_error *error) {
  return guarded(error, [=] {
    reader->database->read([=](const Store &store) { reader->reader->next(store, max_confirms); });
    *counts = counts_of(reader->reader->blocks());
  });
}

void cdb_coin_log_take(const cdb_coin_log_reader *reader, uint64_t *indices, uint64_t *timestamps,
                       uint64_t *spend_ends, uint64_t *confirm_ends, uint8_t *spends,
                       uint8_t *confirms, uint8_t *names) {
  take(reader->reader->blocks(), indices, timestamps, spend_ends, confirm_ends, spends, confirms,
       names);
}

cdb_status cdb_coin_log_states(cdb_coin_log_reader *reader, int64_t height, int32_t only_unspent,
                               uint8_t *names, cdb_coin_info *infos, size_t *n, cdb_error *error) {
  return guarded(error, [=] {
    reader->database->read([=](const Store &store) {
      *n = reader->reader->states(store.state(), height, only_unspent != 0, names, infos);
    });
  });
}

void cdb_coin_log_end(cdb_coin_log_reader *reader) { delete reader; }

cdb_status cdb_coin_log_has_keys(const char *path, int32_t *has_keys, cdb_error *error) {
  return guarded(error, [=] {
    coin_log::Manifest manifest(cdb::NameBits(1, cdb::random_hash_key()));
    coin_log::read_manifest(coin_log::Directory{path}, &manifest);
    *has_keys = manifest.has_keys ? 1 : 0;
  });
}

cdb_status cdb_coin_log_inspect(const char *path, cdb_coin_log_inspection **inspection,
                                cdb_error *error) {
  return guarded(error, [=] {
    *inspection = new cdb_coin_log_inspection{coin_log::Inspection(coin_log::Directory{path})};
  });
}

cdb_status cdb_coin_log_inspect_next(cdb_coin_log_inspection *inspection, uint64_t max_coins,
                                     cdb_coin_log_step *step, cdb_error *error) {
  return guarded(error, [=] { inspection->inspection.next(max_coins, step); });
}

void cdb_coin_log_inspect_end(cdb_coin_log_inspection *inspection) { delete inspection; }

void cdb_coin_log_name(const uint8_t *confirms, size_t n, uint8_t *names) {
  cdb::name_coins(confirms, n, names);
}
