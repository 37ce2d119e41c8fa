// The layout "tagged": versions of each coin, the newest first, behind a byte that says "version".
//
//   tagged   'v', name (32), ~version (8)   a version; see versions.h
#pragma once

#include "options.h"
#include "versions.h"

namespace cdb::layouts {

class TaggedKeys {
 public:
  static constexpr size_t kMostBytes = 1 + kNameBytes + kHeightBytes;
  static constexpr size_t kSuffixBytes = kHeightBytes;
  static constexpr bool kIsBefore = false;
  static constexpr bool kIsNewestFirst = true;

  Key key(const uint8_t *name, uint64_t version) const {
    Key key;
    key.add(kTag);
    key.add(name, kNameBytes);
    key.add_height(~version);
    return key;
  }
  Key sought(const uint8_t *name, uint64_t as_of) const { return key(name, as_of); }
  bool read(const Span &key, uint8_t *name, uint64_t *version) const {
    if (key.n != kMostBytes || key.bytes[0] != kTag) return false;
    std::memcpy(name, key.bytes + 1, kNameBytes);
    *version = ~load_big_endian(key.bytes + 1 + kNameBytes);
    return true;
  }
  okv_space space() const { return {"tagged", OKV_RANDOM, 1 + kNameBytes, 0}; }

 private:
  static constexpr uint8_t kTag = 'v';
};

class Tagged : public OnlyVersions<TaggedKeys> {
 public:
  explicit Tagged(const Options &) : OnlyVersions(TaggedKeys()) {}
};

}  // namespace cdb::layouts
