// The functions of cdb_ordered_kv.h, by what an engine in C++ defines before it includes this:
//
//   okv       with a constructor of (path, options), and open(options), close(), stats(), commit(),
//             ingest(), get_many(), seek_many(), checkpoint(), settle() and verify(); and
//             reading(body) and writing(body), which call the body, and throw where it must not
//             count: after it, too, so what it makes goes to the caller behind them
//   okv_run   with a constructor of (okv *, space), and add() and finish()
//   okv_view  with a constructor of (okv *)
//   okv_scan  with a constructor of (okv *, view, space, bounds, is_reverse, reuse), next() and
//   kv()
//
// What they throw becomes errors.
#pragma once

#include "cdb_ordered_kv.h"

#include "common/c_face.h"
#include "packed.h"

#include <memory>

using cdb::guarded;

cdb_status okv_open(const char *path, const okv_options *options, okv **kv, cdb_error *error) {
  return guarded(error, [=] {
    auto opened = std::make_unique<okv>(path, *options);
    opened->reading([&] { opened->open(*options); });
    *kv = opened.release();
  });
}

cdb_status okv_close(okv *kv, cdb_error *error) {
  return guarded(error, [=] {
    const std::unique_ptr<okv> closed(kv);
    closed->close();
  });
}

cdb_status okv_get_stats(okv *kv, okv_stats *stats, cdb_error *error) {
  return guarded(error, [=] { kv->reading([=] { *stats = kv->stats(); }); });
}

cdb_status okv_commit(okv *kv, const okv_op *ops, okv_items keys, okv_items values,
                      okv_durability durability, cdb_error *error) {
  return guarded(error, [=] { kv->writing([=] { kv->commit(ops, keys, values, durability); }); });
}

cdb_status okv_run_begin(okv *kv, uint8_t space, okv_run **run, cdb_error *error) {
  return guarded(error, [=] {
    std::unique_ptr<okv_run> begun;
    kv->writing([&] { begun = std::make_unique<okv_run>(kv, space); });
    *run = begun.release();
  });
}

cdb_status okv_run_add(okv_run *run, okv_items keys, okv_items values, cdb_error *error) {
  return guarded(error, [=] { run->add(keys, values); });
}

cdb_status okv_run_finish(okv_run *run, cdb_error *error) {
  return guarded(error, [=] { run->finish(); });
}

void okv_run_free(okv_run *run) { delete run; }

cdb_status okv_ingest(okv *kv, okv_run *const *runs, size_t n_runs, cdb_error *error) {
  return guarded(error, [=] { kv->writing([=] { kv->ingest(runs, n_runs); }); });
}

cdb_status okv_view_begin(okv *kv, okv_view **view, cdb_error *error) {
  return guarded(error, [=] {
    std::unique_ptr<okv_view> begun;
    kv->reading([&] { begun = std::make_unique<okv_view>(kv); });
    *view = begun.release();
  });
}

void okv_view_free(okv_view *view) { delete view; }

cdb_status okv_get_many(okv *kv, okv_view *view, uint8_t space, okv_items keys, okv_wanted *wanted,
                        okv_reuse reuse, cdb_error *error) {
  return guarded(error,
                 [=] { kv->reading([=] { kv->get_many(view, space, keys, wanted, reuse); }); });
}

cdb_status okv_seek_many(okv *kv, okv_view *view, uint8_t space, okv_items keys,
                         uint32_t suffix_bytes, int32_t is_before, okv_reuse reuse, okv_page *page,
                         uint8_t *found, size_t *done, cdb_error *error) {
  return guarded(error, [=] {
    kv->reading([=] {
      const cdb::engines::Seeks seeks{space, keys, suffix_bytes, is_before != 0, reuse};
      kv->seek_many(view, seeks, page, found, done);
    });
  });
}

cdb_status okv_scan_begin(okv *kv, okv_view *view, uint8_t space, const okv_bounds *bounds,
                          int32_t is_reverse, okv_reuse reuse, okv_scan **scan, cdb_error *error) {
  return guarded(error, [=] {
    std::unique_ptr<okv_scan> begun;
    kv->reading([&] {
      begun = std::make_unique<okv_scan>(kv, view, space, *bounds, is_reverse != 0, reuse);
    });
    *scan = begun.release();
  });
}

cdb_status okv_scan_next(okv_scan *scan, okv_page *page, cdb_error *error) {
  return guarded(error, [=] { scan->kv()->reading([=] { scan->next(page); }); });
}

void okv_scan_free(okv_scan *scan) { delete scan; }

cdb_status okv_checkpoint(okv *kv, cdb_error *error) {
  return guarded(error, [=] { kv->writing([=] { kv->checkpoint(); }); });
}

cdb_status okv_settle(okv *kv, cdb_error *error) {
  return guarded(error, [=] { kv->writing([=] { kv->settle(); }); });
}

cdb_status okv_verify(okv *kv, cdb_error *error) {
  return guarded(error, [=] { kv->reading([=] { kv->verify(); }); });
}
