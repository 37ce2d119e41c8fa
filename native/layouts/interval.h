// The layout "interval": one row says where a coin is confirmed and where it is spent.
//
//   rows  name (32)   the newest version; see versions.h
//
// With payload=inline the space is rows_inline. A spend replaces the row, by what the check of the
// spend has read. As of a block what comes from a later one is not there. docs/layouts/interval.md
// says more.
#pragma once

#include "latest.h"

namespace cdb::layouts {

class Interval : public LayoutOf<Interval> {
 public:
  explicit Interval(const Options &options)
      : payload_(options), rows_(kFirst, NameKeys(), payload_) {}

  LayoutSpaces spaces() const override {
    return {{{payload_.choose("rows", "rows_inline"), OKV_RANDOM, 0, 0},
             {"unused", OKV_ASCENDING, 0, 0}}};
  }
  bool is_inline() const override { return payload_.is_inline(); }
  void find(const Source &source, const std::vector<Asked> &sorted, const AsOf &as_of,
            okv_reuse reuse, Found *found) const override {
    rows_.find(source, sorted, as_of.index, reuse, found);
  }
  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst) rows_.put_rows(coins, put);
  }
  bool reads_to_undo() const override { return true; }
  void undo(const Source &source, const Blocks &blocks, int64_t kept, Batch *to) const override {
    rows_.undo(source, blocks, kept, to);
  }
  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const override {
    return rows_.scan(source, as_of);
  }

 private:
  const Payload payload_;
  const Latest<NameKeys> rows_;
};

}  // namespace cdb::layouts
