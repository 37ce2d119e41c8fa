/*
 * The face of the coin log: a coin database that is one append-only log of blocks, with
 * everything else derived from it. docs/schemas/coin_log.md draws the files.
 *
 * cffi and C++ read this very file, so it holds plain declarations and nothing that
 * cffi cannot parse; a compiler gets it through cdb_coin_log_api.h.
 *
 * Conventions
 *
 * - A name is 32 bytes, a confirm 72: parent (32), puzzle hash (32), amount (8, big
 *   endian). Arrays have no gaps.
 * - The ends of a block's spends and confirms are cumulative over the call's blocks:
 *   block i has the spends spend_ends[i-1] … spend_ends[i]-1, and block 0 those from 0.
 * - Within a block, spends ascend by name, and confirms by their 72 bytes. names[i] is
 *   the SHA-256 name of confirms[i]; it is taken on trust.
 * - A call that fails returns another status than COIN_LOG_OK and sets *error to a message
 *   (null-terminated, never null unless memory ran out) that the caller frees with
 *   cdb_coin_log_free. It reads "FILE<tab>PROBLEM"; FILE is relative to the database's
 *   directory, and empty where no file is at fault.
 * - A write that fails with anything but COIN_LOG_TAKEN_BACK leaves the log in doubt: close it and
 *   open it again.
 * - Threads: accept, settle, taken_back, flush, rewind and close write: one of them at a time. The
 *   others are for any number of threads at once, beside the one that writes. Each sees the state
 *   of one moment, with whole blocks, and waits only while a state changes hands: for no sync, no
 *   merge and no other reader. On one reader one call at a time.
 * - No call keeps a pointer that it was given.
 *
 * Limits, each checked: 2^32 - 1 coins, a block index below 2^32, 2^32 - 1 bytes a record
 * (about 40 million coins a block), 2^44 bytes of log, 2^32 - 1 rewinds, 2^32 - 1 entries a run
 * (a merge that would make a longer one is left out).
 */

typedef enum {
  COIN_LOG_OK = 0,
  COIN_LOG_CORRUPT,    /* damage was found; nothing wrong was returned */
  COIN_LOG_FOREIGN,    /* a file is of a newer version */
  COIN_LOG_NO_SPACE,   /* the disk is full */
  COIN_LOG_IO,         /* the operating system refused a read or a write */
  COIN_LOG_TAKEN_BACK, /* blocks that were accepted trusting, and not acknowledged, are gone */
  COIN_LOG_UNVERIFIED, /* something was accepted trusting: settle, or await that, and ask again */
  COIN_LOG_CLOSED,     /* closed, or in doubt: open it again */
  COIN_LOG_REWOUND,    /* opened read_only, and the writer has rewound since: open it again */
  COIN_LOG_LIMIT,      /* one of the limits above is reached */
  COIN_LOG_INVALID,    /* the caller broke this contract */
  COIN_LOG_NO_MEMORY,
  COIN_LOG_FAILED /* anything else */
} cdb_coin_log_status;

typedef struct {
  int32_t read_only;          /* nothing on disk changes; the state is that of the opening */
  int32_t power_durable;      /* what was flushed survives power loss, not only the process */
  uint32_t memtable_coins;    /* new coins between two checkpoints: bounds the replay on opening */
  uint32_t merge_runs;        /* merge this many runs of like size; 2 or more */
  uint32_t bucket_bits;       /* 1 … 24: an index has 2^bucket_bits buckets; fixed at creation */
  uint32_t name_bits;         /* 1 … 64: bits of a name that the index tells apart */
  uint32_t recent_bits;       /* 0 … 24: the names of the newest 2^recent_bits coins are kept */
  uint32_t unverified_spends; /* that may wait for their verification: 40 bytes each */
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
  uint64_t runs;
  uint64_t records_checked; /* since the opening, because the index led to another coin there */
  uint64_t
      probes; /* since the opening: places of the index, and early children, that were looked at */
  int32_t
      acked_is_damaged; /* or missing, as it was found on opening; for a writer 0: it is mended */
} cdb_coin_log_totals;

typedef struct {
  uint8_t parent[32];
  uint8_t puzzle_hash[32];
  uint64_t amount;
  uint32_t confirmed_index;
  uint32_t spent_index; /* 0: unspent */
} cdb_coin_log_info;

typedef struct {
  uint64_t blocks;
  uint64_t spends;
  uint64_t confirms;
} cdb_coin_log_counts;

typedef struct cdb_coin_log cdb_coin_log;
typedef struct cdb_coin_log_reader cdb_coin_log_reader;

/* Open the log in the existing directory `path` (in the file system's own encoding), of
   which the caller has made sure that nobody else writes to it. An empty one is created,
   unless read_only. What a crash has torn off is cut, and what is missing of the derived
   files is built anew. */
cdb_coin_log_status cdb_coin_log_open(const char *path, const cdb_coin_log_options *options,
                                      cdb_coin_log **log, char **error);

/* Make everything durable unless abandon, and close all files, also when it fails. All other calls
   fail with COIN_LOG_CLOSED from then on, those of readers, too. A second one does nothing. */
cdb_coin_log_status cdb_coin_log_close(cdb_coin_log *log, int32_t abandon, char **error);

/* Free the handle, which was closed, when nobody is going to use it any more. */
void cdb_coin_log_release(cdb_coin_log *log);

cdb_coin_log_status cdb_coin_log_count(cdb_coin_log *log, cdb_coin_log_totals *totals,
                                       char **error);

/* Add n blocks after the newest one, and set *accepted to how many: where it is less than n, block
   *accepted breaks a rule, and neither it nor any after it was applied.

   trusting: when a spend's coin is old, have the index alone say that it exists, and verify
   it together with many others, before the next flush, rewind or refusal, and before
   anything is looked up or read.
   The index may know a name that no coin has: of a coin that was rewound, or, once in 10^7 at
   13 million coins, a made-up one. The call that finds it fails with COIN_LOG_TAKEN_BACK:
   that block and those after it are gone, and nothing else has happened. */
cdb_coin_log_status cdb_coin_log_accept(cdb_coin_log *log, size_t n, const uint64_t *indices,
                                        const uint64_t *timestamps, const uint64_t *spend_ends,
                                        const uint64_t *confirm_ends, const uint8_t *spends,
                                        const uint8_t *confirms, const uint8_t *names,
                                        int32_t trusting, size_t *accepted, char **error);

/* Verify what was accepted trusting. After this, and until such blocks are accepted again, no other
   call fails with COIN_LOG_TAKEN_BACK. */
cdb_coin_log_status cdb_coin_log_settle(cdb_coin_log *log, char **error);

/* Wait until somebody has done so, or has to be asked again, or for so long. A writer who accepts
   meanwhile verifies with its next call. */
cdb_coin_log_status cdb_coin_log_await_settled(cdb_coin_log *log, uint32_t most_milliseconds,
                                               char **error);

/* After COIN_LOG_TAKEN_BACK, once: a reader of just the block that was refused. */
cdb_coin_log_status cdb_coin_log_taken_back(cdb_coin_log *log, cdb_coin_log_reader **reader,
                                            char **error);

/* Opened before_damage: COIN_LOG_CORRUPT, and where, if the log is damaged. */
cdb_coin_log_status cdb_coin_log_check(cdb_coin_log *log, char **error);

/* When it returns, everything accepted is as durable as options say. */
cdb_coin_log_status cdb_coin_log_flush(cdb_coin_log *log, char **error);

/* Keep the blocks with an index ≤ block_index, durably; a negative one keeps none. */
cdb_coin_log_status cdb_coin_log_rewind(cdb_coin_log *log, int64_t block_index, char **error);

/* Set found[i] to 1 and infos[i] for the coin of names[i], or found[i] to 0 where there is
   none. Any order; a name may be asked for more than once. */
cdb_coin_log_status cdb_coin_log_lookup(cdb_coin_log *log, const uint8_t *names, size_t n,
                                        cdb_coin_log_info *infos, uint8_t *found, char **error);

/* A reader of the blocks with first_index ≤ index ≤ last_index, as they are now: it sees
   neither later blocks nor later rewinds. */
cdb_coin_log_status cdb_coin_log_read(cdb_coin_log *log, int64_t first_index, int64_t last_index,
                                      cdb_coin_log_reader **reader, char **error);

/* Read on, up to the block with which max_confirms is reached; counts->blocks is 0 at the end. */
cdb_coin_log_status cdb_coin_log_next(cdb_coin_log_reader *reader, uint64_t max_confirms,
                                      cdb_coin_log_counts *counts, char **error);

/* Copy what the last cdb_coin_log_next has read; the arrays are as long as its counts say. */
void cdb_coin_log_take(const cdb_coin_log_reader *reader, uint64_t *indices, uint64_t *timestamps,
                       uint64_t *spend_ends, uint64_t *confirm_ends, uint8_t *spends,
                       uint8_t *confirms, uint8_t *names);

void cdb_coin_log_end(cdb_coin_log_reader *reader);

/* Set names[i] to the SHA-256 name of confirms[i]. */
void cdb_coin_log_name(const uint8_t *confirms, size_t n, uint8_t *names);

/* Free a message; null is fine. */
void cdb_coin_log_free(char *error);
