/*
 * The face of the coin log: a coin database that is one append-only log of blocks, with
 * everything else derived from it. docs/schemas/coin_log.md draws the files.
 *
 * cffi and C++ read this very file, behind those of common/, so it holds plain
 * declarations and nothing that cffi cannot parse; a compiler gets it through cdb_coin_log_api.h.
 *
 * Conventions
 *
 * - A name is 32 bytes. Names that come with blocks are taken on trust.
 * - Calls that can fail are as cdb_error.h says. CDB_UNVERIFIED: verify_spends, or await that, and
 * ask again. CDB_CLOSED and CDB_REWOUND: open it again.
 * - A write that fails with anything but CDB_TAKEN_BACK leaves the log in doubt: close it and
 *   open it again.
 * - Threads: accept, verify_spends, taken_back, flush, begin_flush, end_flush, rewind and close
 * write: one of them at a time. The others are for any number of threads at once, beside the one
 * that writes. Each sees the state of one moment, with whole blocks, and waits only while a state
 * changes hands: for no sync, no merge and no other reader. On one reader one call at a time.
 * - No call keeps a pointer that it was given.
 *
 * Limits, each checked: 2^32 - 1 coins, a block index below 2^32, 2^32 - 1 bytes a record
 * (about 40 million coins a block), 2^44 bytes of log, 2^32 - 1 rewinds, 2^32 - 1 entries a run
 * (a merge that would make a longer one is left out).
 */

typedef struct {
  int32_t read_only;          /* nothing on disk changes; the state is that of the opening */
  int32_t power_durable;      /* what was flushed survives power loss, not only the process */
  uint32_t memtable_coins;    /* new coins between two checkpoints: bounds the replay on opening */
  uint32_t merge_runs;        /* merge this many runs of like size; 2 or more */
  uint32_t name_bits;         /* 1 … 64: bits of a name that the index tells apart */
  uint32_t recent_bits;       /* 0 … 24: the names of the newest 2^recent_bits coins are kept */
  uint32_t unverified_spends; /* that may wait for their verification: 40 bytes each */
  int32_t keys;               /* 1: coins are found by puzzle hash and parent, too, and 0: they are
                                 not; what is derived is made anew where it was otherwise. -1: as
                                 it was, and not where it is new */
  int32_t forgiving;          /* open without `acked` where it is lost: nobody knows then what was
                                 acknowledged */
  int32_t
      before_damage; /* read_only, and forgiving: have the log end where it is damaged, and believe
                        nothing that is derived from it. cdb_coin_log_check says where that is. */
} cdb_coin_log_options;

typedef struct {
  uint64_t blocks;
  uint64_t coins;
  uint64_t newest_index; /* 0 while there is no block */
  uint64_t log_bytes;
  uint64_t has_keys;
  uint64_t runs;
  uint64_t records_checked; /* since the opening: see State::check_record */
  uint64_t
      probes; /* since the opening: places of the index, and early children, that were looked at */
} cdb_coin_log_totals;

typedef struct {
  uint64_t blocks;
  uint64_t spends;
  uint64_t confirms;
} cdb_coin_log_counts;

/* What a step of an inspection comes to. */
typedef struct {
  int32_t is_last;        /* nothing follows on it */
  uint64_t coins;         /* that were read */
  int32_t is_damaged;     /* 0: what follows means nothing */
  cdb_error damage;       /* CDB_CORRUPT, with its file, and its offset there or -1 */
  int32_t can_be_rebuilt; /* from the log; else it is the log itself */
  int64_t newest_index;   /* of the log: of the newest block before the offset; -1: there is none */
} cdb_coin_log_step;

typedef struct cdb_coin_log cdb_coin_log;
typedef struct cdb_coin_log_reader cdb_coin_log_reader;
typedef struct cdb_coin_log_answer cdb_coin_log_answer;
typedef struct cdb_coin_log_inspection cdb_coin_log_inspection;

/* Begin to open the log in the existing directory `path` (in the file system's own encoding), of
   which the caller has made sure that nobody else writes to it. An empty one is created,
   unless read_only. It is to be replayed then: until that is done, it can only be closed. */
cdb_status cdb_coin_log_open(const char *path, const cdb_coin_log_options *options,
                             cdb_coin_log **log, cdb_error *error);

/* Go over the log behind what the derived files cover, about so many coins at most, and set *coins
   to how many it were, and *is_open to whether these were the last. Then what a crash has torn off
   is cut, and what was missing of the derived files is built anew. Closed before, it is left as
   after a crash. */
cdb_status cdb_coin_log_replay(cdb_coin_log *log, uint64_t max_coins, uint64_t *coins,
                               int32_t *is_open, cdb_error *error);

/* Make everything durable unless abandon, and close all files, also when it fails. All other calls
   fail with CDB_CLOSED from then on, those of readers, too. A second one does nothing. */
cdb_status cdb_coin_log_close(cdb_coin_log *log, int32_t abandon, cdb_error *error);

/* Free the handle, which was closed, when nobody is going to use it any more. */
void cdb_coin_log_release(cdb_coin_log *log);

cdb_status cdb_coin_log_count(cdb_coin_log *log, cdb_coin_log_totals *totals, cdb_error *error);

/* Add blocks after the newest one, and set *accepted to how many: where it is less than n, block
   *accepted breaks a rule, and neither it nor any after it was applied.

   trusting: when a spend's coin is old, have the index alone say that it exists, and verify
   it together with many others, before the next flush, rewind or refusal, and before
   anything is looked up or read.
   The index may know a name that no coin has: of a coin that was rewound, or, once in 10^6 at
   13 million coins, a made-up one. The call that finds it fails with CDB_TAKEN_BACK:
   that block and those after it are gone, and nothing else has happened. */
cdb_status cdb_coin_log_accept(cdb_coin_log *log, const cdb_blocks *blocks, int32_t trusting,
                               size_t *accepted, cdb_error *error);

/* Verify what was accepted trusting. After this, and until such blocks are accepted again, no other
   call fails with CDB_TAKEN_BACK. */
cdb_status cdb_coin_log_verify_spends(cdb_coin_log *log, cdb_error *error);

/* The same for one who reads, where nobody writes: that a block is refused is told by the next
   accept or verify_spends. */
cdb_status cdb_coin_log_verify(cdb_coin_log *log, cdb_error *error);

/* Set *is_writing to whether a writing call is under way; if so, wait until it has verified what
   was accepted, which it does at its end then, or has ended, or for so long. */
cdb_status cdb_coin_log_await_verified(cdb_coin_log *log, uint32_t most_milliseconds,
                                       int32_t *is_writing, cdb_error *error);

/* After CDB_TAKEN_BACK, once: a reader of just the block that was refused. */
cdb_status cdb_coin_log_taken_back(cdb_coin_log *log, cdb_coin_log_reader **reader,
                                   cdb_error *error);

/* Opened before_damage: CDB_CORRUPT, and where, if the log is damaged. */
cdb_status cdb_coin_log_check(cdb_coin_log *log, cdb_error *error);

/* When it returns, everything accepted is as durable as options say. */
cdb_status cdb_coin_log_flush(cdb_coin_log *log, cdb_error *error);

/* The same in two calls: what was accepted before begin_flush is as durable when end_flush returns.
   Between the two others may write. Without a beginning end_flush does nothing. */
cdb_status cdb_coin_log_begin_flush(cdb_coin_log *log, cdb_error *error);
cdb_status cdb_coin_log_end_flush(cdb_coin_log *log, cdb_error *error);

/* Keep the blocks with an index ≤ block_index, durably; a negative one keeps none. */
cdb_status cdb_coin_log_rewind(cdb_coin_log *log, int64_t block_index, cdb_error *error);

/* Set found[i] to 1 and infos[i] for the coin of names[i], or found[i] to 0 where there is
   none: as of a height, with what blocks up to it have done. Any order; a name may be asked for
   more than once. */
cdb_status cdb_coin_log_lookup(cdb_coin_log *log, const uint8_t *names, size_t n, int64_t height,
                               cdb_coin_info *infos, uint8_t *found, cdb_error *error);

/* Set *n to how many coins are unspent: as of a height, with what blocks up to it have done. */
cdb_status cdb_coin_log_count_unspent(cdb_coin_log *log, int64_t height, uint64_t *n,
                                      cdb_error *error);

/* The coins that are asked for, each once, in their order: by the block's index and then by name.
   values: n of 32 bytes, of the query's key; none without one. Puzzle hashes and parents take a
   database that was opened with keys. Set *n_coins to how many there are. */
cdb_status cdb_coin_log_ask(cdb_coin_log *log, const cdb_query *query, const uint8_t *values,
                            size_t n, size_t *n_coins, cdb_coin_log_answer **answer,
                            cdb_error *error);

/* Copy them all. */
void cdb_coin_log_answer_take(const cdb_coin_log_answer *answer, cdb_found_coin *coins);

void cdb_coin_log_answer_end(cdb_coin_log_answer *answer);

/* A reader of the blocks with first_index ≤ index ≤ last_index, as they are now: it sees
   neither later blocks nor later rewinds. */
cdb_status cdb_coin_log_read(cdb_coin_log *log, int64_t first_index, int64_t last_index,
                             cdb_coin_log_reader **reader, cdb_error *error);

/* Read on, up to the block with which max_confirms is reached; counts->blocks is 0 at the end. */
cdb_status cdb_coin_log_next(cdb_coin_log_reader *reader, uint64_t max_confirms,
                             cdb_coin_log_counts *counts, cdb_error *error);

/* Copy what the last cdb_coin_log_next has read; the arrays are as long as its counts say. */
void cdb_coin_log_take(const cdb_coin_log_reader *reader, uint64_t *indices, uint64_t *timestamps,
                       uint64_t *spend_ends, uint64_t *confirm_ends, uint8_t *spends,
                       uint8_t *confirms, uint8_t *names);

/* The confirms that the last cdb_coin_log_next has read, as coins as of a height: names and infos,
   with the spends up to the height that there are now. only_unspent: without those that are spent
   then. Set *n to how many; the arrays have room for all confirms. Where a rewind has gone below
   the height since the reader was made, what it took is not of it. */
cdb_status cdb_coin_log_states(cdb_coin_log_reader *reader, int64_t height, int32_t only_unspent,
                               uint8_t *names, cdb_coin_info *infos, size_t *n, cdb_error *error);

void cdb_coin_log_end(cdb_coin_log_reader *reader);

/* Set *has_keys to whether the manifest of the database in `path` says that there are secondary
   keys; 0 without a manifest. Nothing is changed. */
cdb_status cdb_coin_log_has_keys(const char *path, int32_t *has_keys, cdb_error *error);

/* Begin to look for all damage to the files in the directory `path`, of which nothing is changed,
   and which nobody writes to meanwhile: to `acked`, to each derived file, and the first to the log.
 */
cdb_status cdb_coin_log_inspect(const char *path, cdb_coin_log_inspection **inspection,
                                cdb_error *error);

/* Look on, at about so many coins at most. Damage is no failure here. One call at a time. */
cdb_status cdb_coin_log_inspect_next(cdb_coin_log_inspection *inspection, uint64_t max_coins,
                                     cdb_coin_log_step *step, cdb_error *error);

void cdb_coin_log_inspect_end(cdb_coin_log_inspection *inspection);

/* Set names[i] to the SHA-256 name of confirms[i]. */
void cdb_coin_log_name(const uint8_t *confirms, size_t n, uint8_t *names);
