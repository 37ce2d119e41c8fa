// The functions of cdb_ordered_kv.h by the library CDB_FOREIGN_LIBRARY, which lies beside this
// extension and whose engine CDB_FOREIGN_ENGINE this is; see foreign.h.
//
// Such a library has a runtime with threads from the moment it is loaded. So it is loaded when it
// is used first, is never let go, and is nothing to a child of fork(), which has not got those
// threads and would wait for them for ever.

#include "foreign.h"

#include "common/c_face.h"
#include "common/file_lock.h"
#include "common/held_directory.h"

#include <dlfcn.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

using cdb::Failure;
using cdb::FileLock;
using cdb::guarded;

namespace {

constexpr const char *kEngine = CDB_FOREIGN_ENGINE;
constexpr const char *kLibrary = CDB_FOREIGN_LIBRARY;

std::string beside_this(const char *file) {
  Dl_info here{};
  if (::dladdr(&kEngine, &here) == 0 || here.dli_fname == nullptr) return file;
  const std::string path = here.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + file;
}

struct Library {
  Library() : handle(::dlopen(beside_this(kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr)
      throw Failure(CDB_FAILED, "", std::string(kLibrary) + " can't be loaded: " + ::dlerror(),
                    std::string("type make engine-") + kEngine + ", or install cdb again");
    find("version", &version);
    find("open", &open);
    find("close", &close);
    find("get_stats", &get_stats);
    find("commit", &commit);
    find("run_begin", &run_begin);
    find("run_add", &run_add);
    find("run_finish", &run_finish);
    find("run_free", &run_free);
    find("ingest", &ingest);
    find("view_begin", &view_begin);
    find("view_free", &view_free);
    find("get_many", &get_many);
    find("seek_many", &seek_many);
    find("scan_begin", &scan_begin);
    find("scan_next", &scan_next);
    find("scan_free", &scan_free);
    find("checkpoint", &checkpoint);
    find("settle", &settle);
    find("verify", &verify);
  }
  template <typename Function>
  void find(const char *name, Function *function) const {
    const std::string symbol = std::string("cdb_foreign_") + name;
    *function = reinterpret_cast<Function>(::dlsym(handle, symbol.c_str()));
    if (*function == nullptr)
      throw Failure(CDB_FAILED, "", std::string(kLibrary) + " has no function " + symbol,
                    "install cdb again");
  }

  void *const handle;
  const pid_t process = ::getpid();
  decltype(&cdb_foreign_version) version;
  decltype(&cdb_foreign_open) open;
  decltype(&okv_close) close;
  decltype(&okv_get_stats) get_stats;
  decltype(&okv_commit) commit;
  decltype(&okv_run_begin) run_begin;
  decltype(&okv_run_add) run_add;
  decltype(&okv_run_finish) run_finish;
  decltype(&okv_run_free) run_free;
  decltype(&okv_ingest) ingest;
  decltype(&okv_view_begin) view_begin;
  decltype(&okv_view_free) view_free;
  decltype(&okv_get_many) get_many;
  decltype(&okv_seek_many) seek_many;
  decltype(&okv_scan_begin) scan_begin;
  decltype(&okv_scan_next) scan_next;
  decltype(&okv_scan_free) scan_free;
  decltype(&okv_checkpoint) checkpoint;
  decltype(&okv_settle) settle;
  decltype(&okv_verify) verify;
};

// Loaded by the first call.
const Library &library() {
  static const auto *const loaded = new Library;
  if (loaded->process != ::getpid())
    throw Failure(CDB_LIMIT, "",
                  std::string("the process that this one was forked from has loaded ") + kLibrary,
                  "its threads are not here; start a new process");
  return *loaded;
}

template <size_t n>
void drop_descriptors(char (&text)[n]) {
  const std::string without = without_descriptors(text);
  text[without.copy(text, n - 1)] = '\0';
}

// Passes a call on, unless this process can't.
template <typename Call>
cdb_status passed_on(cdb_error *error, Call call) {
  return guarded(error, [&] {
    cdb_error told;
    if (call(library(), &told) == CDB_OK) return;
    drop_descriptors(told.what);
    throw Failure(told);
  });
}

template <typename Free>
void passed_on(Free free) {
  cdb_error ignored;
  guarded(&ignored, [&] { free(library()); });  // where it fails, a child never frees them
}

}  // namespace

// What a library has open is `theirs`: its handles for runs, views and scans go by as they are.
struct okv {
  okv(const char *path, const okv_options &wanted) : directory(path) {
    if (wanted.read_only != 0) return;
    lock.emplace(path, O_RDONLY | O_DIRECTORY, "");
    if (!lock->try_lock(LOCK_EX))
      throw Failure(CDB_LOCKED, "", "somebody has it open for writing", "close it there first");
  }
  const HeldDirectory directory;
  std::optional<FileLock> lock;
  okv *theirs = nullptr;
};

const char *okv_version(void) {
  const char *version = kEngine;
  passed_on([&](const Library &its) { version = its.version(kEngine); });
  return version;
}

cdb_status okv_open(const char *path, const okv_options *options, okv **kv, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    auto opened = std::make_unique<okv>(path, *options);
    const cdb_status status =
        its.open(kEngine, opened->directory.path().c_str(), options, &opened->theirs, why);
    if (status == CDB_OK) *kv = opened.release();
    return status;
  });
}

cdb_status okv_close(okv *kv, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    const std::unique_ptr<okv> closed(kv);
    return its.close(kv->theirs, why);
  });
}

cdb_status okv_get_stats(okv *kv, okv_stats *stats, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.get_stats(kv->theirs, stats, why);
  });
}

cdb_status okv_commit(okv *kv, const okv_op *ops, okv_items keys, okv_items values,
                      okv_durability durability, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.commit(kv->theirs, ops, keys, values, durability, why);
  });
}

cdb_status okv_run_begin(okv *kv, uint8_t space, okv_run **run, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.run_begin(kv->theirs, space, run, why);
  });
}

cdb_status okv_run_add(okv_run *run, okv_items keys, okv_items values, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.run_add(run, keys, values, why);
  });
}

cdb_status okv_run_finish(okv_run *run, cdb_error *error) {
  return passed_on(error,
                   [=](const Library &its, cdb_error *why) { return its.run_finish(run, why); });
}

void okv_run_free(okv_run *run) {
  passed_on([=](const Library &its) { its.run_free(run); });
}

cdb_status okv_ingest(okv *kv, okv_run *const *runs, size_t n_runs, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.ingest(kv->theirs, runs, n_runs, why);
  });
}

cdb_status okv_view_begin(okv *kv, okv_view **view, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.view_begin(kv->theirs, view, why);
  });
}

void okv_view_free(okv_view *view) {
  passed_on([=](const Library &its) { its.view_free(view); });
}

cdb_status okv_get_many(okv *kv, okv_view *view, uint8_t space, okv_items keys, okv_wanted *wanted,
                        okv_reuse reuse, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.get_many(kv->theirs, view, space, keys, wanted, reuse, why);
  });
}

cdb_status okv_seek_many(okv *kv, okv_view *view, uint8_t space, okv_items keys,
                         uint32_t suffix_bytes, int32_t is_before, okv_reuse reuse, okv_page *page,
                         uint8_t *found, size_t *done, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.seek_many(kv->theirs, view, space, keys, suffix_bytes, is_before, reuse, page, found,
                         done, why);
  });
}

cdb_status okv_scan_begin(okv *kv, okv_view *view, uint8_t space, const okv_bounds *bounds,
                          int32_t is_reverse, okv_reuse reuse, okv_scan **scan, cdb_error *error) {
  return passed_on(error, [=](const Library &its, cdb_error *why) {
    return its.scan_begin(kv->theirs, view, space, bounds, is_reverse, reuse, scan, why);
  });
}

cdb_status okv_scan_next(okv_scan *scan, okv_page *page, cdb_error *error) {
  return passed_on(
      error, [=](const Library &its, cdb_error *why) { return its.scan_next(scan, page, why); });
}

void okv_scan_free(okv_scan *scan) {
  passed_on([=](const Library &its) { its.scan_free(scan); });
}

cdb_status okv_checkpoint(okv *kv, cdb_error *error) {
  return passed_on(
      error, [=](const Library &its, cdb_error *why) { return its.checkpoint(kv->theirs, why); });
}

cdb_status okv_settle(okv *kv, cdb_error *error) {
  return passed_on(error,
                   [=](const Library &its, cdb_error *why) { return its.settle(kv->theirs, why); });
}

cdb_status okv_verify(okv *kv, cdb_error *error) {
  return passed_on(error,
                   [=](const Library &its, cdb_error *why) { return its.verify(kv->theirs, why); });
}
