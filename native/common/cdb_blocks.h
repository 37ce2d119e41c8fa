/*
 * Blocks and coins that cross a C face, as cdb.contract.packed has them. cffi and C++ read this
 * very file, as they do cdb_error.h.
 *
 * A name is CDB_NAME_BYTES, a confirm CDB_CONFIRM_BYTES: parent's name (32), puzzle hash (32),
 * amount (8, big endian).
 * Arrays have no gaps. Block i has the spends spend_ends[i-1] … spend_ends[i]-1, and block 0 those
 * from 0; confirms likewise. Within a block spends ascend by name, and confirms by all their bytes.
 * names[i] is the name of confirms[i].
 */

#define CDB_NAME_BYTES 32
#define CDB_CONFIRM_BYTES 72

typedef struct {
  size_t n;
  const uint64_t *indices;
  const uint64_t *timestamps;
  const uint64_t *spend_ends;
  const uint64_t *confirm_ends;
  const uint8_t *spends;
  const uint8_t *confirms;
  const uint8_t *names;
} cdb_blocks;

/* What is known of a coin; numbers in the machine's byte order. */
typedef struct {
  uint8_t parent[32];
  uint8_t puzzle_hash[32];
  uint64_t amount;
  uint32_t confirmed_index;
  uint32_t spent_index; /* 0: unspent */
} cdb_coin_info;
