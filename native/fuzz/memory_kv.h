// The functions of cdb_ordered_kv.h over maps in memory: for targets that are about what lies
// above.
#pragma once

#include "cdb_ordered_kv.h"

#include "common/failure.h"
#include "engines/packed.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

using Entries = std::map<std::string, std::string>;
using Spaces = std::vector<Entries>;

inline std::string text_of(const cdb::engines::Item &item) {
  return {reinterpret_cast<const char *>(item.bytes), item.n};
}

inline cdb::engines::Item item_of(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

struct okv_view;

struct okv {
  okv(const char *, const okv_options &wanted) : spaces(wanted.n_spaces) {}
  void open(const okv_options &) {}
  void close() {}
  okv_stats stats() const { return {sequence, 0, spaces.size()}; }
  void commit(const okv_op *ops, const okv_items &keys, const okv_items &values, okv_durability) {
    cdb::engines::InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i) {
      const std::string name = text_of(key.next()), text = text_of(value.next());
      Entries &entries = spaces.at(ops[i].space);
      ops[i].is_delete != 0 ? void(entries.erase(name)) : void(entries[name] = text);
    }
    ++sequence;
  }
  void ingest(okv_run *const *runs, size_t n_runs);
  void get_many(const okv_view *view, uint8_t space, const okv_items &keys, okv_wanted *wanted,
                okv_reuse) const {
    const Entries &entries = seen(view).at(space);
    cdb::engines::InTurn key(keys);
    for (size_t i = 0; i < keys.n; ++i) {
      const auto found = entries.find(text_of(key.next()));
      wanted[i].length = OKV_ABSENT;
      if (found != entries.end()) cdb::engines::copy_wanted(item_of(found->second), &wanted[i]);
    }
  }
  void seek_many(const okv_view *view, const cdb::engines::Seeks &seeks, okv_page *page,
                 uint8_t *found, size_t *done) const {
    const Entries &entries = seen(view).at(seeks.space);
    const auto nearest = [&](const cdb::engines::Item &sought, cdb::engines::Item *key,
                             cdb::engines::Item *value) {
      auto at = entries.lower_bound(text_of(sought));
      if (seeks.is_before) {
        at = entries.upper_bound(text_of(sought));
        if (at == entries.begin()) return false;
        --at;
      }
      if (at == entries.end()) return false;
      *key = item_of(at->first);
      *value = item_of(at->second);
      return true;
    };
    cdb::engines::add_nearest(seeks, nearest, page, found, done);
  }
  void checkpoint() {}
  void settle() {}
  void verify() const {}
  template <typename Body>
  void reading(Body body) {
    body();
  }
  template <typename Body>
  void writing(Body body) {
    body();
  }
  const Spaces &seen(const okv_view *view) const;

  Spaces spaces;
  uint64_t sequence = 0;
};

struct okv_run {
  okv_run(okv *, uint8_t to) : space(to) {}
  void add(const okv_items &keys, const okv_items &values) {
    cdb::engines::InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i) {
      const std::string name = text_of(key.next());
      if (!entries.empty() && name <= entries.rbegin()->first)
        throw cdb::Failure(CDB_INVALID, "", "keys don't ascend");
      entries[name] = text_of(value.next());
    }
  }
  void finish() {}

  const uint8_t space;
  Entries entries;
};

struct okv_view {
  explicit okv_view(const okv *kv) : spaces(kv->spaces) {}
  const Spaces spaces;
};

struct okv_scan {
  okv_scan(okv *of, const okv_view *view, uint8_t space, const okv_bounds &bounds, bool reverse,
           okv_reuse)
      : kv_(of), entries_(of->seen(view).at(space)), is_reverse_(reverse) {
    begin_ = entries_.lower_bound(text_of({bounds.first, bounds.first_bytes}));
    end_ = bounds.end_bytes == 0 ? entries_.end()
                                 : entries_.lower_bound(text_of({bounds.end, bounds.end_bytes}));
  }
  void next(okv_page *page) {
    page->keys_needed = page->values_needed = 0;
    while (begin_ != end_ && page->n < page->most) {
      const auto &entry = is_reverse_ ? *std::prev(end_) : *begin_;
      if (!cdb::engines::add_entry(item_of(entry.first), item_of(entry.second), page)) break;
      is_reverse_ ? void(--end_) : void(++begin_);
    }
    page->is_end = begin_ == end_ ? 1 : 0;
  }
  okv *kv() const { return kv_; }

 private:
  okv *const kv_;
  const Entries entries_;
  const bool is_reverse_;
  Entries::const_iterator begin_, end_;
};

inline const Spaces &okv::seen(const okv_view *view) const {
  return view == nullptr ? spaces : view->spaces;
}

inline void okv::ingest(okv_run *const *runs, size_t n_runs) {
  for (size_t i = 0; i < n_runs; ++i)
    for (const auto &[key, value] : runs[i]->entries) spaces.at(runs[i]->space)[key] = value;
  ++sequence;
}

inline const char *okv_version(void) { return "maps in memory"; }

#include "engines/face.h"
