// Pages of mapped files that could not be read.
//
// Where a disk fails, or somebody has shortened a file, reading its mapping raises SIGBUS, which
// would kill the process. A handler puts zeros in place of the whole mapping instead, and notes the
// file. So what was concluded from mapped bytes counts only if nothing is lost by then.
//
// Who installs a handler of their own later has to pass on what is not theirs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cdb {

// Of one database: whether any page was lost, and of which file the first one.
class LostPages {
 public:
  bool any() const { return is_any_.load(std::memory_order_acquire); }
  // "" while there are none.
  const char *file() const { return any() ? file_ : ""; }
  // Where in it, if its mapping begins where it does.
  uint64_t offset() const { return any() ? offset_ : 0; }

 private:
  friend class GuardedMapping;
  void note(const std::string &file, uint64_t offset);

  std::atomic<bool> is_any_{false};
  char file_[64] = "";
  uint64_t offset_ = 0;
};

// Throws a Failure when pages were lost: what was concluded from them must not count.
void check_readable(const LostPages &lost);

// What a body concludes from mapped bytes counts only if all of them could be read.
template <typename Body>
void with_readable_mappings(const LostPages &lost, Body body) {
  check_readable(lost);
  try {
    body();
  } catch (...) {
    check_readable(lost);
    throw;
  }
  check_readable(lost);
}

// Guards the bytes mapped at an address, as long as it lives.
class GuardedMapping {
 public:
  GuardedMapping(void *address, size_t n, std::string file, std::shared_ptr<LostPages> lost);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping &) = delete;
  GuardedMapping &operator=(const GuardedMapping &) = delete;

  // For the handler: whether the address lay in a mapping, in place of which there are zeros now.
  static bool replace_at(const void *address);

 private:
  bool has(const void *address) const;
  bool replace(const void *address) const;
  size_t offset_of(const void *address) const;

  void *const address_;
  const size_t n_;
  const std::string file_;
  const std::shared_ptr<LostPages> lost_;
};

}  // namespace cdb
