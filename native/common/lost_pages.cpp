#include "lost_pages.h"

#include "failure.h"
#include "fault_points.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace cdb {

namespace {

// The handler locks it, too: it runs where mapped bytes are read, and nobody does that holding it.
// A child made by fork() opens files of its own: no thread that the child has not may hold it then.
std::mutex &registry_mutex() {
  static auto *const mutex = new std::mutex;
  return *mutex;
}

std::vector<const GuardedMapping *> &registry() {
  static auto *const mappings = new std::vector<const GuardedMapping *>;
  return *mappings;
}

struct sigaction previous_action;

void pass_on(int signal, siginfo_t *info, void *context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0)
    return previous_action.sa_sigaction(signal, info, context);
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
    return previous_action.sa_handler(signal);
  // A fault comes again by itself, a signal that was sent does not.
  ::sigaction(signal, &previous_action, nullptr);
  if (info->si_code <= 0) ::raise(signal);
}

void on_bus_error(int signal, siginfo_t *info, void *context) {
  const int saved_errno = errno;
  const bool is_fault = info->si_code > 0;
  if (!is_fault || !GuardedMapping::replace_at(info->si_addr)) pass_on(signal, info, context);
  errno = saved_errno;
}

void install_handler() {
  // What a child has not got, or must not use, is not guarded there: others may be mapped in its
  // place.
  const auto forget = [] {
    registry().clear();
    registry_mutex().unlock();
  };
  ::pthread_atfork([] { registry_mutex().lock(); }, [] { registry_mutex().unlock(); }, forget);
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous_action);
}

}  // namespace

void LostPages::note(const std::string &file, uint64_t offset) {
  if (any()) return;
  offset_ = offset;
  std::memcpy(file_, file.c_str(), std::min(file.size(), sizeof file_ - 1));
  is_any_.store(true, std::memory_order_release);
}

void check_readable(const LostPages &lost) {
  if (lost.any())
    throw Failure(CDB_IO, lost.file(), "a part of it cannot be read, or it was shortened");
}

GuardedMapping::GuardedMapping(void *address, size_t n, std::string file,
                               std::shared_ptr<LostPages> lost)
    : address_(address), n_(n), file_(std::move(file)), lost_(std::move(lost)) {
  static std::once_flag once;
  std::call_once(once, install_handler);
  const std::lock_guard<std::mutex> lock(registry_mutex());
  registry().push_back(this);
}

GuardedMapping::~GuardedMapping() {
  const std::lock_guard<std::mutex> lock(registry_mutex());
  const auto own = std::find(registry().begin(), registry().end(), this);
  if (own != registry().end()) registry().erase(own);
}

bool GuardedMapping::replace_at(const void *address) {
  const std::lock_guard<std::mutex> lock(registry_mutex());
  const auto mapping = std::find_if(registry().begin(), registry().end(),
                                    [address](const auto *each) { return each->has(address); });
  return mapping != registry().end() && (*mapping)->replace(address);
}

size_t GuardedMapping::offset_of(const void *address) const {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(address_);
}

bool GuardedMapping::has(const void *address) const { return offset_of(address) < n_; }

// Noted first: who reads zeros finds the note.
bool GuardedMapping::replace(const void *address) const {
  if (!CDB_FAULT("lost-page-not-noted")) lost_->note(file_, offset_of(address));
  return ::mmap(address_, n_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                -1, 0) != MAP_FAILED;
}

}  // namespace cdb
