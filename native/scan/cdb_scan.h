/*
 * The face of the replay scanner: replay text in, packed blocks out, one call a chunk. And of what
 * goes over every coin of packed blocks: their names, and what a state's digest is of.
 *
 * cffi and C++ read this very file, behind those of common/, so it holds plain declarations and
 * nothing that cffi cannot parse; a compiler gets it through cdb_scan_api.h.
 *
 * The language is that of docs/replay-format.md, exactly as cdb/text/replay.py reads it. What
 * is not of it is found but not explained: that is left to cdb/text/replay.py.
 */

/* The shortest lines, with their LF. */
#define CDB_BLOCK_LINE_BYTES 10
#define CDB_SPEND_LINE_BYTES 67
#define CDB_CONFIRM_LINE_BYTES 134

typedef enum {
  CDB_SCAN_MORE = 0, /* the text ends within a line or a block, and more follows */
  CDB_SCAN_END,      /* all text is scanned */
  CDB_SCAN_LIMIT,    /* next is a block whose index is max_blocks or more */
  CDB_SCAN_UNCLEAN   /* next is a line or a block that is not of the language */
} cdb_scan_status;

typedef struct {
  uint8_t bytes[32];
} cdb_hash;

typedef struct {
  cdb_hash parent;
  cdb_hash puzzle_hash;
  uint8_t amount[8]; /* big endian */
} cdb_coin;

typedef struct {
  const uint8_t *text; /* begins between two blocks */
  size_t text_bytes;
  int32_t last;         /* nothing follows the text */
  int64_t newest_index; /* of the block before; -1 if there was none */
  uint64_t max_blocks;
} cdb_scan_input;

/* The caller gives the arrays, with room for text_bytes / CDB_BLOCK_LINE_BYTES + 1 blocks,
   and as many spends and confirms by their lines. The call sets the rest. */
typedef struct {
  /* One entry a block. */
  uint64_t *indices;
  uint64_t *timestamps;
  uint64_t *spend_ends; /* how many spends it has, with the blocks before it */
  uint64_t *confirm_ends;

  /* Those of the first block, then of the second, and so on; within a block in ascending
     order of all their bytes. names[i] is the name of confirms[i]. */
  cdb_hash *spends;
  cdb_coin *confirms;
  cdb_hash *names;

  size_t blocks;
  size_t text_bytes; /* that is scanned: whole blocks, blanks and comments */
  size_t lines;      /* in that text */
} cdb_scan_output;

/* Scan as many whole blocks as there are. Beyond them, what the arrays hold is undefined. */
cdb_scan_status cdb_scan(const cdb_scan_input *input, cdb_scan_output *output);

/* Set names[i] to the name of coins[i], for n coins. */
void cdb_name_coins(const cdb_coin *coins, size_t n, cdb_hash *names);

/* What a look-up says of a coin; numbers in the machine's byte order. */
typedef struct {
  cdb_hash parent;
  cdb_hash puzzle_hash;
  uint64_t amount;
  uint32_t confirmed_index;
  uint32_t spent_index; /* 0: unspent */
} cdb_info;

#define CDB_STATE_BLOCK_BYTES 16
#define CDB_STATE_COIN_BYTES 40

/* Write what the state's digest is of, with these bytes a block and a coin; cdb.contents.state says
   which. infos, found: what a look-up says of each coin that the blocks confirm; found is 0 where
   there is none. Hold each coin against its look-up first, field by field: the place of the first
   that is not found, or not as its block says; the number of coins where there is none. *spent is
   the number of coins that say that they are spent. */
size_t cdb_write_state(const cdb_blocks *blocks, const cdb_info *infos, const uint8_t *found,
                       uint8_t *stream, size_t *spent);

/* The place of the first block whose entries do not ascend by all their bytes, or are not each but
   once. The number of blocks where there is none. */
size_t cdb_first_unsorted(size_t blocks, const uint64_t *ends, const uint8_t *entries,
                          size_t entry_bytes);

/* The place of the first block with a spend that a look-up does not find, or that says another
   block spent it or a later one confirmed it; block 0 spends nothing. The number of blocks where
   there is none. */
size_t cdb_first_false_spend(size_t blocks, const uint64_t *indices, const uint64_t *spend_ends,
                             const cdb_info *infos, const uint8_t *found);

/* Set `order` to the places of the entries, of which there are less than 2^32: block by block, and
   within one as they ascend by all their bytes. */
void cdb_order_entries(size_t blocks, const uint64_t *ends, const uint8_t *entries,
                       size_t entry_bytes, uint32_t *order);

/* The name and version of the OpenSSL that SHA-256 is of, as it runs; "" where it is bundled. */
const char *cdb_openssl_version(void);

/* Copy n items, without gaps: item order[i] to place i. */
void cdb_gather(size_t n, const uint32_t *order, const uint8_t *items, size_t item_bytes,
                uint8_t *gathered);
