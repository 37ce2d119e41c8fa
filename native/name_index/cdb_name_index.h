/*
 * The face of a name index: a durable map from coin names to row ids, in one space of an ordered
 * engine (cdb_ordered_kv.h).
 *
 * cffi and C++ read this very file, behind those of common/, so it holds plain
 * declarations and nothing that cffi cannot parse; a compiler gets it through
 * cdb_name_index_api.h.
 *
 * Conventions
 *
 * - A name is CDB_NAME_BYTES bytes. An array of n names is n * CDB_NAME_BYTES bytes
 *   without gaps. Row ids count from 1; 0 says that there is no such row.
 * - The watermark says how far the map reaches: it holds the names of rows 1 … rows,
 *   and no others. It moves in the same atomic step as the entries that it speaks of.
 * - A write that has returned survives power loss. Damage to the list of the map's runs costs a
 *   suffix of the writes: the watermark found on opening is one that was given, and it is true.
 * - Calls that can fail are as cdb_error.h says. A failed write leaves the map in doubt: close it
 *   and open it again.
 * - Threads: find may run in any number of threads, also beside one writer. All other
 *   calls come from one thread at a time. close comes last and alone.
 * - No call keeps a pointer that it was given.
 */

typedef struct {
  int32_t read_only;    /* nothing on disk changes, and writes give CDB_INVALID */
  uint64_t cache_bytes; /* of the engine's decoded blocks, shared by all readers of the map */
} cdb_name_index_options;

typedef struct {
  uint64_t rows;
  uint8_t tie[CDB_NAME_BYTES]; /* to what the rows are of, as its owner likes; zeros for 0 rows */
} cdb_watermark;

typedef struct cdb_name_index cdb_name_index;

/* The library that does the work, such as "RocksDB 7.8.3". Never freed. */
const char *cdb_name_index_version(void);

/* Open the map in the directory `path` (in the file system's own encoding), which must exist, and
   set *index, to be closed by the caller. Unless read_only, a map that is missing is created; the
   caller syncs the directory's parent. Ends a rewind that a crash has cut short, unless read_only,
   where find hides the names that the rewind would have erased. */
cdb_status cdb_name_index_open(const char *path, const cdb_name_index_options *options,
                               cdb_name_index **index, cdb_error *error);

/* Release everything, also when it fails. */
cdb_status cdb_name_index_close(cdb_name_index *index, cdb_error *error);

void cdb_name_index_covered(const cdb_name_index *index, cdb_watermark *covered);

/* Set rows[i] to the row id of names[i], or to 0 where it is absent or lies above the
   watermark. Any order; a name may be asked for more than once. */
cdb_status cdb_name_index_find(cdb_name_index *index, const uint8_t *names, size_t n,
                               uint64_t *rows, cdb_error *error);

/* Add the names of the n rows that follow on the watermark's, in the rows' order and each
   but once, and move the watermark to the last of them, in one atomic step. */
cdb_status cdb_name_index_put(cdb_name_index *index, const uint8_t *names, size_t n,
                              const cdb_watermark *covered, cdb_error *error);

/* Lower the watermark. The names above it are out of sight at once; the caller goes on
   to erase them all, in as many calls as it likes, and to end the rewind. Until then,
   put gives CDB_INVALID. */
cdb_status cdb_name_index_begin_rewind(cdb_name_index *index, const cdb_watermark *covered,
                                       cdb_error *error);

/* Erase n names, each but once, in one atomic step. Only within a rewind. */
cdb_status cdb_name_index_erase(cdb_name_index *index, const uint8_t *names, size_t n,
                                cdb_error *error);

cdb_status cdb_name_index_end_rewind(cdb_name_index *index, cdb_error *error);

/* Read all that the engine's files hold against their checksums. */
cdb_status cdb_name_index_verify(cdb_name_index *index, cdb_error *error);

/* Do all the compaction that is owed: find answers as before, from as few files as can be. It may
   need as much free space as the map takes. When it returns, all of it survives power loss. An
   engine that owes nothing does nothing. */
cdb_status cdb_name_index_settle(cdb_name_index *index, cdb_error *error);
