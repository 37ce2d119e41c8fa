#include "coin_log/format/file.h"

#include "coin_log/format/failure.h"
#include "common/fault_points.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cdb::coin_log {

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kSampleBytes = uint64_t{1} << 18;
// Of what a call asks for Linux reads no more ahead than its setting for the disk, which is this.
constexpr uint64_t kAheadBytes = uint64_t{128} << 10;
constexpr size_t kZeroBytes = size_t{1} << 16;

// By samples: to have the kernel look for each page costs more than what that saves. Not at the
// ends, which come with what lies beside them.
bool seems_resident(uint8_t *data, uint64_t n) {
  const uint64_t first = std::min(n, kSampleBytes) / 2 / kPageBytes * kPageBytes;
  for (uint64_t offset = first; offset < n; offset += kSampleBytes) {
    unsigned char is_resident = 0;
    if (::mincore(data + offset, kPageBytes, &is_resident) != 0 || (is_resident & 1) == 0)
      return false;
  }
  return true;
}

int flags_of(Open mode) {
  // A link would lead out of the database.
  if (mode == Open::kRead) return O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  return O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | (mode == Open::kReplace ? O_TRUNC : 0);
}

#ifdef O_PATH
constexpr int kDirectoryFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif

int opened_directory(const std::string &path) {
  const int descriptor = ::open(path.c_str(), kDirectoryFlags);
  if (descriptor < 0) throw_errno("", errno);
  return descriptor;
}

// Of a path through a descriptor, too, which leads there wherever that is moved to.
std::string resolved(const std::string &path) {
  char *const found = ::realpath(path.c_str(), nullptr);
  const std::string real = found == nullptr ? path : found;
  std::free(found);
  return real;
}

// "": the database's own.
int opened_folder(const Directory &directory, const std::string &name) {
  const int descriptor = ::openat(directory.descriptor(), name.empty() ? "." : name.c_str(),
                                  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) throw_errno(name, errno);
  return descriptor;
}

bool is_same_file(const struct stat &one, const struct stat &other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

Directory::Directory(const std::string &path)
    : path_(resolved(path)),
      descriptor_(new int(opened_directory(path)), [](const int *descriptor) {
        ::close(*descriptor);
        delete descriptor;
      }) {}

std::string Directory::fate() const {
  struct stat here, there;
  if (::fstat(descriptor(), &here) != 0) throw_errno("", errno);
  const bool is_there = ::stat(path_.c_str(), &there) == 0;
  if (is_there && is_same_file(here, there)) return "";
  const std::string fate =
      here.st_nlink == 0 ? "its directory was removed" : "its directory was moved";
  return is_there ? fate + ", and another is in its place" : fate;
}

void throw_errno(const std::string &file, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  const std::string reason = std::strerror(number);
  throw Failure(full ? CDB_NO_SPACE : CDB_IO, file,
                full ? "the disk is full (" + reason + ")" : reason)
      .because_of(number);
}

File::File(const Directory &directory, const std::string &name, Open mode)
    : name_(name),
      lost_(directory.lost),
      descriptor_(::openat(directory.descriptor(), name.c_str(), flags_of(mode), 0644)) {
  if (descriptor_ < 0) throw_errno(name, errno);
}

File::~File() { ::close(descriptor_); }

uint64_t File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) throw_errno(name_, errno);
  return static_cast<uint64_t>(status.st_size);
}

bool File::is_in(const Directory &directory) const {
  struct stat mine, named;
  if (::fstat(descriptor_, &mine) != 0) throw_errno(name_, errno);
  return ::fstatat(directory.descriptor(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same_file(mine, named);
}

void File::read(uint8_t *to, size_t n, uint64_t offset) const {
  while (n > 0) {
    const ssize_t got = ::pread(descriptor_, to, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(name_, errno);
    if (got == 0) throw corrupt(name_, "it is shorter than it should be");
    to += got;
    n -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
}

void File::write(const uint8_t *from, size_t n, uint64_t offset) {
  check_readable(*lost_);
  while (n > 0) {
    const ssize_t put = ::pwrite(descriptor_, from, n, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_errno(name_, errno);
    from += put;
    n -= static_cast<size_t>(put);
    offset += static_cast<uint64_t>(put);
  }
}

void File::sync() {
  if (::fdatasync(descriptor_) != 0 && !CDB_FAULT("sync-error-swallowed"))
    throw_errno(name_, errno);
}

void File::start_writeback(uint64_t offset, uint64_t n) {
#ifdef SYNC_FILE_RANGE_WRITE
  // Advice only: an error shows at the sync.
  ::sync_file_range(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(n),
                    SYNC_FILE_RANGE_WRITE);
#else
  static_cast<void>(offset), static_cast<void>(n);
#endif
}

void File::erase_from(uint64_t offset) {
  check_readable(*lost_);
  const uint64_t end = size();
  if (offset >= end) return;
#ifdef FALLOC_FL_PUNCH_HOLE
  if (::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(offset), static_cast<off_t>(end - offset)) == 0)
    return;
#endif
  const Bytes zeros(kZeroBytes);
  for (; offset < end; offset += kZeroBytes)
    write(zeros.data(), static_cast<size_t>(std::min<uint64_t>(kZeroBytes, end - offset)), offset);
}

std::string numbered_file(const char *kind, uint64_t number) {
  char name[64];
  std::snprintf(name, sizeof name, "%s/%s-%08llu", kDerivedFolder, kind,
                static_cast<unsigned long long>(number));
  return name;
}

bool exists(const Directory &directory, const std::string &name) {
  struct stat status;
  if (::fstatat(directory.descriptor(), name.c_str(), &status, 0) == 0) return true;
  if (errno == ENOENT) return false;
  throw_errno(name, errno);
}

void remove_file(const Directory &directory, const std::string &name) {
  if (::unlinkat(directory.descriptor(), name.c_str(), 0) != 0 && errno != ENOENT)
    throw_errno(name, errno);
}

void sync_directory(const Directory &directory, const std::string &name) {
  const int descriptor = opened_folder(directory, name);
  const int failed = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (failed != 0) throw_errno(name, failed);
}

void make_directory(const Directory &directory, const std::string &name) {
  if (::mkdirat(directory.descriptor(), name.c_str(), 0755) == 0)
    sync_directory(directory, "");
  else if (errno != EEXIST)
    throw_errno(name, errno);
}

std::vector<std::string> list_directory(const Directory &directory, const std::string &name) {
  std::vector<std::string> names;
  const int descriptor = opened_folder(directory, name);
  DIR *const stream = ::fdopendir(descriptor);
  if (stream == nullptr) {
    const int failed = errno;
    ::close(descriptor);
    throw_errno(name, failed);
  }
  while (const dirent *entry = ::readdir(stream)) names.emplace_back(entry->d_name);
  ::closedir(stream);
  return names;
}

Bytes read_whole(const Directory &directory, const std::string &name, uint64_t most) {
  const File file(directory, name, Open::kRead);
  if (file.size() > most) throw corrupt(name, "it is longer than such a file can be");
  Bytes bytes(file.size());
  file.read(bytes.data(), bytes.size(), 0);
  return bytes;
}

void replace_whole(const Directory &directory, const std::string &folder, const std::string &name,
                   const Bytes &bytes) {
  const std::string path = folder + "/" + name;
  const std::string unfinished = path + ".tmp";
  {
    File file(directory, unfinished, Open::kReplace);
    file.write(bytes.data(), bytes.size(), 0);
    if (!CDB_FAULT("replaced-file-not-synced")) file.sync();
  }
  if (::renameat(directory.descriptor(), unfinished.c_str(), directory.descriptor(),
                 path.c_str()) != 0)
    throw_errno(path, errno);
  sync_directory(directory, folder);
}

Mapping::Mapping(const File &file, uint64_t n) : data_(nullptr), size_(n) {
  if (n == 0) return;
  void *const address =
      ::mmap(nullptr, n, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.descriptor(), 0);
  if (address == MAP_FAILED) throw_errno(file.name(), errno);
  data_ = static_cast<uint8_t *>(address);
  guard_.emplace(address, n, file.name(), file.lost());
  ::madvise(data_, n, MADV_RANDOM);
}

void Mapping::read_ahead(uint64_t begin, uint64_t end) const {
  begin = begin / kPageBytes * kPageBytes;
  end = std::min(end, size_);
  if (begin >= end || seems_resident(data_ + begin, end - begin)) return;
  for (; begin < end; begin += kAheadBytes)
    ::madvise(data_ + begin, std::min(kAheadBytes, end - begin), MADV_WILLNEED);
}

void Mapping::release(uint64_t begin, uint64_t end) const {
  begin = begin / kPageBytes * kPageBytes;
  if (begin >= end) return;
#ifdef MADV_COLD
  // Read once, in order: what is read again and again should not have to go for it.
  ::madvise(data_ + begin, end - begin, MADV_COLD);
#endif
  ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

Mapping::~Mapping() {
  guard_.reset();
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace cdb::coin_log
