// What the bench writes, as a function of key and version: so nothing has to be remembered to tell
// whether an answer is right.
#pragma once

#include "cdb_versioned_api.h"

#include "ordered_kv/ordered_kv.h"

#include <vector>

namespace cdb::versioned {

using coin_set::Span;

class Model {
 public:
  explicit Model(const cdb_versioned_shape &shape);

  const cdb_versioned_shape &shape() const { return shape_; }

  // Names in the order of memcmp; key is a place in it.
  const uint8_t *name(uint32_t key) const { return names_.data() + key * kNameBytes; }
  // shape().keys where there is no such name.
  uint32_t find(const uint8_t *name) const;
  // A name that nothing is ever written of.
  void absent_name(uint32_t number, uint8_t *name) const;
  // Of all keys in an order that scatters them.
  uint32_t scattered(uint32_t place) const;

  bool is_written(uint32_t key, uint32_t version) const;
  // The version of a key as of one, 0 where it has none.
  uint32_t newest(uint32_t key, uint32_t as_of) const;
  uint64_t count() const;

  // Puts the value of a key's version behind bytes.
  void add_value(uint32_t key, uint32_t version, Bytes *bytes) const;
  bool is_value(uint32_t key, uint32_t version, const Span &value) const;

 private:
  const cdb_versioned_shape shape_;
  Bytes names_;
  uint64_t stride_ = 1;
  mutable Bytes expected_;  // of the value that was checked last
};

}  // namespace cdb::versioned
