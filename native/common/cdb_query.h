/*
 * Queries that cross a C face, and the coins that answer them, as cdb.contract.coin_query has them.
 * cffi and C++ read this very file, as they do cdb_error.h.
 */

/* What the values of a query are; see cdb/contract/coin_query.py. */
enum { CDB_NO_KEY = 0, CDB_NAME = 1, CDB_PUZZLE_HASH = 2, CDB_PARENT = 3 };

/* Which coins are asked for, and in which order. Ranges include both their ends. */
typedef struct {
  int32_t key;
  int32_t by_change; /* by the last block that changed a coin, not by the one that confirmed it */
  uint64_t first_confirmed, last_confirmed;
  uint64_t first_spent, last_spent; /* of an unspent coin it is 0 */
  uint64_t changed_from; /* no coin that was neither confirmed nor spent at this index or above */
  uint64_t least_amount;
  uint64_t limit;       /* as many of the first ones */
  int32_t any_of_block; /* in any order within a block, and any ones of the block that the limit is
                           in; an engine may do as without */
} cdb_query;

typedef struct {
  uint8_t name[32];
  uint8_t parent[32];
  uint8_t puzzle_hash[32];
  uint64_t amount;
  uint32_t confirmed_index;
  uint32_t spent_index; /* 0: unspent */
  uint64_t timestamp;   /* of the block that confirmed it */
} cdb_found_coin;
