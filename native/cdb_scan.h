/*
 * The face of the replay scanner: replay text in, packed blocks out, one call a chunk.
 *
 * cffi and C++ read this very file, so it holds plain declarations and nothing that
 * cffi cannot parse; a compiler gets it through cdb_scan_api.h.
 *
 * The language is that of docs/replay-format.md, exactly as cdb/replay.py reads it. What
 * is not of it is found but not explained: that is left to cdb/replay.py.
 */

/* The shortest lines, with their LF. */
#define CDB_BLOCK_LINE_BYTES 10
#define CDB_SPEND_LINE_BYTES 67
#define CDB_CONFIRM_LINE_BYTES 134

typedef enum {
    CDB_SCAN_MORE = 0,  /* the text ends within a line or a block, and more follows */
    CDB_SCAN_END,       /* all text is scanned */
    CDB_SCAN_LIMIT,     /* next is a block whose index is max_blocks or more */
    CDB_SCAN_UNCLEAN    /* next is a line or a block that is not of the language */
} cdb_scan_status;

typedef struct {
    uint8_t bytes[32];
} cdb_hash;

typedef struct {
    cdb_hash parent;
    cdb_hash puzzle_hash;
    uint8_t amount[8];  /* big endian */
} cdb_coin;

typedef struct {
    const uint8_t *text;   /* begins between two blocks */
    size_t text_bytes;
    int32_t last;          /* nothing follows the text */
    int64_t newest_index;  /* of the block before; -1 if there was none */
    uint64_t max_blocks;
} cdb_scan_input;

/* The caller gives the arrays, with room for text_bytes / CDB_BLOCK_LINE_BYTES + 1 blocks,
   and as many spends and confirms by their lines. The call sets the rest. */
typedef struct {
    /* One entry a block. */
    uint64_t *indices;
    uint64_t *timestamps;
    uint64_t *spend_ends;    /* how many spends it has, with the blocks before it */
    uint64_t *confirm_ends;

    /* Those of the first block, then of the second, and so on; within a block in ascending
       order of all their bytes. names[i] is the name of confirms[i]. */
    cdb_hash *spends;
    cdb_coin *confirms;
    cdb_hash *names;

    size_t blocks;
    size_t text_bytes;  /* that is scanned: whole blocks, blanks and comments */
    size_t lines;       /* in that text */
} cdb_scan_output;

/* Scan as many whole blocks as there are. Beyond them, what the arrays hold is undefined. */
cdb_scan_status cdb_scan(const cdb_scan_input *input, cdb_scan_output *output);
