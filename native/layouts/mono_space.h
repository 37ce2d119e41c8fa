// The layout "mono_space": one keyspace of versions, of each coin the newest first.
//
//   versions   Enc(name), 00 00, ~version (8)   a version; see versions.h
//
// With payload=inline the space is versions_inline.
//
// Enc(name) has 00 FF for each 00: so 00 00 ends it, and names sort as they do by themselves. ~ is
// the complement, and version the index of the block that wrote it, big endian. The version as of
// block h is the first one at or behind ~h. docs/layouts/mono_space.md draws it.
#pragma once

#include "options.h"
#include "versions.h"

namespace cdb::layouts {

// Behind what tells a coin its versions follow, the newest first.
class MonoSpaceKeys {
 public:
  static constexpr size_t kMostBytes = 2 * kNameBytes + 2 + kHeightBytes;
  static constexpr size_t kSuffixBytes = kHeightBytes;
  static constexpr bool kIsBefore = false;
  static constexpr bool kIsNewestFirst = true;

  explicit MonoSpaceKeys(const Options &options) : payload_(options) {}

  Key key(const uint8_t *name, uint64_t version) const {
    Key key;
    add_name(name, &key);
    key.add_height(~version);
    return key;
  }
  Key sought(const uint8_t *name, uint64_t as_of) const { return key(name, as_of); }

  bool read(const Span &key, uint8_t *name, uint64_t *version) const {
    if (key.n < kHeightBytes) return false;
    *version = ~load_big_endian(key.bytes + key.n - kHeightBytes);
    return read_name({key.bytes, key.n - kHeightBytes}, name);
  }

  okv_space space() const {
    return {payload_.choose("versions", "versions_inline"), OKV_RANDOM, 0, kSuffixBytes};
  }

  void add_name(const uint8_t *name, Key *key) const {
    if (std::memchr(name, 0, kNameBytes) == nullptr) {
      key->add(name, kNameBytes);
    } else {
      for (size_t i = 0; i < kNameBytes; ++i) {
        key->add(name[i]);
        if (name[i] == 0) key->add(kEscape);
      }
    }
    key->add(0);
    key->add(0);
  }

  bool read_name(const Span &encoded, uint8_t *name) const {
    size_t at = 0;
    // Most names have no 00.
    if (encoded.n == kNameBytes + 2 && std::memchr(encoded.bytes, 0, kNameBytes) == nullptr) {
      std::memcpy(name, encoded.bytes, kNameBytes);
      at = kNameBytes;
    }
    for (size_t i = at; i < kNameBytes; ++i) {
      if (at >= encoded.n) return false;
      name[i] = encoded.bytes[at++];
      if (name[i] == 0 && (at >= encoded.n || encoded.bytes[at++] != kEscape)) return false;
    }
    return encoded.n == at + 2 && encoded.bytes[at] == 0 && encoded.bytes[at + 1] == 0;
  }

 private:
  static constexpr uint8_t kEscape = 0xff;

  Payload payload_;  // of the rows
};

class MonoSpace : public OnlyVersions<MonoSpaceKeys> {
 public:
  explicit MonoSpace(const Options &options)
      : OnlyVersions(MonoSpaceKeys(options), Payload(options)) {}
};

}  // namespace cdb::layouts
