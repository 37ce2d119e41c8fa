// Files: whole reads and writes, durable replacement, and mappings that nothing shrinks.
#pragma once

#include "common/bytes.h"
#include "common/lost_pages.h"

#include <memory>
#include <optional>
#include <string>

namespace cdb::coin_log {

// Where the database is: failures name files relative to it. Its files are its own also when it is
// moved, or removed, and when another one has come to its path.
class Directory {
 public:
  explicit Directory(const std::string &path);

  int descriptor() const { return *descriptor_; }
  // What others have done with it since; "" where its path leads to it still.
  std::string fate() const;

  std::shared_ptr<LostPages> lost = std::make_shared<LostPages>();  // of all mappings of its files

 private:
  std::string path_;
  std::shared_ptr<const int> descriptor_;
};

// kReplace: created, or emptied.
enum class Open { kRead, kCreate, kReplace };

//
// Nothing is written any more when mapped pages were lost: it may have been concluded from zeros.
class File {
 public:
  File(const Directory &directory, const std::string &name, Open mode);
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  const std::string &name() const { return name_; }
  int descriptor() const { return descriptor_; }
  const std::shared_ptr<LostPages> &lost() const { return lost_; }
  uint64_t size() const;
  // Whether it is the file that has its name now.
  bool is_in(const Directory &directory) const;
  void read(uint8_t *to, size_t n, uint64_t offset) const;
  void write(const uint8_t *from, size_t n, uint64_t offset);
  void sync();
  // Have the kernel begin to write a range to the disk: the sync to come has less to wait for.
  void start_writeback(uint64_t offset, uint64_t n);
  // Zero from offset on. The file keeps its length: whoever has it mapped must not be cut off.
  void erase_from(uint64_t offset);

 private:
  std::string name_;
  std::shared_ptr<LostPages> lost_;
  int descriptor_;
};

constexpr const char *kDerivedFolder = "derived";
// A file in it of which there may be several, one after the other.
std::string numbered_file(const char *kind, uint64_t number);

bool exists(const Directory &directory, const std::string &name);
void remove_file(const Directory &directory, const std::string &name);
void sync_directory(const Directory &directory, const std::string &name);
void make_directory(const Directory &directory, const std::string &name);
std::vector<std::string> list_directory(const Directory &directory, const std::string &name);
// Of one that can't be longer than `most`: a longer one may be a hole of any length, and is damage.
Bytes read_whole(const Directory &directory, const std::string &name, uint64_t most);
// Durable, and whole or not at all.
void replace_whole(const Directory &directory, const std::string &folder, const std::string &name,
                   const Bytes &bytes);

// The first n bytes of a file, to be read here and there: the kernel does not read on by itself. It
// may be longer than the file: what lies past the file's end must not be touched. Bytes that cannot
// be read are zeros, and the directory's lost pages say so.
class Mapping {
 public:
  Mapping(const File &file, uint64_t n);
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  const uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }
  // Have the kernel read a range ahead.
  void read_ahead(uint64_t begin, uint64_t end) const;
  // Let go of the memory of a range; the file gives it back where it is read again.
  void release(uint64_t begin, uint64_t end) const;

 private:
  uint8_t *data_;
  uint64_t size_;
  std::optional<GuardedMapping> guard_;
};

// An error number as a Failure about a file.
[[noreturn]] void throw_errno(const std::string &file, int number);

}  // namespace cdb::coin_log
