// MDBX, whose reads give all that is asked for, or up to the end of the file. It takes a file for a new one,
// and begins another database in it, where a read of its first pages gives less. And it is silent: it would
// tell stderr of each child that is forked, also before it is used.

#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64

#include <errno.h>
#include <unistd.h>

static ssize_t whole_pread(int descriptor, void *bytes, size_t n, off_t at) {
  size_t done = 0;
  while (done < n) {
    const ssize_t got = pread(descriptor, (char *)bytes + done, n - done, at + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

#define pread whole_pread
#include "changed_mdbx.c"

static __attribute__((__constructor__)) void be_silent(void) {  // after its own, above
  mdbx_setup_debug(MDBX_LOG_FATAL, MDBX_DBG_DONTCHANGE, MDBX_LOGGER_DONTCHANGE);
}
