// The layout "dual_timeline": the newest version of each coin, and beside it all of them.
//
//   latest    Enc(name), 00 00, 00 × 8        the newest version; see versions.h
//   timeline  Enc(name), 00 00, ~version (8)  each version
//
// Enc and ~ are as in mono_space.h. With payload=inline the spaces are latest_inline and
// timeline_inline. As of the newest block one look-up in `latest` answers, and else a seek in
// `timeline`. docs/layouts/dual_timeline.md draws it.
#pragma once

#include "latest.h"
#include "mono_space.h"

namespace cdb::layouts {

// As if it were a version behind all others.
class DualLatestKeys {
 public:
  static constexpr size_t kMostBytes = MonoSpaceKeys::kMostBytes;

  explicit DualLatestKeys(const MonoSpaceKeys &keys) : keys_(keys) {}
  Key key(const uint8_t *name) const { return keys_.key(name, kVersion); }
  bool read(const Span &key, uint8_t *name) const {
    uint64_t version = 0;
    return keys_.read(key, name, &version) && version == kVersion;
  }

 private:
  static constexpr uint64_t kVersion = UINT64_MAX;  // whose complement is 00 × 8

  MonoSpaceKeys keys_;
};

class DualTimeline : public LayoutOf<DualTimeline> {
 public:
  explicit DualTimeline(const Options &options)
      : keys_(options),
        payload_(options),
        latest_(kFirst, DualLatestKeys(keys_), payload_),
        timeline_(kSecond, keys_, payload_) {}

  LayoutSpaces spaces() const override {
    okv_space timeline = keys_.space();
    timeline.name = payload_.choose("timeline", "timeline_inline");
    return {{{payload_.choose("latest", "latest_inline"), OKV_RANDOM, 0, 0}, timeline}};
  }
  bool is_inline() const override { return payload_.is_inline(); }

  void find(const Source &source, const std::vector<Asked> &sorted, const AsOf &as_of,
            okv_reuse reuse, Found *found) const override {
    if (as_of.is_newest)
      latest_.find(source, sorted, as_of.index, reuse, found);
    else
      timeline_.find(source, sorted, as_of.index, reuse, found);
  }

  template <typename Put>
  void put_rows(Space space, const Coins &coins, Put put) const {
    if (space == kFirst)
      latest_.put_rows(coins, put);
    else
      timeline_.put_rows(coins, put);
  }

  bool reads_to_undo() const override { return true; }
  void undo(const Source &source, const Blocks &blocks, int64_t kept, Batch *to) const override {
    latest_.undo(source, blocks, kept, to);
    timeline_.undo(blocks, to);
  }

  std::unique_ptr<CoinScan> scan(const Source &source, int64_t as_of) const override {
    return timeline_.scan(source, as_of);
  }

 private:
  const MonoSpaceKeys keys_;
  const Payload payload_;
  const Latest<DualLatestKeys> latest_;
  const Versions<MonoSpaceKeys> timeline_;
};

}  // namespace cdb::layouts
