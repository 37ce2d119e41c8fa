// What goes wrong: thrown inside, turned into a status by the C face.
#pragma once

#include "cdb_coin_log_api.h"

#include <stdexcept>
#include <string>

namespace cdb::coin_log {

// file is relative to the database's directory; empty where no file is at fault.
class Failure : public std::runtime_error {
 public:
  Failure(cdb_coin_log_status status, const std::string &file, const std::string &problem)
      : std::runtime_error(file + "\t" + problem), status_(status) {}
  cdb_coin_log_status status() const { return status_; }

 private:
  cdb_coin_log_status status_;
};

inline Failure corrupt(const std::string &file, const std::string &problem) {
  return {COIN_LOG_CORRUPT, file, problem};
}

inline Failure corrupt_derived(const std::string &file) { return corrupt(file, "damaged"); }

}  // namespace cdb::coin_log
