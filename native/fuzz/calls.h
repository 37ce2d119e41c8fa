// What the targets that call a C face have in common: what a call gave back, and a run of calls.
#pragma once

#include "common/shared_api.h"
#include "input.h"
#include "scratch.h"

#include <cstddef>
#include <cstdint>

// Whether a call succeeded; a failure must be the other status. Clears the error for the next call.
inline bool is_ok(cdb_status status, cdb_error *error, cdb_status other = CDB_OK) {
  require(error->status == status, "a failure is told, and of a success nothing is");
  require((status == CDB_OK) == (error->what[0] == '\0'), "what is told has a text");
  if (status != CDB_OK && status != other) require(false, error->what);
  *error = {};
  return status == CDB_OK;
}

// Lets a Session make the input's calls, and check what is left.
template <typename Session>
int run_session(const uint8_t *data, size_t bytes) {
  constexpr int kMostCalls = 40;
  Input input(data, bytes);
  Session session(&input);
  for (int i = 0; i < kMostCalls && !input.empty(); ++i) session.call();
  session.check();
  return 0;
}
