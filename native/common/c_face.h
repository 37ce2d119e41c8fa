// The guard of a C face: what is thrown behind it becomes an error's fields. No exception gets
// further.
#pragma once

#include "failure.h"

namespace cdb {

template <typename Body>
cdb_status guarded(cdb_error *error, Body body) noexcept {
  try {
    body();
    return CDB_OK;
  } catch (...) {
    return tell_thrown(error);
  }
}

}  // namespace cdb
