// What the targets that call a C face have in common: what a call gave back, and a run of calls.
#pragma once

#include "input.h"
#include "scratch.h"

#include <cstddef>
#include <cstdint>

// Whether a call succeeded; a failure must be the other status. Frees the error's text.
template <typename Status>
bool succeeded(Status status, Status ok, Status other, char **error, void (*free_text)(char *)) {
  require((status == ok) == (*error == nullptr), "a failure has a text, and a success none");
  if (status != ok && status != other) require(false, *error);
  free_text(*error);
  *error = nullptr;
  return status == ok;
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
