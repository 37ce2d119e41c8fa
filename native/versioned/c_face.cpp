// The functions of cdb_versioned.h: what is thrown behind it becomes errors, and nothing else
// happens here.

#include "cdb_versioned_api.h"

#include "common/c_face.h"
#include "database.h"

#include <memory>

using cdb::guarded;
using cdb::versioned::Database;

struct cdb_versioned : Database {
  using Database::Database;
};

const char *cdb_versioned_version(void) { return okv_version(); }

cdb_status cdb_versioned_open(const char *path, const cdb_versioned_options *options,
                              const cdb_versioned_shape *shape, cdb_versioned **db,
                              cdb_error *error) {
  return guarded(error, [=] { *db = new cdb_versioned(path, *options, *shape); });
}

cdb_status cdb_versioned_close(cdb_versioned *db, cdb_error *error) {
  return guarded(error, [=] {
    const std::unique_ptr<cdb_versioned> closed(db);
    closed->close();
  });
}

cdb_status cdb_versioned_count(cdb_versioned *db, uint64_t *rows, cdb_error *error) {
  return guarded(error, [=] { *rows = db->count(); });
}

cdb_status cdb_versioned_prepare(cdb_versioned *db, uint32_t version, uint64_t *rows,
                                 cdb_error *error) {
  return guarded(error, [=] { *rows = db->prepare(version); });
}

cdb_status cdb_versioned_commit(cdb_versioned *db, cdb_error *error) {
  return guarded(error, [=] { db->commit(); });
}

cdb_status cdb_versioned_draw(cdb_versioned *db, uint32_t first, uint32_t n, int32_t are_absent,
                              cdb_error *error) {
  return guarded(error, [=] { db->draw(first, n, are_absent != 0); });
}

cdb_status cdb_versioned_get(cdb_versioned *db, uint32_t as_of, cdb_error *error) {
  return guarded(error, [=] { db->get(as_of); });
}

cdb_status cdb_versioned_scan(cdb_versioned *db, uint32_t as_of, cdb_error *error) {
  return guarded(error, [=] { db->scan(as_of); });
}

cdb_status cdb_versioned_next(cdb_versioned *db, uint32_t most, uint32_t *n, cdb_error *error) {
  return guarded(error, [=] { *n = db->next(most); });
}

cdb_status cdb_versioned_check(cdb_versioned *db, cdb_versioned_checked *checked,
                               cdb_error *error) {
  return guarded(error, [=] { *checked = db->check(); });
}

cdb_status cdb_versioned_checkpoint(cdb_versioned *db, cdb_error *error) {
  return guarded(error, [=] { db->checkpoint(); });
}

cdb_status cdb_versioned_settle(cdb_versioned *db, cdb_error *error) {
  return guarded(error, [=] { db->settle(); });
}
