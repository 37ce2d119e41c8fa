// The functions of cdb_rocks_kv.h: statuses and exceptions become its own, and nothing else happens
// here.

#include "cdb_rocks_kv_api.h"

#include "database.h"
#include "rocksdb/common.h"

#include <cstdlib>

using cdb::rocks_kv::Cursor;
using cdb::rocks_kv::Database;
using rocksdb::Status;

struct cdb_kv {
  std::shared_ptr<Database> database;
};

struct cdb_kv_cursor {
  std::shared_ptr<Database> database;
  std::unique_ptr<Cursor> blocks;
};

namespace {

cdb::Blocks view(const cdb_kv_blocks &blocks) {
  return {blocks.n_blocks,     blocks.indices, blocks.timestamps, blocks.spend_ends,
          blocks.confirm_ends, blocks.spends,  blocks.confirms,   blocks.names};
}

}  // namespace

const char *cdb_kv_version(void) {
  static const std::string version = "RocksDB " + rocksdb::GetRocksVersionAsString();
  return version.c_str();
}

cdb_status cdb_kv_open(const char *path, const cdb_kv_options *options, cdb_kv **kv, char **error) {
  return guarded(error, [=] {
    std::unique_ptr<Database> opened;
    const Status status = Database::open(path, *options, &opened);
    if (status.ok()) *kv = new cdb_kv{std::move(opened)};
    return status;
  });
}

cdb_status cdb_kv_close(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->database->close(); });
}

void cdb_kv_release(cdb_kv *kv) { delete kv; }

cdb_status cdb_kv_get_state(cdb_kv *kv, cdb_kv_state *state, char **error) {
  return guarded(error, [=] { return kv->database->state(state); });
}

cdb_status cdb_kv_accept(cdb_kv *kv, const cdb_kv_blocks *blocks, size_t *accepted, char **error) {
  return guarded(error, [=] { return kv->database->accept(view(*blocks), accepted); });
}

cdb_status cdb_kv_commit(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->database->commit(); });
}

cdb_status cdb_kv_checkpoint(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->database->checkpoint(); });
}

cdb_status cdb_kv_settle(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->database->settle(); });
}

cdb_status cdb_kv_verify(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->database->verify(); });
}

cdb_status cdb_kv_find(cdb_kv *kv, const uint8_t *names, size_t n, cdb_kv_info *infos,
                       uint8_t *found, char **error) {
  return guarded(error, [=] { return kv->database->find(names, n, infos, found); });
}

cdb_status cdb_kv_cursor_open(cdb_kv *kv, uint32_t first, uint32_t last, cdb_kv_cursor **cursor,
                              char **error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<cdb_kv_cursor>();
    opened->database = kv->database;
    const Status status = kv->database->read(first, last, &opened->blocks);
    if (status.ok()) *cursor = opened.release();
    return status;
  });
}

cdb_status cdb_kv_cursor_next(cdb_kv_cursor *cursor, cdb_kv_block *block, int32_t *found,
                              char **error) {
  return guarded(error, [=] {
    bool is_found = false;
    const Status status = cursor->database->next(cursor->blocks.get(), block, &is_found);
    *found = is_found ? 1 : 0;
    return status;
  });
}

void cdb_kv_cursor_close(cdb_kv_cursor *cursor) {
  const std::unique_ptr<cdb_kv_cursor> owned(cursor);
  owned->database->end(std::move(owned->blocks));
}

cdb_status cdb_kv_begin_rewind(cdb_kv *kv, int64_t newest, char **error) {
  return guarded(error, [=] { return kv->database->begin_rewind(newest); });
}

cdb_status cdb_kv_erase(cdb_kv *kv, const cdb_kv_blocks *blocks, char **error) {
  return guarded(error, [=] { return kv->database->erase(view(*blocks)); });
}

cdb_status cdb_kv_end_rewind(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->database->end_rewind(); });
}

void cdb_kv_free(char *error) { std::free(error); }
