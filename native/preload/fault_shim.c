// Sees what a process does to the files below one directory, and interferes: cdb.testing.faults
// preloads it (LD_PRELOAD, Linux, 64 bits) and drives it by the functions at the end.
//
// Recording: each call that changes a file or a directory goes to a trace, in the order in which
// they happened: one lock is held while a call is made and recorded. recorder.py there reads it.
// Interfering: calls of chosen classes are counted, and those from a first to a last one kill the
// process, fail with an errno, are cut short, or wait until they are let go. Threads are counted
// whatever they do to files.
//
// Not seen: stores through shared mappings and stdio. Both are recorded as kUnseen. sync_file_range
// promises nothing and is let through; sync() and syncfs() are not known here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault_shim.h"

#define EXPORT __attribute__((visibility("default")))
#define ALIAS(name) __attribute__((visibility("default"), alias(name)))
#define MOST_FILES 65536

// recorder.py has the same numbers.
enum operation {
  kOpen = 1,  // at: flags
  kClose,
  kDuplicate,  // at: the new descriptor
  kWrite,      // at: offset; data
  kTruncate,   // at: size; of the descriptor, or of the path if that is -1
  kAllocate,   // at: offset, length, flags: mode
  kRename,     // path, data: new path
  kUnlink,
  kMkdir,
  kRmdir,
  kLink,  // path, data: new path
  kSync,
  kDataSync,
  kUnseen,      // what is written to the descriptor, or else the path, cannot be seen
  kMark,        // data: what was written to the mark descriptor
  kSyncFailed,  // fsync or fdatasync
};

enum call_class {
  kOpening = 1,  // also mapping
  kWriting = 2,
  kSyncing = 4,
  kNaming = 8,  // also opening, where that creates or empties
  kSizing = 16,
  kReading = 32,
  kThreading = 64,      // beginning a thread
  kSyncingNames = 128,  // of a directory; it is kSyncing, too
  kBeginning = 256,     // a transaction that no system call begins; only to be held
};
enum { kKill = -1, kCutShort = -2, kHold = -3 };

struct header {
  int32_t operation;
  int32_t descriptor;
  int64_t at;
  int64_t length;
  int32_t flags;
  uint32_t path_bytes;
  uint64_t data_bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_bytes;
static unsigned char is_tracked[MOST_FILES];
static int trace = -1, mark = -1;
static unsigned armed_classes;
static long armed_first, armed_last, calls, threads;
static int armed_action;
static int is_held;
static pthread_cond_t let_go = PTHREAD_COND_INITIALIZER;

static void record(struct header header, const char *path, const void *data, size_t data_bytes) {
  if (trace < 0) return;
  header.path_bytes = path == NULL ? 0 : (uint32_t)strlen(path);
  header.data_bytes = data_bytes;
  const struct iovec parts[] = {{&header, sizeof header},
                                {(void *)(uintptr_t)path, header.path_bytes},
                                {(void *)(uintptr_t)data, data_bytes}};
  const size_t all = sizeof header + header.path_bytes + data_bytes;
  const int before = errno;
  // A trace with a hole would be believed.
  if (syscall(SYS_writev, trace, parts, 3) != (long)all) kill(getpid(), SIGABRT);
  errno = before;
}

static void record_path(enum operation operation, const char *path, const char *other) {
  record((struct header){.operation = (int32_t)operation, .descriptor = -1}, path, other,
         other == NULL ? 0 : strlen(other));
}

// Whether a call of these classes fails, with errno; it may never return, or have fewer bytes to
// do.
static int interferes(unsigned classes, size_t *bytes) {
  if ((armed_classes & classes) == 0) return 0;
  ++calls;
  if (calls < armed_first || calls > armed_last) return 0;
  if (armed_action == kKill) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (armed_action == kCutShort) {
    if (bytes != NULL && *bytes > 1) *bytes /= 2;
    return 0;
  }
  if (armed_action == kHold) {
    // Others make their calls meanwhile.
    for (is_held = 1; is_held != 0;) pthread_cond_wait(&let_go, &mutex);
    return 0;
  }
  if (armed_action == 0) return 0;
  errno = armed_action;
  return 1;
}

static int is_ours(int descriptor) {
  return descriptor >= 0 && descriptor < MOST_FILES && is_tracked[descriptor];
}

// What follows in a path on a descriptor, which is set, as in /proc/self/fd/3/a; else NULL.
static const char *behind_descriptor(const char *path, int *descriptor) {
  static const char start[] = "/proc/self/fd/";
  if (strncmp(path, start, sizeof start - 1) != 0) return NULL;
  char *end;
  *descriptor = (int)strtol(path + sizeof start - 1, &end, 10);
  return *end == '/' ? end + 1 : *end == '\0' ? "." : NULL;
}

// The absolute path, if it is below the root; else NULL.
static const char *below_root(int directory, const char *path, char *buffer) {
  if (root_bytes == 0 || path == NULL) return NULL;
  const char *const behind = behind_descriptor(path, &directory);
  if (behind != NULL) path = behind;
  if (path[0] != '/') {
    char link[64];
    if (directory == AT_FDCWD)
      strcpy(link, "/proc/self/cwd");
    else
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    const ssize_t n = readlink(link, buffer, PATH_MAX - 1);
    if (n < 0 || (size_t)n + strlen(path) + 2 > PATH_MAX) return NULL;
    buffer[n] = '/';
    strcpy(buffer + n + 1, path);
    path = buffer;
  }
  const int is_below =
      strncmp(path, root, root_bytes) == 0 && (path[root_bytes] == '/' || path[root_bytes] == '\0');
  return is_below ? path : NULL;
}

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

// Opening and closing

static int do_open(int directory, const char *path, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  const char *const ours = below_root(directory, path, buffer);
  if (ours == NULL) return (int)syscall(SYS_openat, directory, path, flags, mode);
  lock();
  int result = -1;
  const int changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  if (!interferes(changes ? kNaming : kOpening, NULL)) {
    result = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (result >= 0 && result < MOST_FILES) {
      is_tracked[result] = 1;
      record((struct header){.operation = kOpen, .descriptor = result, .at = flags}, ours, NULL, 0);
    }
  }
  unlock();
  return result;
}

#define MODE_AFTER(last)               \
  mode_t mode = 0;                     \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list more;                      \
    va_start(more, last);              \
    mode = va_arg(more, mode_t);       \
    va_end(more);                      \
  }

EXPORT int open(const char *path, int flags, ...) {
  MODE_AFTER(flags)
  return do_open(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) ALIAS("open");
EXPORT int openat(int directory, const char *path, int flags, ...) {
  MODE_AFTER(flags)
  return do_open(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) ALIAS("openat");
EXPORT int creat(const char *path, mode_t mode) {
  return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char *path, mode_t mode) ALIAS("creat");
// What a compiler with _FORTIFY_SOURCE makes of an open without a mode.
int __open_2(const char *path, int flags);
EXPORT int __open_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) ALIAS("__open_2");
int __openat_2(int directory, const char *path, int flags);
EXPORT int __openat_2(int directory, const char *path, int flags) {
  return do_open(directory, path, flags, 0);
}
int __openat64_2(int directory, const char *path, int flags) ALIAS("__openat_2");

EXPORT FILE *fopen(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fopen");
  char buffer[PATH_MAX];
  const char *const ours = below_root(AT_FDCWD, path, buffer);
  if (ours == NULL || mode[0] == 'r') return real(path, mode);
  lock();
  FILE *const stream = interferes(kNaming, NULL) ? NULL : real(path, mode);
  if (stream != NULL) {
    const int flags = O_CREAT | (mode[0] == 'w' ? O_TRUNC : 0);
    record((struct header){.operation = kOpen, .descriptor = -1, .at = flags}, ours, NULL, 0);
    record_path(kUnseen, ours, NULL);
  }
  unlock();
  return stream;
}
FILE *fopen64(const char *path, const char *mode) ALIAS("fopen");

EXPORT int close(int descriptor) {
  if (!is_ours(descriptor)) return (int)syscall(SYS_close, descriptor);
  lock();
  is_tracked[descriptor] = 0;
  const int result = (int)syscall(SYS_close, descriptor);
  record((struct header){.operation = kClose, .descriptor = descriptor}, NULL, NULL, 0);
  unlock();
  return result;
}

static int duplicated(int from, int to) {
  if (to < 0 || to >= MOST_FILES || from == to) return to;
  lock();
  if (is_tracked[to]) record((struct header){.operation = kClose, .descriptor = to}, NULL, NULL, 0);
  is_tracked[to] = is_tracked[from];
  if (is_tracked[to])
    record((struct header){.operation = kDuplicate, .descriptor = from, .at = to}, NULL, NULL, 0);
  unlock();
  return to;
}

EXPORT int dup(int from) { return duplicated(from, (int)syscall(SYS_dup, from)); }
EXPORT int dup3(int from, int to, int flags) {
  return duplicated(from, (int)syscall(SYS_dup3, from, to, flags));
}
EXPORT int dup2(int from, int to) { return from == to ? to : dup3(from, to, 0); }
EXPORT int fcntl(int descriptor, int command, ...) {
  va_list more;
  va_start(more, command);
  void *const argument = va_arg(more, void *);
  va_end(more);
  const int result = (int)syscall(SYS_fcntl, descriptor, command, argument);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicated(descriptor, result) : result;
}
int fcntl64(int descriptor, int command, ...) ALIAS("fcntl");

// Contents

static ssize_t written(int descriptor, off_t at, const void *data, ssize_t n) {
  if (n > 0)
    record((struct header){.operation = kWrite, .descriptor = descriptor, .at = at}, NULL, data,
           (size_t)n);
  return n;
}

EXPORT ssize_t write(int descriptor, const void *data, size_t n) {
  if (descriptor == mark && mark >= 0) {
    lock();
    record((struct header){.operation = kMark, .descriptor = -1}, NULL, data, n);
    unlock();
  }
  if (!is_ours(descriptor)) return syscall(SYS_write, descriptor, data, n);
  lock();
  ssize_t result = -1;
  if (!interferes(kWriting, &n)) {
    result = syscall(SYS_write, descriptor, data, n);
    // After the write, because of O_APPEND.
    written(descriptor, syscall(SYS_lseek, descriptor, 0, SEEK_CUR) - result, data, result);
  }
  unlock();
  return result;
}

EXPORT ssize_t pwrite(int descriptor, const void *data, size_t n, off_t at) {
  if (!is_ours(descriptor)) return syscall(SYS_pwrite64, descriptor, data, n, at);
  lock();
  ssize_t result = -1;
  if (!interferes(kWriting, &n))
    result = written(descriptor, at, data, syscall(SYS_pwrite64, descriptor, data, n, at));
  unlock();
  return result;
}
ssize_t pwrite64(int descriptor, const void *data, size_t n, off_t at) ALIAS("pwrite");

// A vector is written part by part: a short write is one that callers must expect.
static ssize_t each_part(int descriptor, const struct iovec *parts, int count, off_t at,
                         int has_offset) {
  ssize_t all = 0;
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len == 0) continue;
    const ssize_t n = has_offset ? pwrite(descriptor, parts[i].iov_base, parts[i].iov_len, at + all)
                                 : write(descriptor, parts[i].iov_base, parts[i].iov_len);
    if (n < 0) return all > 0 ? all : n;
    all += n;
    if ((size_t)n < parts[i].iov_len) break;
  }
  return all;
}

EXPORT ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  if (is_ours(descriptor)) return each_part(descriptor, parts, count, 0, 0);
  return syscall(SYS_writev, descriptor, parts, count);
}

EXPORT ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t at) {
  if (is_ours(descriptor)) return each_part(descriptor, parts, count, at, 1);
  return syscall(SYS_pwritev, descriptor, parts, count, at, 0L);
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off_t at) ALIAS("pwritev");

EXPORT ssize_t pwritev2(int descriptor, const struct iovec *parts, int count, off_t at, int flags) {
  if (!is_ours(descriptor)) return syscall(SYS_pwritev2, descriptor, parts, count, at, 0L, flags);
  const ssize_t n = each_part(descriptor, parts, count, at, at != -1);
  const int synced = n > 0 && (flags & (RWF_DSYNC | RWF_SYNC)) ? fdatasync(descriptor) : 0;
  return synced == 0 ? n : -1;
}
ssize_t pwritev64v2(int descriptor, const struct iovec *parts, int count, off_t at, int flags)
    ALIAS("pwritev2");

// Copies within the kernel are refused, so that callers read and write instead.
EXPORT ssize_t copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t n,
                               unsigned flags) {
  if (!is_ours(to)) return syscall(SYS_copy_file_range, from, from_at, to, to_at, n, flags);
  errno = ENOSYS;
  return -1;
}
ssize_t sendfile(int to, int from, off_t *from_at, size_t n);
EXPORT ssize_t sendfile(int to, int from, off_t *from_at, size_t n) {
  if (!is_ours(to)) return syscall(SYS_sendfile, to, from, from_at, n);
  errno = ENOSYS;
  return -1;
}
ssize_t sendfile64(int to, int from, off_t *from_at, size_t n) ALIAS("sendfile");

static int resized(int descriptor, int result, struct header header) {
  header.descriptor = descriptor;
  if (result == 0) record(header, NULL, NULL, 0);
  unlock();
  return result;
}

EXPORT int ftruncate(int descriptor, off_t size) {
  if (!is_ours(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, size);
  lock();
  const int result = interferes(kSizing, NULL) ? -1 : (int)syscall(SYS_ftruncate, descriptor, size);
  return resized(descriptor, result, (struct header){.operation = kTruncate, .at = size});
}
int ftruncate64(int descriptor, off_t size) ALIAS("ftruncate");

EXPORT int fallocate(int descriptor, int mode, off_t at, off_t n) {
  if (!is_ours(descriptor)) return (int)syscall(SYS_fallocate, descriptor, mode, at, n);
  lock();
  const int result =
      interferes(kSizing, NULL) ? -1 : (int)syscall(SYS_fallocate, descriptor, mode, at, n);
  return resized(descriptor, result,
                 (struct header){.operation = kAllocate, .at = at, .length = n, .flags = mode});
}
int fallocate64(int descriptor, int mode, off_t at, off_t n) ALIAS("fallocate");

EXPORT int posix_fallocate(int descriptor, off_t at, off_t n) {
  const int before = errno;
  const int result = fallocate(descriptor, 0, at, n) == 0 ? 0 : errno;
  errno = before;
  return result;
}
int posix_fallocate64(int descriptor, off_t at, off_t n) ALIAS("posix_fallocate");

static int synced(enum operation operation, long call, int descriptor) {
  if (!is_ours(descriptor)) return (int)syscall(call, descriptor);
  struct stat status;
  const int is_directory = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
  const unsigned classes = kSyncing | (is_directory ? kSyncingNames : 0);
  lock();
  const int result = interferes(classes, NULL) ? -1 : (int)syscall(call, descriptor);
  if (result != 0) operation = kSyncFailed;
  record((struct header){.operation = (int32_t)operation, .descriptor = descriptor}, NULL, NULL, 0);
  unlock();
  return result;
}

EXPORT int fsync(int descriptor) { return synced(kSync, SYS_fsync, descriptor); }
EXPORT int fdatasync(int descriptor) { return synced(kDataSync, SYS_fdatasync, descriptor); }

EXPORT void *mmap(void *address, size_t n, int protection, int flags, int descriptor, off_t at) {
  if (!is_ours(descriptor) || (flags & MAP_ANONYMOUS))
    return (void *)syscall(SYS_mmap, address, n, protection, flags, descriptor, at);
  lock();
  void *result = MAP_FAILED;
  if (!interferes(kOpening, NULL))
    result = (void *)syscall(SYS_mmap, address, n, protection, flags, descriptor, at);
  if (result != MAP_FAILED && (flags & MAP_SHARED) && (protection & PROT_WRITE))
    record((struct header){.operation = kUnseen, .descriptor = descriptor}, NULL, NULL, 0);
  unlock();
  return result;
}
void *mmap64(void *address, size_t n, int protection, int flags, int descriptor, off_t at)
    ALIAS("mmap");

static int read_fails(int descriptor, size_t *n) {
  if (!is_ours(descriptor)) return 0;
  lock();
  const int fails = interferes(kReading, n);
  unlock();
  return fails;
}

EXPORT ssize_t read(int descriptor, void *to, size_t n) {
  return read_fails(descriptor, &n) ? -1 : syscall(SYS_read, descriptor, to, n);
}

EXPORT ssize_t pread(int descriptor, void *to, size_t n, off_t at) {
  return read_fails(descriptor, &n) ? -1 : syscall(SYS_pread64, descriptor, to, n, at);
}
ssize_t pread64(int descriptor, void *to, size_t n, off_t at) ALIAS("pread");

// Names

static int do_named(enum operation operation, const char *path, const char *other, long call[6]) {
  if (path == NULL) return (int)syscall(call[0], call[1], call[2], call[3], call[4], call[5]);
  lock();
  int result = -1;
  if (!interferes(kNaming, NULL)) {
    result = (int)syscall(call[0], call[1], call[2], call[3], call[4], call[5]);
    if (result == 0) record_path(operation, path, other);
  }
  unlock();
  return result;
}

#define CALL(...) ((long[6]){__VA_ARGS__})
#define AS_LONG(pointer) ((long)(uintptr_t)(pointer))

EXPORT int truncate(const char *path, off_t size) {
  char buffer[PATH_MAX];
  const char *const ours = below_root(AT_FDCWD, path, buffer);
  if (ours == NULL) return (int)syscall(SYS_truncate, path, size);
  const int descriptor = do_open(AT_FDCWD, path, O_WRONLY, 0);
  if (descriptor < 0) return -1;
  const int result = ftruncate(descriptor, size), number = errno;
  close(descriptor);
  errno = number;
  return result;
}
int truncate64(const char *path, off_t size) ALIAS("truncate");

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to,
                     unsigned flags) {
  char first[PATH_MAX], second[PATH_MAX];
  const char *const other = below_root(to_directory, to, second);
  const char *const path = other == NULL ? NULL : below_root(from_directory, from, first);
  return do_named(
      kRename, path, other,
      CALL(SYS_renameat2, from_directory, AS_LONG(from), to_directory, AS_LONG(to), flags));
}
EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  return renameat2(from_directory, from, to_directory, to, 0);
}
EXPORT int rename(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int linkat(int from_directory, const char *from, int to_directory, const char *to,
                  int flags) {
  char first[PATH_MAX], second[PATH_MAX];
  const char *const other = below_root(to_directory, to, second);
  const char *const path = other == NULL ? NULL : below_root(from_directory, from, first);
  return do_named(
      kLink, path, other,
      CALL(SYS_linkat, from_directory, AS_LONG(from), to_directory, AS_LONG(to), flags));
}
EXPORT int link(const char *from, const char *to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int unlinkat(int directory, const char *path, int flags) {
  char buffer[PATH_MAX];
  const char *const ours = below_root(directory, path, buffer);
  return do_named(flags & AT_REMOVEDIR ? kRmdir : kUnlink, ours, NULL,
                  CALL(SYS_unlinkat, directory, AS_LONG(path), flags));
}
EXPORT int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
EXPORT int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
EXPORT int remove(const char *path) {
  const int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}

EXPORT int mkdirat(int directory, const char *path, mode_t mode) {
  char buffer[PATH_MAX];
  return do_named(kMkdir, below_root(directory, path, buffer), NULL,
                  CALL(SYS_mkdirat, directory, AS_LONG(path), mode));
}
EXPORT int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

// Threads

struct begun {
  void *(*body)(void *);
  void *argument;
};

static void one_less(void *unused) {
  (void)unused;
  lock();
  --threads;
  unlock();
}

static void *run_thread(void *given) {
  const struct begun begun = *(struct begun *)given;
  free(given);
  void *result = NULL;
  pthread_cleanup_push(one_less, NULL);
  result = begun.body(begun.argument);
  pthread_cleanup_pop(1);
  return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  struct begun *const begun = malloc(sizeof *begun);
  if (begun == NULL) return EAGAIN;
  *begun = (struct begun){body, argument};
  lock();
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  const int is_armed = (armed_classes & kThreading) != 0;
  calls += is_armed;
  const int failure = is_armed && threads + 1 >= armed_first ? armed_action : 0;
  threads += failure == 0;
  unlock();
  const int result = failure != 0 ? failure : real(thread, attributes, run_thread, begun);
  if (result != 0) free(begun);
  if (result != 0 && failure == 0) one_less(NULL);
  return result;
}

// Transactions of libraries: see fault_shim.h

void cdb_fault_begun(void) {
  lock();
  if (armed_action == kHold) interferes(kBeginning, NULL);
  unlock();
}

// What cdb/testing/faults/shim.py calls, before the process has a second thread

// The directory whose files count: an absolute path without links.
void cdb_fault_watch(const char *directory);
EXPORT void cdb_fault_watch(const char *directory) {
  root_bytes = strlen(directory);
  memcpy(root, directory, root_bytes + 1);
}

// Record to an open descriptor; writes to mark_descriptor are recorded as kMark.
void cdb_fault_record(int trace_descriptor, int mark_descriptor);
EXPORT void cdb_fault_record(int trace_descriptor, int mark_descriptor) {
  trace = trace_descriptor;
  mark = mark_descriptor;
}

// Interfere with the calls number first to last (from 1) of these classes. action: an errno, kKill,
// kCutShort, kHold, or 0 to do nothing but count. kThreading stands alone, and an errno fails what
// would be the thread number first, or a later one, of those that are alive at a time.
void cdb_fault_arm(unsigned classes, long first, long last, int action);
EXPORT void cdb_fault_arm(unsigned classes, long first, long last, int action) {
  armed_first = first;
  armed_last = last;
  armed_action = action;
  calls = threads = 0;
  armed_classes = classes;
}

// How many calls of the armed classes there were.
long cdb_fault_calls(void);
EXPORT long cdb_fault_calls(void) { return calls; }

// Whether a call waits, and to let it go on.
int cdb_fault_is_held(void);
EXPORT int cdb_fault_is_held(void) {
  lock();
  const int found = is_held;
  unlock();
  return found;
}
void cdb_fault_let_go(void);
EXPORT void cdb_fault_let_go(void) {
  lock();
  is_held = 0;
  pthread_cond_broadcast(&let_go);
  unlock();
}
