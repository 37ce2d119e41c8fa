// The functions of cdb_rocks_kv.h: RocksDB's statuses and exceptions become errors, and nothing
// else happens here.

#include "cdb_rocks_kv_api.h"

#include "common/c_face.h"
#include "database.h"
#include "rocksdb/common.h"

using cdb::guarded;
using cdb::rocks_kv::Cursor;
using cdb::rocks_kv::Database;

struct cdb_kv {
  std::shared_ptr<Database> database;
};

struct cdb_kv_cursor {
  explicit cdb_kv_cursor(std::shared_ptr<Database> of) : database(std::move(of)) {}
  cdb_kv_cursor(const cdb_kv_cursor &) = delete;
  cdb_kv_cursor &operator=(const cdb_kv_cursor &) = delete;
  ~cdb_kv_cursor() {
    if (blocks != nullptr) database->end(std::move(blocks));
  }

  std::shared_ptr<Database> database;
  std::unique_ptr<Cursor> blocks;
};

const char *cdb_kv_version(void) {
  static const std::string version = "RocksDB " + rocksdb::GetRocksVersionAsString();
  return version.c_str();
}

cdb_status cdb_kv_open(const char *path, const cdb_kv_options *options, cdb_kv **kv,
                       cdb_error *error) {
  return guarded(error, [=] {
    std::unique_ptr<Database> opened;
    check(Database::open(path, *options, &opened));
    *kv = new cdb_kv{std::move(opened)};
  });
}

cdb_status cdb_kv_close(cdb_kv *kv, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->close()); });
}

void cdb_kv_release(cdb_kv *kv) { delete kv; }

cdb_status cdb_kv_get_state(cdb_kv *kv, cdb_kv_state *state, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->state(state)); });
}

cdb_status cdb_kv_accept(cdb_kv *kv, const cdb_blocks *blocks, size_t *accepted, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->accept({*blocks}, accepted)); });
}

cdb_status cdb_kv_commit(cdb_kv *kv, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->commit()); });
}

cdb_status cdb_kv_checkpoint(cdb_kv *kv, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->checkpoint()); });
}

cdb_status cdb_kv_settle(cdb_kv *kv, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->settle()); });
}

cdb_status cdb_kv_verify(cdb_kv *kv, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->verify()); });
}

cdb_status cdb_kv_find(cdb_kv *kv, const uint8_t *names, size_t n, cdb_kv_info *infos,
                       uint8_t *found, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->find(names, n, infos, found)); });
}

cdb_status cdb_kv_cursor_open(cdb_kv *kv, uint32_t first, uint32_t last, cdb_kv_cursor **cursor,
                              cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_kv_cursor>(kv->database);
    check(kv->database->read(first, last, &opened->blocks));
    *cursor = opened.release();
  });
}

cdb_status cdb_kv_rewound_open(cdb_kv *kv, cdb_kv_cursor **cursor, cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_kv_cursor>(kv->database);
    check(kv->database->read_rewound(&opened->blocks));
    *cursor = opened.release();
  });
}

cdb_status cdb_kv_cursor_next(cdb_kv_cursor *cursor, cdb_kv_block *block, int32_t *found,
                              cdb_error *error) {
  return guarded(error, [=] {
    bool is_found = false;
    check(cursor->database->next(cursor->blocks.get(), block, &is_found));
    *found = is_found ? 1 : 0;
  });
}

void cdb_kv_cursor_close(cdb_kv_cursor *cursor) { delete cursor; }

cdb_status cdb_kv_begin_rewind(cdb_kv *kv, int64_t newest, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->begin_rewind(newest)); });
}

cdb_status cdb_kv_erase(cdb_kv *kv, const cdb_blocks *blocks, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->erase({*blocks})); });
}

cdb_status cdb_kv_end_rewind(cdb_kv *kv, cdb_error *error) {
  return guarded(error, [=] { check(kv->database->end_rewind()); });
}
