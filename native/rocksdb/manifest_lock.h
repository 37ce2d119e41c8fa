// Lets a reader open a database while its manifest rests.
//
// A reader reads the manifest, opens the tables that it names, and then reads the logs. If the
// manifest changes meanwhile, tables are gone, or blocks are missing in the middle. So a reader
// holds a shared flock of the directory while it opens, and a writer an exclusive one while it
// appends to the manifest. Neither waits long for a process that hangs: a reader notices if the
// manifest changed all the same.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

class ManifestLock {
 public:
  // operation: LOCK_SH or LOCK_EX.
  ManifestLock(const std::string &directory, int operation)
      : directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (directory_ >= 0 && flock(directory_, operation | LOCK_NB) != 0 &&
           std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ~ManifestLock() {
    if (directory_ >= 0) ::close(directory_);  // which unlocks it
  }
  ManifestLock(const ManifestLock &) = delete;
  ManifestLock &operator=(const ManifestLock &) = delete;

 private:
  const int directory_;
};
