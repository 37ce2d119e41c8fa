/*
 * The face of rocks_kv: a coin database that is RocksDB and nothing else.
 *
 * cffi and C++ read this very file, so it holds plain declarations and nothing that
 * cffi cannot parse; a compiler gets it through cdb_rocks_kv_api.h.
 *
 * Conventions
 *
 * - A name is CDB_NAME_BYTES bytes; a confirm is CDB_CONFIRM_BYTES: parent's name (32),
 *   puzzle hash (32), amount (8, big endian). Arrays of them have no gaps.
 * - A call that fails returns another status than CDB_OK and sets *error to a message
 *   (null-terminated, never null unless memory ran out) that the caller frees with
 *   cdb_kv_free. After CDB_OK, *error is as it was. A failed write leaves the database in
 *   doubt: close it and open it again.
 * - Threads: accept, commit, checkpoint, settle, begin_rewind, erase, end_rewind and close write:
 *   one of them at a time. The others are for any number of threads at once, beside the one that
 *   writes. Each sees the state of one moment, with whole blocks, and waits only while a state
 *   changes hands: for no sync, no compaction and no other reader. On one cursor one call at a
 *   time.
 * - No call keeps a pointer that it was given.
 */

#define CDB_NAME_BYTES 32
#define CDB_CONFIRM_BYTES 72

typedef enum {
  CDB_OK = 0,
  CDB_NOT_FOUND, /* open: nothing is there, and it may not be created */
  CDB_FOREIGN,   /* open: of a version of RocksDB that this one cannot read */
  CDB_LOCKED,    /* open: somebody has it open for writing; read_only: and changed it just now */
  CDB_CORRUPT,   /* damage was found; nothing wrong was returned */
  CDB_NO_SPACE,  /* the disk is full */
  CDB_IO,        /* the operating system refused a read or a write */
  CDB_CLOSED,    /* closed, or in doubt: open it again */
  CDB_INVALID,   /* the caller broke this contract */
  CDB_NO_MEMORY,
  CDB_FAILED /* anything else */
} cdb_status;

typedef struct {
  int32_t create;          /* make the database where there is none */
  int32_t read_only;       /* nothing on disk changes, and writes give CDB_INVALID */
  int32_t sync;            /* commits survive power loss; else the death of the process */
  uint64_t cache_bytes;    /* of RocksDB's blocks */
  uint64_t commit_entries; /* coins in memory: at so many, accept commits and indexes them */
  uint64_t ingest_entries; /* coins + spends: from so many on, a write is by sorted runs */
} cdb_kv_options;

/* Blocks as cdb.packed has them: block i has the spends spend_ends[i-1] … spend_ends[i]-1,
   sorted by name, and the confirms likewise, in canonical order, with their names. */
typedef struct {
  size_t n_blocks;
  const uint64_t *indices;
  const uint64_t *timestamps;
  const uint64_t *spend_ends;
  const uint64_t *confirm_ends;
  const uint8_t *spends;
  const uint8_t *confirms;
  const uint8_t *names;
} cdb_kv_blocks;

/* One block; the arrays belong to the cursor that gave it. */
typedef struct {
  uint32_t index;
  uint64_t timestamp;
  size_t n_spends;
  size_t n_confirms;
  const uint8_t *spends;
  const uint8_t *confirms;
} cdb_kv_block;

typedef struct {
  int64_t newest;       /* index of the newest block; -1 in an empty database */
  int64_t committed;    /* of the newest committed block */
  uint64_t sequence;    /* RocksDB's: it never falls while the database lives */
  uint64_t ingestions;  /* writes by sorted runs since the database was opened */
  int32_t is_rewinding; /* a crash or the caller has not ended a rewind yet */
  uint64_t probes;      /* since the opening, places of tables in memory that were looked at */
} cdb_kv_state;

/* What is known of a coin; numbers in the machine's byte order. */
typedef struct {
  uint8_t parent[32];
  uint8_t puzzle_hash[32];
  uint64_t amount;
  uint32_t confirmed_index;
  uint32_t spent_index; /* 0: unspent */
} cdb_kv_info;

typedef struct cdb_kv cdb_kv;
typedef struct cdb_kv_cursor cdb_kv_cursor;

/* The library that does the work, such as "RocksDB 7.8.3". Never freed. */
const char *cdb_kv_version(void);

/* Open the database in the directory `path` (in the file system's own encoding), which must
   exist, and set *kv, to be closed by the caller. Coins that a process had in memory when it was
   killed are named again, a second for 3,000,000. */
cdb_status cdb_kv_open(const char *path, const cdb_kv_options *options, cdb_kv **kv, char **error);

/* Close all files, also when it fails. What is not committed is lost. A write that has failed is
   not told again. All other calls fail with CDB_CLOSED from then on, those of cursors, too. A
   second one does nothing. */
cdb_status cdb_kv_close(cdb_kv *kv, char **error);

/* Free the handle, which was closed, when nobody is going to use it any more. */
void cdb_kv_release(cdb_kv *kv);

cdb_status cdb_kv_get_state(cdb_kv *kv, cdb_kv_state *state, char **error);

/* Accept blocks in order, and set *accepted to how many: where it is less than n_blocks, block
   *accepted breaks a rule, and neither it nor any after it was applied. Reads see accepted
   blocks at once; a crash can cost those that are not committed. */
cdb_status cdb_kv_accept(cdb_kv *kv, const cdb_kv_blocks *blocks, size_t *accepted, char **error);

/* Make all accepted blocks durable, in one atomic step. */
cdb_status cdb_kv_commit(cdb_kv *kv, char **error);

/* Commit, index, and leave nothing in RocksDB's write-ahead log. */
cdb_status cdb_kv_checkpoint(cdb_kv *kv, char **error);

/* Do the same, and all the compaction that is owed: reads answer as before, from as few files as
   can be. It may need as much free space as the database takes. When it returns, all of it survives
   power loss. */
cdb_status cdb_kv_settle(cdb_kv *kv, char **error);

/* Hold every block of every table against its checksum. */
cdb_status cdb_kv_verify(cdb_kv *kv, char **error);

/* Look up names, in any order and repeated at will. found[i] is 1 and infos[i] is set where there
   is such a coin; where there is none, found[i] is 0 and infos[i] is as it was. */
cdb_status cdb_kv_find(cdb_kv *kv, const uint8_t *names, size_t n, cdb_kv_info *infos,
                       uint8_t *found, char **error);

/* A cursor over the blocks first … last of this moment, whatever is written later. Within a rewind
   one that begins above its target is over those that are to be erased. */
cdb_status cdb_kv_cursor_open(cdb_kv *kv, uint32_t first, uint32_t last, cdb_kv_cursor **cursor,
                              char **error);

/* Set *block to the next block, good until the next call with this cursor, and *found to 1; to
   0 at the end. */
cdb_status cdb_kv_cursor_next(cdb_kv_cursor *cursor, cdb_kv_block *block, int32_t *found,
                              char **error);

void cdb_kv_cursor_close(cdb_kv_cursor *cursor);

/* Begin a rewind: from here on, also after a crash, no read but a cursor sees anything of the
   blocks above `newest`, which may be -1. It commits and indexes first. The caller goes on to
   erase them all and ends the rewind; until then accept gives CDB_INVALID. */
cdb_status cdb_kv_begin_rewind(cdb_kv *kv, int64_t newest, char **error);

/* Erase whole blocks above the rewind's target, any of them, in one atomic step. */
cdb_status cdb_kv_erase(cdb_kv *kv, const cdb_kv_blocks *blocks, char **error);

cdb_status cdb_kv_end_rewind(cdb_kv *kv, char **error);

/* Free a message; null is fine. */
void cdb_kv_free(char *error);
