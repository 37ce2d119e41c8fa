// The functions of cdb_ordered_kv.h over LMDB.

#include "lmdb/library.h"

#include "cow_btree.h"
