// LMDB, where it is a library of its own: whoever is to be held waits behind the beginning of a transaction.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "fault_shim.h"

struct MDB_env;
struct MDB_txn;

static int (*begin)(struct MDB_env *, struct MDB_txn *, unsigned, struct MDB_txn **);

static void find_begin(void) {
  void *const library = dlopen("liblmdb.so.0", RTLD_LAZY | RTLD_NOLOAD);
  *(void **)&begin = dlsym(library == NULL ? RTLD_NEXT : library, "mdb_txn_begin");
}

int mdb_txn_begin(struct MDB_env *env, struct MDB_txn *parent, unsigned flags,
                  struct MDB_txn **transaction);
__attribute__((visibility("default"))) int mdb_txn_begin(struct MDB_env *env,
                                                         struct MDB_txn *parent, unsigned flags,
                                                         struct MDB_txn **transaction) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_begin);
  const int result = begin(env, parent, flags, transaction);
  cdb_fault_begun();
  return result;
}
