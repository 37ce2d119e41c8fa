// The functions of cdb_coin_set.h: what is thrown behind it becomes errors, and nothing else
// happens here.

#include "cdb_coin_set_api.h"

#include "common/c_face.h"
#include "database.h"

#include <algorithm>

using cdb::guarded;
using cdb::coin_set::CoinReader;
using cdb::coin_set::Cursor;
using cdb::coin_set::Database;

struct cdb_set {
  std::shared_ptr<Database> database;
};

struct cdb_set_cursor {
  explicit cdb_set_cursor(std::shared_ptr<Database> of) : database(std::move(of)) {}
  cdb_set_cursor(const cdb_set_cursor &) = delete;
  cdb_set_cursor &operator=(const cdb_set_cursor &) = delete;
  ~cdb_set_cursor() {
    if (blocks != nullptr) database->end(std::move(blocks));
  }

  std::shared_ptr<Database> database;
  std::unique_ptr<Cursor> blocks;
};

struct cdb_set_coins {
  explicit cdb_set_coins(std::shared_ptr<Database> of) : database(std::move(of)) {}
  cdb_set_coins(const cdb_set_coins &) = delete;
  cdb_set_coins &operator=(const cdb_set_coins &) = delete;
  ~cdb_set_coins() {
    if (reader != nullptr) database->end(std::move(reader));
  }

  std::shared_ptr<Database> database;
  std::unique_ptr<CoinReader> reader;
};

struct cdb_set_answer {
  std::vector<cdb_found_coin> coins;
};

const char *cdb_set_version(void) { return okv_version(); }

cdb_status cdb_set_open(const char *path, const cdb_set_options *options, cdb_set **set,
                        cdb_error *error) {
  return guarded(error, [=] { *set = new cdb_set{std::make_shared<Database>(path, *options)}; });
}

cdb_status cdb_set_end_reading(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->end_reading(); });
}

cdb_status cdb_set_close(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->close(); });
}

void cdb_set_release(cdb_set *set) { delete set; }

cdb_status cdb_set_get_state(cdb_set *set, cdb_set_state *state, cdb_error *error) {
  return guarded(error, [=] { *state = set->database->state(); });
}

cdb_status cdb_set_accept(cdb_set *set, const cdb_blocks *blocks, size_t *accepted,
                          cdb_error *error) {
  return guarded(error, [=] { *accepted = set->database->accept({*blocks}); });
}

cdb_status cdb_set_commit(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->commit(); });
}

cdb_status cdb_set_checkpoint(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->checkpoint(); });
}

cdb_status cdb_set_settle(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->settle(); });
}

cdb_status cdb_set_verify(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->verify(); });
}

cdb_status cdb_set_find(cdb_set *set, const uint8_t *names, size_t n, cdb_coin_info *infos,
                        uint8_t *found, cdb_error *error) {
  return guarded(error, [=] { set->database->find(names, n, infos, found); });
}

cdb_status cdb_set_find_as_of(cdb_set *set, const uint8_t *names, size_t n, int64_t height,
                              cdb_coin_info *infos, uint8_t *found, cdb_error *error) {
  return guarded(error, [=] { set->database->find_as_of(names, n, height, infos, found); });
}

cdb_status cdb_set_state_open(cdb_set *set, int64_t height, int32_t unspent, cdb_set_coins **coins,
                              cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_set_coins>(set->database);
    opened->reader = set->database->read_state(height, unspent != 0);
    *coins = opened.release();
  });
}

cdb_status cdb_set_versions_open(cdb_set *set, int64_t first, int64_t last, cdb_set_coins **coins,
                                 cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_set_coins>(set->database);
    opened->reader = set->database->read_versions(first, last);
    *coins = opened.release();
  });
}

cdb_status cdb_set_coins_next(cdb_set_coins *coins, size_t most, uint8_t *names,
                              cdb_coin_info *infos, size_t *n, int32_t *is_over, cdb_error *error) {
  return guarded(error, [=] {
    const std::optional<size_t> given =
        coins->database->next(coins->reader.get(), most, names, infos);
    *n = given.value_or(0);
    *is_over = given.has_value() ? 0 : 1;
  });
}

void cdb_set_coins_close(cdb_set_coins *coins) { delete coins; }

cdb_status cdb_set_ask(cdb_set *set, const cdb_query *query, const uint8_t *values, size_t n,
                       size_t *n_coins, cdb_set_answer **answer, cdb_error *error) {
  return guarded(error, [=] {
    auto found = std::make_unique<cdb_set_answer>();
    found->coins = set->database->ask(*query, values, n);
    *n_coins = found->coins.size();
    *answer = found.release();
  });
}

void cdb_set_answer_take(const cdb_set_answer *answer, cdb_found_coin *coins) {
  std::copy(answer->coins.begin(), answer->coins.end(), coins);
}

void cdb_set_answer_end(cdb_set_answer *answer) { delete answer; }

cdb_status cdb_set_make_keys(cdb_set *set, uint64_t max_coins, uint64_t *coins, int32_t *are_made,
                             cdb_error *error) {
  return guarded(error, [=] {
    bool is_done = false;
    *coins = set->database->make_keys(max_coins, &is_done);
    *are_made = is_done ? 1 : 0;
  });
}

cdb_status cdb_set_sum_blocks(cdb_set *set, uint64_t max_coins, cdb_set_key_sum *sum,
                              cdb_error *error) {
  return guarded(error, [=] { set->database->sum_blocks(max_coins, sum); });
}

cdb_status cdb_set_sum_keys(cdb_set *set, cdb_set_key_sum *sum, cdb_error *error) {
  return guarded(error, [=] { set->database->sum_keys(sum); });
}

cdb_status cdb_set_cursor_open(cdb_set *set, uint32_t first, uint32_t last, cdb_set_cursor **cursor,
                               cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_set_cursor>(set->database);
    opened->blocks = set->database->read(first, last);
    *cursor = opened.release();
  });
}

cdb_status cdb_set_rewound_open(cdb_set *set, uint64_t first, cdb_set_cursor **cursor,
                                cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_set_cursor>(set->database);
    opened->blocks = set->database->read_rewound(first);
    *cursor = opened.release();
  });
}

cdb_status cdb_set_cursor_next(cdb_set_cursor *cursor, cdb_set_block *block, int32_t *found,
                               cdb_error *error) {
  return guarded(error,
                 [=] { *found = cursor->database->next(cursor->blocks.get(), block) ? 1 : 0; });
}

void cdb_set_cursor_close(cdb_set_cursor *cursor) { delete cursor; }

cdb_status cdb_set_begin_rewind(cdb_set *set, int64_t newest, cdb_error *error) {
  return guarded(error, [=] { set->database->begin_rewind(newest); });
}

cdb_status cdb_set_erase(cdb_set *set, const cdb_blocks *blocks, cdb_error *error) {
  return guarded(error, [=] { set->database->erase({*blocks}); });
}

cdb_status cdb_set_end_rewind(cdb_set *set, cdb_error *error) {
  return guarded(error, [=] { set->database->end_rewind(); });
}
