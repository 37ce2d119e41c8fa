// The log file: appended to, read through a mapping that never shrinks.
//
//     offset  bytes  content, little endian
//     0       4      magic "CLOG"
//     4       4      format: 2
//     8       8      key: drawn when the log was made
//     16      8      checksum of these
//     24             records (record.h)
//
// Nobody else knows the key: what a peer puts into a block is never a record with a right checksum.
#pragma once

#include "coin_log/log/writer.h"

#include <future>

namespace cdb::coin_log {

constexpr const char *kLogFile = "log";

// Make a log without a record, durably.
void make_log(const Directory &directory);

// What the kernel was told to read, for one who reads the log in order.
struct ReadAhead {
  uint64_t from = 0, end = 0;
};

class Log {
 public:
  // The file must be there. Its end is behind its head, for now.
  Log(const Directory &directory, bool read_only);

  const Directory &directory() const { return directory_; }
  // Of the checksum of a record there.
  uint64_t seed(uint64_t offset) const { return key_ ^ offset; }
  // Where the next record goes; bytes behind it are none of ours.
  uint64_t end() const { return end_; }
  void set_end(uint64_t end) { end_ = end; }
  uint64_t file_bytes() const { return file_.size(); }
  // Whether the directory has this file, or another in its place, or none. To one that has no name
  // nobody comes to write.
  bool is_in_place() const { return file_.is_in(directory_); }
  // Whether it begins as it did when it was opened, and is as long: no writer changes that.
  bool is_itself() const;

  // Write bytes behind the end. They are in the file, and may be read, when drain() has returned.
  void append(Bytes bytes);
  // Have the log end behind n bytes more, which were appended.
  void extend(uint64_t n);
  void drain() const { writer_.drain(); }
  // An empty buffer for what will be appended.
  Bytes buffer() { return writer_.buffer(); }
  // Small appends between two syncs find the file's end moved ahead of them: they need not wait for
  // the file system to write down each time where the file ends now.
  void sync();
  // Have what was appended so far synced beside what comes. Only when finish_sync() has returned it
  // is; that throws what it has failed with, and so does any sync that comes first.
  void begin_sync();
  void finish_sync();
  // Zero what lies behind the end.
  void erase_tail();
  // Write a range again as it is. Where a sync has failed, the kernel has let go of what it did not
  // write, and shows it still: a later sync alone would promise what is lost.
  void write_again(uint64_t begin, uint64_t end);

  // The bytes from offset on; those before file_bytes() may be read.
  const uint8_t *at(uint64_t offset) const { return mapping_->data() + offset; }
  // A copy of some of them.
  void read(uint8_t *to, size_t n, uint64_t offset) const { file_.read(to, n, offset); }
  // What lies from offset on will be read in order, up to end at most.
  void read_on(uint64_t offset, uint64_t end, ReadAhead *ahead) const;
  // A range is about to be read: what of it is not in memory comes from the disk at once, and not a
  // page at a time.
  void announce(uint64_t begin, uint64_t end) const;
  // Copy the record at offset, of which `available` bytes may be read. False if it is not intact.
  bool read_record(uint64_t offset, uint64_t available, Bytes *record, ReadAhead *ahead) const;
  // Have at() reach up to this offset.
  void map_up_to(uint64_t offset);
  // Let go of the memory through which a range was read; it can be read again.
  void release(uint64_t begin, uint64_t end) const { mapping_->release(begin, end); }

 private:
  void read_head();
  void fill_ahead();

  Directory directory_;
  File file_;
  uint64_t key_ = 0;
  std::unique_ptr<Mapping> mapping_;
  Writer writer_;
  uint64_t end_;
  uint64_t synced_ = 0;        // where the log ended then
  uint64_t filled_ = 0;        // zeros are written up to here
  std::future<void> syncing_;  // uses what is above
};

}  // namespace cdb::coin_log
