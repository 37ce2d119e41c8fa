// A directory that is held open, and a path by which a library reaches it wherever it is moved to.
//
// Libraries go by paths for as long as a database is open: RocksDB makes logs and tables, removes
// old ones, also as it closes, and removes whatever table its manifest does not name. By the path
// of a directory that was moved it would do all that to whatever has come to its place.
#pragma once

#include "common/failure.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

inline constexpr const char *kDescriptors = "/proc/self/fd/";

class HeldDirectory {
 public:
  explicit HeldDirectory(const std::string &path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        path_(kDescriptors + std::to_string(descriptor_)) {
    if (descriptor_ < 0)
      throw cdb::Failure(errno == ENOENT ? CDB_NOT_FOUND : CDB_IO, "", "it can't be opened")
          .because_of(errno);
    if (::access(path_.c_str(), F_OK) != 0) path_ = path;  // a system without it
  }
  ~HeldDirectory() { ::close(descriptor_); }
  HeldDirectory(const HeldDirectory &) = delete;
  HeldDirectory &operator=(const HeldDirectory &) = delete;

  const std::string &path() const { return path_; }

 private:
  const int descriptor_;
  std::string path_;
};

// A text of a library's, where files are named by where they are in a held directory.
inline std::string without_descriptors(std::string text) {
  for (size_t at = 0; (at = text.find(kDescriptors, at)) != std::string::npos;) {
    const size_t digits = at + std::char_traits<char>::length(kDescriptors);
    const size_t end = text.find_first_not_of("0123456789", digits);
    const bool has_name = end != std::string::npos && text[end] == '/';
    text.erase(at, (end == std::string::npos ? text.size() : end) - at + (has_name ? 1 : 0));
  }
  return text;
}
