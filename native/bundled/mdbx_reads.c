// pread() as MDBX calls it: all that is asked for, or up to the end of the file. MDBX takes a file for a
// new one, and begins another database in it, where a read of its first pages gives less.

#include <errno.h>
#include <unistd.h>

#undef pread
#pragma GCC visibility push(hidden)
ssize_t cdb_mdbx_pread(int descriptor, void *bytes, size_t n, off_t at);
#pragma GCC visibility pop

ssize_t cdb_mdbx_pread(int descriptor, void *bytes, size_t n, off_t at) {
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
