/*
 * The face of a storage engine: a durable map from coin names to row ids.
 *
 * cffi and C++ read this very file, behind those of common/, so it holds plain
 * declarations and nothing that cffi cannot parse; a compiler gets it through
 * cdb_engine_api.h. Each engine is one extension module that implements all of it.
 *
 * Conventions
 *
 * - A name is CDB_NAME_BYTES bytes. An array of n names is n * CDB_NAME_BYTES bytes
 *   without gaps. Row ids count from 1; 0 says that there is no such row.
 * - The watermark says how far the map reaches: it holds the names of rows 1 … rows,
 *   and no others. It moves in the same atomic step as the entries that it speaks of.
 * - What a crash costs is always a suffix of the writes, however many calls were made:
 *   the watermark found on opening is one that was given, and it is true.
 * - Calls that can fail are as cdb_error.h says. A failed write leaves the map in doubt: close it
 *   and open it again.
 * - Threads: find may run in any number of threads, also beside one writer. All other
 *   calls come from one thread at a time. close comes last and alone.
 * - No call keeps a pointer that it was given.
 */

#define CDB_NAME_BYTES 32

/* What a write that has returned survives. A map is written with one of these from its
   opening to its closing: mixed, a crash could cost writes from the middle. */
typedef enum {
  CDB_LOG_OFF = 0, /* closing or flush; a crash costs what came after the last one */
  CDB_LOG_ON,      /* the death of the process */
  CDB_LOG_SYNC     /* power loss */
} cdb_log;

typedef struct {
  int32_t read_only; /* nothing on disk changes, and writes give CDB_INVALID */
  cdb_log log;
  uint64_t cache_bytes;  /* of decoded blocks, shared by all readers of the map */
  uint64_t buffer_bytes; /* of writes held in memory before they go to a file */
} cdb_options;

typedef struct {
  uint64_t rows;
  uint8_t last_name[CDB_NAME_BYTES]; /* of row `rows`; zeros while rows is 0 */
} cdb_watermark;

typedef struct cdb_engine cdb_engine;

/* The library that does the work, such as "RocksDB 7.8.3". Never freed. */
const char *cdb_engine_version(void);

/* Open the map in the directory `path` (in the file system's own encoding) and set
   *engine, to be closed by the caller. Unless read_only, a map that is missing is created;
   its directory must exist, and the caller syncs that one's parent. Ends a rewind that a crash has
   cut short, unless read_only, where find hides the names that the rewind would have erased. */
cdb_status cdb_engine_open(const char *path, const cdb_options *options, cdb_engine **engine,
                           cdb_error *error);

/* Flush, and release everything, also when it fails. */
cdb_status cdb_engine_close(cdb_engine *engine, cdb_error *error);

void cdb_engine_covered(const cdb_engine *engine, cdb_watermark *covered);

/* Set rows[i] to the row id of names[i], or to 0 where it is absent or lies above the
   watermark. Any order; a name may be asked for more than once. */
cdb_status cdb_engine_find(cdb_engine *engine, const uint8_t *names, size_t n, uint64_t *rows,
                           cdb_error *error);

/* Add the names of the n rows that follow on the watermark's, in the rows' order and each
   but once, and move the watermark to the last of them, in one atomic step. */
cdb_status cdb_engine_put(cdb_engine *engine, const uint8_t *names, size_t n,
                          const cdb_watermark *covered, cdb_error *error);

/* Lower the watermark. The names above it are out of sight at once; the caller goes on
   to erase them all, in as many calls as it likes, and to end the rewind. Until then,
   put gives CDB_INVALID. */
cdb_status cdb_engine_begin_rewind(cdb_engine *engine, const cdb_watermark *covered,
                                   cdb_error *error);

/* Erase n names, in one atomic step. Only within a rewind. */
cdb_status cdb_engine_erase(cdb_engine *engine, const uint8_t *names, size_t n, cdb_error *error);

cdb_status cdb_engine_end_rewind(cdb_engine *engine, cdb_error *error);

/* When it returns, everything written so far survives power loss. */
cdb_status cdb_engine_flush(cdb_engine *engine, cdb_error *error);

/* Flush, and do all the compaction that is owed: find answers as before, from as few files as
   can be. It may need as much free space as the map takes. When it returns, all of it survives
   power loss. An engine that owes nothing does nothing. */
cdb_status cdb_engine_settle(cdb_engine *engine, cdb_error *error);
