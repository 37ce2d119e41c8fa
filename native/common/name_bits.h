// What the index knows of a name: the first bits of its hash, which is keyed by the database's own
// secret. In memory that is up to 64 of them, in a run 44.
#pragma once

#include "bytes.h"
#include "keyed_hash.h"

namespace cdb {

constexpr uint32_t kNoRow = UINT32_MAX;

// Of 64 bits of a name, those that a run knows.
constexpr unsigned kRunBits = 44;
inline uint64_t in_run(uint64_t bits) { return bits >> (64 - kRunBits); }

class NameBits {
 public:
  // name_bits: 1 … 64; the bits after these count as zeros. Of others nothing may be asked but
  // are_sound().
  NameBits(uint32_t name_bits, const HashKey &secret)
      : name_bits_(name_bits), mask_(~uint64_t{0} << (64 - name_bits) % 64), hash_(secret) {}

  bool are_sound() const { return name_bits_ >= 1 && name_bits_ <= 64; }

  uint64_t of(const uint8_t *name) const { return hash_.of(name) & mask_; }

  uint32_t name_bits() const { return name_bits_; }
  const HashKey &secret() const { return hash_.key(); }

 private:
  uint32_t name_bits_;
  uint64_t mask_;
  KeyedHash hash_;
};

}  // namespace cdb
