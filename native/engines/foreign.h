// What a library exports whose engines are written in another language: for each okv_X of
// cdb_ordered_kv.h a cdb_foreign_X of the same type, found by its name; and these two, which are
// told which of its engines is meant.
//
// engines/foreign.cpp makes an extension module of it. There the writer's lock is held, which is
// all that keeps two writers apart: a lock that a library takes itself a forked child would keep.
#pragma once

#include "cdb_ordered_kv.h"

#ifdef __cplusplus
extern "C" {
#endif

// Such as "Pebble 2.1.7, GOMAXPROCS=2": with what decides how fast it is.
const char *cdb_foreign_version(const char *engine);

cdb_status cdb_foreign_open(const char *engine, const char *path, const okv_options *options,
                            okv **kv, cdb_error *error);

#ifdef __cplusplus
}
#endif
