/*
 * The face of an ordered key-value engine: byte strings to byte strings, in a few spaces, each in
 * the order of memcmp. It knows nothing of what they mean.
 *
 * An engine is one source in engines/ that implements all of it. It is linked with the coin set
 * (coin_set/) and a layout (layouts/) into one extension module each, where its symbols are hidden.
 * Plain declarations, so that it can be written in any language that speaks C.
 *
 * Conventions
 *
 * - Calls that can fail are as cdb_error.h says. A failed write is final: only close follows.
 * - Items are packed: item i ends at ends[i], and begins where the one before ends, the first at 0.
 * - All memory is the caller's, and no call keeps a pointer that it was given. Handles are the
 *   engine's.
 * - Each call is about many entries, for it may cost more than a few of them.
 * - Threads: commit, ingest, checkpoint, settle and close write: one of them at a time. The others
 *   are for any number of threads at once, beside the one that writes; on one run, one scan, or one
 *   view and its scans, one call at a time. close comes when no other call goes on, and all runs,
 *   scans and views are freed.
 * - After a crash there is what a prefix of the commits and ingests has left, down to the last one
 *   that was made durable, or a later one.
 */
#ifndef CDB_ORDERED_KV_H
#define CDB_ORDERED_KV_H

#include "common/error_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct okv okv;
typedef struct okv_run okv_run;
typedef struct okv_scan okv_scan;
typedef struct okv_view okv_view;

typedef struct {
  size_t n;
  const uint8_t *bytes;
  const uint64_t *ends;
} okv_items;

typedef enum {
  OKV_ASCENDING, /* keys come in order, as a log's do */
  OKV_RANDOM,    /* keys come in any order, and many that are looked up are absent */
  OKV_UNFILTERED /* the same; no filter of prefixes is asked, whether or not files have one */
} okv_order;

/* Its name is for the engine's files: letters and "_". Where one of
   prefix_bytes and suffix_bytes is not 0, no key is looked up as a whole: scans and seeks are for
   keys that share so many leading bytes, or all but so many of the last ones; and many that are
   asked for are absent. No such prefix begins another one. */
typedef struct {
  const char *name;
  okv_order order;
  uint32_t prefix_bytes;
  uint32_t suffix_bytes;
} okv_space;

/* What a commit survives when the call has returned. */
typedef enum {
  OKV_PROCESS, /* the death of the process; a power cut takes it only with all that came later */
  OKV_POWER    /* power loss */
} okv_durability;

typedef struct {
  int32_t create;          /* make the database where there is none */
  int32_t read_only;       /* nothing on disk changes, and writes give CDB_INVALID */
  okv_durability mostly;   /* what most commits are going to ask for */
  uint64_t cache_bytes;    /* of decoded entries, for all spaces */
  uint64_t memtable_bytes; /* that a space collects before they become a file, where one does */
  uint64_t memory_bytes;   /* that the process may have: an engine with a heap of its own takes
                              half of it at most, if it can; 0: nobody knows */
  size_t n_spaces;         /* the same at each opening, */
  const okv_space *spaces; /* and in the same order; */
  size_t n_late_spaces;    /* but the last ones may come later: where they are missing they are
                              made, or, read_only, never used */
} okv_options;

typedef struct {
  uint8_t space;
  uint8_t is_delete; /* its value is empty; the key need not be there */
} okv_op;

/* Which bytes of a key's value are wanted, and where they go. */
typedef struct {
  uint32_t from;
  uint32_t most;
  uint8_t *to;     /* room for `most`; those that the value has are set */
  uint32_t length; /* set: of the whole value; OKV_ABSENT where there is no such key */
} okv_wanted;

#define OKV_ABSENT UINT32_MAX
#define OKV_MOST_MEMTABLE_BYTES (32 << 20) /* of all that is ever asked for */

typedef enum {
  OKV_OFTEN, /* somebody may ask for these soon again */
  OKV_ONCE,  /* nobody is likely to */
  OKV_MOST   /* nor for these, but for most others of the space, in any order */
} okv_reuse;

/* Entries with first <= key < end; without an end where end_bytes is 0. */
typedef struct {
  const uint8_t *first;
  size_t first_bytes;
  const uint8_t *end;
  size_t end_bytes;
} okv_bounds;

/* Entries that a scan has read: n of at most `most`. */
typedef struct {
  uint8_t *keys;
  size_t keys_capacity;
  uint64_t *key_ends;
  uint8_t *values;
  size_t values_capacity;
  uint64_t *value_ends;
  size_t most;
  size_t n;
  int32_t is_end;       /* set: nothing comes behind these */
  size_t keys_needed;   /* set, where the next entry does not fit: capacities with */
  size_t values_needed; /* which it does; 0 else */
} okv_page;

typedef struct {
  uint64_t sequence; /* 0: nothing was ever written. It rises with writes, and never falls. */
  uint64_t ingests;  /* since the opening */
  uint64_t n_spaces; /* that there are: late ones may be missing where nothing is written */
} okv_stats;

/* The library that does the work, such as "RocksDB 7.8.3". Never freed. */
const char *okv_version(void);

/* Open the database in the directory `path` (in the file system's own encoding), which must exist,
   and set *kv. CDB_NOT_FOUND: nothing is there, and it may not be created. CDB_LOCKED: somebody has
   it open for writing; read_only: a writer changed it just now. CDB_CORRUPT: damage, or a space is
   missing that is not a late one. What a crash has left of runs is removed, unless read_only. */
cdb_status okv_open(const char *path, const okv_options *options, okv **kv, cdb_error *error);

/* Release everything, also when it fails. A write that has failed is not told again. */
cdb_status okv_close(okv *kv, cdb_error *error);

cdb_status okv_get_stats(okv *kv, okv_stats *stats, cdb_error *error);

/* One atomic step: ops[i] of keys.item[i], ascending by (space, key), each key once. */
cdb_status okv_commit(okv *kv, const okv_op *ops, okv_items keys, okv_items values,
                      okv_durability durability, cdb_error *error);

/* A run: many entries of one space that ascend, which count once they are ingested. Several may be
   built at the same time. */
cdb_status okv_run_begin(okv *kv, uint8_t space, okv_run **run, cdb_error *error);
cdb_status okv_run_add(okv_run *run, okv_items keys, okv_items values, cdb_error *error);

/* Nothing more comes: what takes long until it can be ingested is done here. */
cdb_status okv_run_finish(okv_run *run, cdb_error *error);
void okv_run_free(okv_run *run);

/* Take in finished runs, one of a space at most, in one atomic step, which survives power loss, and
   so does all before it. Runs without entries count for nothing. */
cdb_status okv_ingest(okv *kv, okv_run *const *runs, size_t n_runs, cdb_error *error);

/* This moment's entries, of all spaces, whatever is written later. What reads from one is freed
   before it is. */
cdb_status okv_view_begin(okv *kv, okv_view **view, cdb_error *error);
void okv_view_free(okv_view *view);

/* Look up keys.n keys, which ascend and may repeat, in a view. Without one (null) each is looked up
   in a state between those at the beginning and at the end of the call; two of them not always in
   the same one. */
cdb_status okv_get_many(okv *kv, okv_view *view, uint8_t space, okv_items keys, okv_wanted *wanted,
                        okv_reuse reuse, cdb_error *error);

/* Of each of keys.n keys, which ascend and may repeat, the nearest entry: the first one at or
   behind it, or with is_before the last one at or before it; if it begins with all of the key but
   its last suffix_bytes. found[i] is set to 1, and the entry added to the page; or to 0. It ends
   where the page has `most` or no room, as a scan does: *done is set to the number of keys that are
   through. States are as in okv_get_many. */
cdb_status okv_seek_many(okv *kv, okv_view *view, uint8_t space, okv_items keys,
                         uint32_t suffix_bytes, int32_t is_before, okv_reuse reuse, okv_page *page,
                         uint8_t *found, size_t *done, cdb_error *error);

/* A scan of a view's entries, or of this moment's, whatever is written later; from the last one
   down with is_reverse. */
cdb_status okv_scan_begin(okv *kv, okv_view *view, uint8_t space, const okv_bounds *bounds,
                          int32_t is_reverse, okv_reuse reuse, okv_scan **scan, cdb_error *error);

/* Add the next entries to those of the page, until it has `most` of them, the next one does not
   fit, or there are no more. Entries that come before one that can't be read are given first: the
   call fails if it can give none. Nothing behind what is given needs to be readable. */
cdb_status okv_scan_next(okv_scan *scan, okv_page *page, cdb_error *error);
void okv_scan_free(okv_scan *scan);

/* Make all durable, and leave nothing that the next opening has to do again. */
cdb_status okv_checkpoint(okv *kv, cdb_error *error);

/* Do all the merging that is owed, durably: reads answer from as few places as can be. */
cdb_status okv_settle(okv *kv, cdb_error *error);

/* Hold everything against its checksums. */
cdb_status okv_verify(okv *kv, cdb_error *error);

#ifdef __cplusplus
}
#endif

#endif
