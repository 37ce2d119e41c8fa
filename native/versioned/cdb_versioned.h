/*
 * The face of a bench below the coin set: many versions of keys with values of any size, over one
 * layout's keys (layouts/) in one engine (engines/), and a model that every answer is held against.
 *
 * cffi and C++ read this very file, behind those of common/, so it holds plain declarations and
 * nothing that cffi cannot parse; a compiler gets it through cdb_versioned_api.h.
 *
 * Conventions
 *
 * - Calls that can fail are as cdb_error.h says. After a failed write only close follows.
 * - One call at a time. What is written or asked for is made ready by one call, and done by the
 *   next one, which is the one to be timed; its answer stays inside until it is checked.
 */

/* What is written: version 1 has all keys, and each one behind it a share of them, drawn anew.
   All of it follows from these numbers. A key is 32 bytes: what it is a key of, as "account_", and
   bytes of no pattern. */
typedef struct {
  uint64_t seed;
  uint32_t keys;
  uint32_t versions;
  uint32_t value_bytes;
  uint32_t period_bytes; /* after so many bytes a value repeats itself; 0: it does not */
  uint32_t rewritten_per_million;
} cdb_versioned_shape;

typedef struct {
  const char *layout; /* its name, and options: "mono_space,reads=published" */
  int32_t create;     /* make the database where there is none */
  uint64_t cache_bytes;
} cdb_versioned_options;

/* Rows that were held against the model: those of one question, or of one scan so far. */
typedef struct {
  uint64_t right;
  uint64_t wrong;         /* other values than the model's, absent ones, or twice the same row */
  uint32_t key;           /* of the first that is wrong: its place in the order of keys, */
  uint32_t right_version; /* the version that it should be (0: none), */
  uint32_t found_version; /* and the one whose value came instead (0: none at all) */
} cdb_versioned_checked;

typedef struct cdb_versioned cdb_versioned;

/* The library that does the work, such as "RocksDB 7.8.3". Never freed. */
const char *cdb_versioned_version(void);

/* Open the database in the directory `path`, which must exist, and set *db. CDB_INVALID: there is
   no such layout. */
cdb_status cdb_versioned_open(const char *path, const cdb_versioned_options *options,
                              const cdb_versioned_shape *shape, cdb_versioned **db,
                              cdb_error *error);

/* Release everything, also when it fails. */
cdb_status cdb_versioned_close(cdb_versioned *db, cdb_error *error);

/* How many rows all versions have, and one of them. */
cdb_status cdb_versioned_count(cdb_versioned *db, uint64_t *rows, cdb_error *error);

/* Make a version's keys and values, and set *rows; then write them in one atomic step that
   survives power loss. */
cdb_status cdb_versioned_prepare(cdb_versioned *db, uint32_t version, uint64_t *rows,
                                 cdb_error *error);
cdb_status cdb_versioned_commit(cdb_versioned *db, cdb_error *error);

/* Choose n keys, from the first one on of all keys in an order that scatters them, or as many that
   are not there; then get their values as of a version. */
cdb_status cdb_versioned_draw(cdb_versioned *db, uint32_t first, uint32_t n, int32_t are_absent,
                              cdb_error *error);
cdb_status cdb_versioned_get(cdb_versioned *db, uint32_t as_of, cdb_error *error);

/* Begin a scan of each key's value as of a version, or with as_of 0 of all versions of all keys. It
   ends the one before. Then set *n to how many rows came next: `most`, or 0 at the end. */
cdb_status cdb_versioned_scan(cdb_versioned *db, uint32_t as_of, cdb_error *error);
cdb_status cdb_versioned_next(cdb_versioned *db, uint32_t most, uint32_t *n, cdb_error *error);

/* Hold what came last against the model, and tell of all of the question's or scan's rows. */
cdb_status cdb_versioned_check(cdb_versioned *db, cdb_versioned_checked *checked, cdb_error *error);

/* Make all durable, with nothing left for the next opening; or do all the merging that is owed,
 * too. */
cdb_status cdb_versioned_checkpoint(cdb_versioned *db, cdb_error *error);
cdb_status cdb_versioned_settle(cdb_versioned *db, cdb_error *error);
