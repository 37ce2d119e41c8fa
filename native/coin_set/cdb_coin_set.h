/*
 * The face of a coin set: coins and blocks over one layout (layouts/) in one engine (engines/).
 *
 * cffi and C++ read this very file, behind those of common/, so it holds plain
 * declarations and nothing that cffi cannot parse; a compiler gets it through cdb_coin_set_api.h.
 *
 * Conventions
 *
 * - A name is CDB_NAME_BYTES bytes; a confirm is CDB_CONFIRM_BYTES: parent's name (32),
 *   puzzle hash (32), amount (8, big endian). Arrays of them have no gaps.
 * - Calls that can fail are as cdb_error.h says. A failed write leaves the database in doubt: close
 * it and open it again.
 * - Threads: accept, commit, checkpoint, settle, begin_rewind, erase, end_rewind, make_keys and
 *   close write: one of them at a time. The others are for any number of threads at once, beside
 * the one that writes. Each sees the state of one moment, with whole blocks, and waits only while a
 * state changes hands: for no sync, no compaction and no other reader. On one cursor one call at a
 *   time.
 * - No call keeps a pointer that it was given.
 */

typedef struct {
  const char *layout;      /* one of layouts/, and its options: "mono_space,payload=inline" */
  int32_t create;          /* make the database where there is none */
  int32_t read_only;       /* nothing on disk changes, and writes give CDB_INVALID */
  int32_t sync;            /* commits survive power loss; else the death of the process */
  uint64_t cache_bytes;    /* of the engine's decoded blocks */
  uint64_t memory_bytes;   /* that the process may have; 0: nobody knows */
  uint64_t commit_entries; /* coins in memory: at so many, accept commits and indexes them */
  uint64_t ingest_entries; /* coins + spends: from so many on, a write is by sorted runs */
  int32_t keys;            /* 1: the database has secondary keys, which make_keys gives it, and
                              every writer keeps. 2: they are to be made anew. 0: it has none */
  uint32_t name_bits;      /* 1 … 64: of a hash, those that new secondary keys tell apart */
} cdb_set_options;

/* One block; the arrays belong to the cursor that gave it. */
typedef struct {
  uint32_t index;
  uint64_t timestamp;
  size_t n_spends;
  size_t n_confirms;
  const uint8_t *spends;
  const uint8_t *confirms;
} cdb_set_block;

typedef struct {
  int64_t newest;       /* index of the newest block; -1 in an empty database */
  int64_t committed;    /* of the newest committed block */
  uint64_t sequence;    /* the engine's: it never falls while the database lives */
  uint64_t ingestions;  /* writes by sorted runs since the database was opened */
  int32_t is_rewinding; /* a crash or the caller has not ended a rewind yet */
  uint64_t probes;      /* since the opening, places of tables in memory that were looked at */
  int32_t keys;         /* 2: it has secondary keys. 1: they are not made yet. 0: it has none, or
                           nobody asked */
  uint64_t key_entries; /* since the opening, entries of secondary keys that queries looked at, */
  uint64_t query_coins; /* and coins that they read */
} cdb_set_state;

/* What the entries of secondary keys come to, up to the newest block that is indexed. */
typedef struct {
  uint64_t sum;   /* the same for the same entries, in any order */
  int64_t next;   /* of the sum over blocks: the index to go on from; -1 at the end */
  uint64_t coins; /* that the last call went over */
} cdb_set_key_sum;

typedef struct cdb_set cdb_set;
typedef struct cdb_set_cursor cdb_set_cursor;
typedef struct cdb_set_answer cdb_set_answer;
typedef struct cdb_set_coins cdb_set_coins;

/* The library that does the work, such as "RocksDB 7.8.3". Never freed. */
const char *cdb_set_version(void);

/* Open the database in the directory `path` (in the file system's own encoding), which must
   exist, and set *set, to be closed by the caller. Coins that a process had in memory when it was
   killed are named again, a second for 3,000,000. CDB_LOCKED, read_only: a writer changed it just
   now. */
cdb_status cdb_set_open(const char *path, const cdb_set_options *options, cdb_set **set,
                        cdb_error *error);

/* End all cursors and coins, and let go of what they hold: calls on them fail with CDB_CLOSED, and
   none can be opened any more. It comes before the last commit of who is about to close. */
cdb_status cdb_set_end_reading(cdb_set *set, cdb_error *error);

/* Close all files, also when it fails. What is not committed is lost. A write that has failed is
   not told again. All other calls fail with CDB_CLOSED from then on, those of cursors, too. A
   second one does nothing. */
cdb_status cdb_set_close(cdb_set *set, cdb_error *error);

/* Free the handle, which was closed, when nobody is going to use it any more. */
void cdb_set_release(cdb_set *set);

cdb_status cdb_set_get_state(cdb_set *set, cdb_set_state *state, cdb_error *error);

/* Accept blocks in order, and set *accepted to how many: where it is less than n, block
   *accepted breaks a rule, and neither it nor any after it was applied. Reads see accepted
   blocks at once; a crash can cost those that are not committed. */
cdb_status cdb_set_accept(cdb_set *set, const cdb_blocks *blocks, size_t *accepted,
                          cdb_error *error);

/* Make all accepted blocks durable, in one atomic step. */
cdb_status cdb_set_commit(cdb_set *set, cdb_error *error);

/* Commit, index, and leave nothing that the next opening has to do again. */
cdb_status cdb_set_checkpoint(cdb_set *set, cdb_error *error);

/* Do the same, and all the compaction that is owed: reads answer as before, from as few files as
   can be. It may need as much free space as the database takes. When it returns, all of it survives
   power loss. */
cdb_status cdb_set_settle(cdb_set *set, cdb_error *error);

/* Hold every block of every table against its checksum. */
cdb_status cdb_set_verify(cdb_set *set, cdb_error *error);

/* Look up names, in any order and repeated at will. found[i] is 1 and infos[i] is set where there
   is such a coin; where there is none, found[i] is 0 and infos[i] is as it was. */
cdb_status cdb_set_find(cdb_set *set, const uint8_t *names, size_t n, cdb_coin_info *infos,
                        uint8_t *found, cdb_error *error);

/* The same as of a height: of a copy that was rewound to it. Any height will do. */
cdb_status cdb_set_find_as_of(cdb_set *set, const uint8_t *names, size_t n, int64_t height,
                              cdb_coin_info *infos, uint8_t *found, cdb_error *error);

/* All coins as of a height, each once, of this moment, whatever is written later; with unspent
   those that are unspent then. By name, as the layout has them; then those that are in memory, as
   their blocks have them. */
cdb_status cdb_set_state_open(cdb_set *set, int64_t height, int32_t unspent, cdb_set_coins **coins,
                              cdb_error *error);

/* What each of the blocks first … last leaves of each coin that it confirms or spends, of this
   moment: by the block's index, then by name. */
cdb_status cdb_set_versions_open(cdb_set *set, int64_t first, int64_t last, cdb_set_coins **coins,
                                 cdb_error *error);

/* Set the names and infos of the next coins, at most so many, and *n to how many. It goes over
   about as many entries, wanted or not, so that nobody waits for long: *n may be 0 before *is_over
   is 1. One call at a time. */
cdb_status cdb_set_coins_next(cdb_set_coins *coins, size_t most, uint8_t *names,
                              cdb_coin_info *infos, size_t *n, int32_t *is_over, cdb_error *error);

void cdb_set_coins_close(cdb_set_coins *coins);

/* The coins that are asked for, each once, in their order: by the block's index and then by name.
   values: n of 32 bytes, of the query's key; none without one. The database must have secondary
   keys. Set *n_coins to how many there are. */
cdb_status cdb_set_ask(cdb_set *set, const cdb_query *query, const uint8_t *values, size_t n,
                       size_t *n_coins, cdb_set_answer **answer, cdb_error *error);

/* Copy them all. */
void cdb_set_answer_take(const cdb_set_answer *answer, cdb_found_coin *coins);

void cdb_set_answer_end(cdb_set_answer *answer);

/* Make secondary keys of the next blocks, of about so many coins, in one atomic step; set *coins to
   how many it were, and *are_made to whether these were the last. After a crash it goes on where it
   was. */
cdb_status cdb_set_make_keys(cdb_set *set, uint64_t max_coins, uint64_t *coins, int32_t *are_made,
                             cdb_error *error);

/* Add what the blocks from sum->next on, of about so many coins, make of entries. */
cdb_status cdb_set_sum_blocks(cdb_set *set, uint64_t max_coins, cdb_set_key_sum *sum,
                              cdb_error *error);

/* Add the entries that there are. */
cdb_status cdb_set_sum_keys(cdb_set *set, cdb_set_key_sum *sum, cdb_error *error);

/* A cursor over the blocks first … last of this moment, whatever is written later. */
cdb_status cdb_set_cursor_open(cdb_set *set, uint32_t first, uint32_t last, cdb_set_cursor **cursor,
                               cdb_error *error);

/* Within a rewind, for the one who writes: a cursor over the blocks that are to be erased, from an
   index on. */
cdb_status cdb_set_rewound_open(cdb_set *set, uint64_t first, cdb_set_cursor **cursor,
                                cdb_error *error);

/* Set *block to the next block, good until the next call with this cursor, and *found to 1; to
   0 at the end. */
cdb_status cdb_set_cursor_next(cdb_set_cursor *cursor, cdb_set_block *block, int32_t *found,
                               cdb_error *error);

void cdb_set_cursor_close(cdb_set_cursor *cursor);

/* Begin a rewind: from here on, also after a crash, no read but a cursor sees anything of the
   blocks above `newest`, which may be -1. It commits and indexes first. The caller goes on to
   erase them all and ends the rewind; until then accept gives CDB_INVALID. */
cdb_status cdb_set_begin_rewind(cdb_set *set, int64_t newest, cdb_error *error);

/* Erase whole blocks above the rewind's target, any of them, in one atomic step. */
cdb_status cdb_set_erase(cdb_set *set, const cdb_blocks *blocks, cdb_error *error);

cdb_status cdb_set_end_rewind(cdb_set *set, cdb_error *error);
