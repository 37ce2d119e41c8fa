// Faults that are put in on purpose, to see that tests notice them: see docs/mutants.md.
// CDB_FAULT(name) is whether this one is; unless -DCDB_FAULTS=ON built them in, it is the constant
// false.
#pragma once

#ifdef CDB_FAULTS

#include <cstdlib>
#include <string_view>

namespace cdb {

inline bool has_fault(std::string_view name) {
  static const char *const chosen = std::getenv("CDB_FAULT");
  return chosen != nullptr && name == chosen;
}

}  // namespace cdb

#define CDB_FAULT(name) cdb::has_fault(name)
#else
#define CDB_FAULT(name) false
#endif
