// What goes wrong with the files of a coin log.
#pragma once

#include "common/failure.h"

namespace cdb::coin_log {

inline Failure corrupt(const std::string &file, const std::string &problem) {
  return {CDB_CORRUPT, file, problem};
}

inline Failure corrupt_derived(const std::string &file) { return corrupt(file, "damaged"); }

}  // namespace cdb::coin_log
