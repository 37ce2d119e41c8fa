// The layout "mono_space": one keyspace of versions, of each coin the newest first.
//
//   versions    Enc(name), 00 00, ~version (8)   a version; see versions.h
//   versions32  name (32), ~version (8)          the same, with name32
//
// With payload=inline they are versions_inline and versions32_inline.
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

  explicit MonoSpaceKeys(const Options &options)
      : is_name32_(options.is_set("name32", false)),
        has_filter_(options.is_set("prefix_filter", true)),
        payload_(options) {}

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
    const char *name = is_name32_ ? payload_.choose("versions32", "versions32_inline")
                                  : payload_.choose("versions", "versions_inline");
    return {name, has_filter_ ? OKV_RANDOM : OKV_UNFILTERED, 0, kSuffixBytes};
  }

  bool is_name32() const { return is_name32_; }

  void add_name(const uint8_t *name, Key *key) const {
    if (is_name32_) return key->add(name, kNameBytes);
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
    if (is_name32_) {
      if (encoded.n != kNameBytes) return false;
      std::memcpy(name, encoded.bytes, kNameBytes);
      return true;
    }
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

  bool is_name32_;
  bool has_filter_;
  Payload payload_;  // of the rows
};

class MonoSpace : public OnlyVersions<MonoSpaceKeys> {
 public:
  explicit MonoSpace(const Options &options)
      : OnlyVersions(MonoSpaceKeys(options), Payload(options)) {}
};

}  // namespace cdb::layouts
