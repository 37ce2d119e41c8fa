// The layout "issue_196": one keyspace of versions, of each coin the oldest first.
//
//   ascending   name (32), version (8), 00   a version; see versions.h
//
// With payload=inline the space is ascending_inline.
// version is the index of the block that wrote it, big endian. The version as of block h is the
// last one before h + 1. docs/layouts/issue_196.md draws it.
#pragma once

#include "options.h"
#include "versions.h"

namespace cdb::layouts {

class Issue196Keys {
 public:
  static constexpr size_t kMostBytes = kNameBytes + kHeightBytes + 1;
  static constexpr size_t kSuffixBytes = kHeightBytes;  // of what is sought, which has no 00
  static constexpr bool kIsBefore = true;
  static constexpr bool kIsNewestFirst = false;

  explicit Issue196Keys(const Options &options) : payload_(options) {}

  Key key(const uint8_t *name, uint64_t version) const {
    Key key;
    key.add(name, kNameBytes);
    key.add_height(version);
    key.add(0);
    return key;
  }
  // No key is the same: each has another byte.
  Key sought(const uint8_t *name, uint64_t as_of) const {
    Key key;
    key.add(name, kNameBytes);
    key.add_height(as_of + 1);
    return key;
  }
  bool read(const Span &key, uint8_t *name, uint64_t *version) const {
    if (key.n != kMostBytes || key.bytes[kMostBytes - 1] != 0) return false;
    std::memcpy(name, key.bytes, kNameBytes);
    *version = load_big_endian(key.bytes + kNameBytes);
    return true;
  }
  okv_space space() const {
    return {payload_.choose("ascending", "ascending_inline"), OKV_RANDOM, kNameBytes, 0};
  }

 private:
  Payload payload_;  // of the rows
};

class Issue196 : public OnlyVersions<Issue196Keys> {
 public:
  explicit Issue196(const Options &options)
      : OnlyVersions(Issue196Keys(options), Payload(options)) {}
};

}  // namespace cdb::layouts
