/*
 * Counts the calls by which a process asks for its writes to reach the disk. It is preloaded
 * (LD_PRELOAD); cdb/bench/sync_calls.py reads the counts from within the process. What is asked
 * for otherwise, by O_SYNC or a system call made by hand, is not counted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC visibility push(default)

enum { FSYNC, FDATASYNC, SYNC_FILE_RANGE, MSYNC, KINDS };

_Atomic unsigned long cdb_sync_calls[KINDS];

/* A function of the C library that counts before it goes on to the next of its name. That one is
   looked up each time: any of these calls takes longer. */
#define COUNTED(KIND, NAME, PARAMETERS, ARGUMENTS)                             \
  int NAME PARAMETERS {                                                        \
    int(*next) PARAMETERS;                                                     \
    atomic_fetch_add_explicit(&cdb_sync_calls[KIND], 1, memory_order_relaxed); \
    *(void **)&next = dlsym(RTLD_NEXT, #NAME);                                 \
    return next ARGUMENTS;                                                     \
  }

COUNTED(FSYNC, fsync, (int file), (file))
COUNTED(FDATASYNC, fdatasync, (int file), (file))
COUNTED(SYNC_FILE_RANGE, sync_file_range, (int file, off_t from, off_t n_bytes, unsigned flags),
        (file, from, n_bytes, flags))
COUNTED(MSYNC, msync, (void *from, size_t n_bytes, int flags), (from, n_bytes, flags))
