// Who may touch what: one thread writes at a time, and any number read beside it.
//
// What readers see changes only within a Change, which waits until no reader is inside. So a reader
// sees one state from its first step to its last. The writer looks at that state as it likes, for
// nobody else changes it. What takes long (a write, a sync, a merge) goes on outside of a Change.
#pragma once

#include "failure.h"
#include "fault_points.h"

#include <exception>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace cdb {

class Access {
 public:
  // Nothing is read after a write that failed: what there is may be half of a change. Within one:
  void doubt(const std::string &why) { doubt_ = "a write failed (" + why + ")"; }
  // Throws what is to be said of that.
  void check() const {
    if (!doubt_.empty()) throw Failure(CDB_CLOSED, "", doubt_, "open it again");
  }

 private:
  friend class Reading;
  friend class Change;

  // Who waits for a change holds it, so that readers who come meanwhile wait for that.
  std::mutex entrance_;
  std::shared_mutex state_;
  std::string doubt_;
};

class Reading {
 public:
  explicit Reading(Access &access) {
    if (CDB_FAULT("reader-takes-no-lock")) return;
    const std::lock_guard<std::mutex> entrance(access.entrance_);
    inside_ = std::shared_lock<std::shared_mutex>(access.state_);
  }

 private:
  std::shared_lock<std::shared_mutex> inside_;
};

class Change {
 public:
  explicit Change(Access &access)
      : access_(access), entrance_(access.entrance_), alone_(access.state_) {}
  ~Change() {
    if (std::uncaught_exceptions() > exceptions_) access_.doubt("half of a change was made");
  }
  Change(const Change &) = delete;
  Change &operator=(const Change &) = delete;

 private:
  Access &access_;
  const int exceptions_ = std::uncaught_exceptions();
  const std::lock_guard<std::mutex> entrance_;
  const std::lock_guard<std::shared_mutex> alone_;
};

}  // namespace cdb
