// The functions of cdb_ordered_kv.h over MDBX.

#include "mdbx/library.h"

#include "cow_btree.h"
