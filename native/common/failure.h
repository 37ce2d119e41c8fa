// What goes wrong inside an engine: thrown there, and told by its C face (c_face.h).
#pragma once

#include "shared_api.h"

#include <exception>
#include <string>

namespace cdb {

// The fields of a cdb_error.
class Failure : public std::exception {
 public:
  // file: relative to the database's directory; empty where no file is at fault.
  Failure(cdb_status status, std::string file, std::string what, std::string advice = "");
  // What somebody else has told.
  explicit Failure(const cdb_error &told);
  // At a place in its file.
  Failure at(uint64_t offset) const;
  // Because the system refused, with this error number.
  Failure because_of(int system_errno) const;

  cdb_status status() const { return status_; }
  const std::string &file() const { return file_; }
  const char *what() const noexcept override { return what_.c_str(); }
  // -1: nowhere in particular.
  int64_t offset() const { return offset_; }
  void tell(cdb_error *error) const noexcept;

 private:
  cdb_status status_;
  std::string file_, what_, advice_;
  int64_t offset_ = -1;
  int system_errno_ = 0;
};

// Within a catch: what was thrown. Needs no memory.
cdb_status tell_thrown(cdb_error *error) noexcept;

}  // namespace cdb
