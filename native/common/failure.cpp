#include "failure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

namespace cdb {

namespace {

// On one line: a library may end its text with the line, or give a list.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What is told at the end of a text, such as the system's reason, counts as much as its beginning.
template <size_t n>
void copy_text(std::string_view text, char (&to)[n]) {
  constexpr std::string_view kLeftOut = " ... ";
  constexpr size_t kHalf = (n - 1 - kLeftOut.size()) / 2;
  char *next = to;
  const auto append = [&next](std::string_view part) {
    std::memcpy(next, part.data(), part.size());
    next += part.size();
  };
  if (text.size() < n) {
    append(text);
  } else {
    append(text.substr(0, kHalf));
    append(kLeftOut);
    append(text.substr(text.size() - kHalf));
  }
  *next = '\0';
}

void tell_unexpected(const char *what, cdb_error *error) noexcept {
  *error = {CDB_FAILED, 0, -1, "", "", "open it again"};
  std::snprintf(error->what, sizeof error->what, "an unexpected failure (%s)", what);
  std::replace(std::begin(error->what), std::end(error->what), '\n', ' ');
}

}  // namespace

Failure::Failure(cdb_status status, std::string file, std::string what, std::string advice)
    : status_(status),
      file_(std::move(file)),
      what_(one_line(std::move(what))),
      advice_(std::move(advice)) {}

Failure::Failure(const cdb_error &told)
    : status_(told.status),
      file_(told.file),
      what_(one_line(told.what)),
      advice_(told.advice),
      offset_(told.offset),
      system_errno_(told.system_errno) {}

Failure Failure::at(uint64_t offset) const {
  Failure placed = *this;
  placed.offset_ = static_cast<int64_t>(offset);
  return placed;
}

Failure Failure::because_of(int system_errno) const {
  Failure explained = *this;
  explained.system_errno_ = system_errno;
  return explained;
}

void Failure::tell(cdb_error *error) const noexcept {
  error->status = status_;
  error->system_errno = system_errno_;
  error->offset = offset_;
  copy_text(file_, error->file);
  copy_text(what_, error->what);
  copy_text(advice_, error->advice);
}

cdb_status tell_thrown(cdb_error *error) noexcept {
  try {
    throw;
  } catch (const Failure &failure) {
    failure.tell(error);
  } catch (const std::bad_alloc &) {
    *error = {CDB_NO_MEMORY, 0, -1, "", "out of memory", ""};
  } catch (const std::exception &exception) {
    tell_unexpected(exception.what(), error);
  } catch (...) {
    tell_unexpected("unknown C++ exception", error);
  }
  return error->status;
}

}  // namespace cdb
