#include "name_bits.h"

namespace coin_log {

// The keys are made from the secret by splitmix64, a step each.
NameBits::NameBits(uint32_t bucket_bits, uint32_t name_bits, uint64_t secret)
    : bucket_bits_(bucket_bits),
      name_bits_(name_bits),
      secret_(secret),
      mask_(~uint64_t{0} << (64 - name_bits) % 64) {
  uint64_t state = secret;
  for (uint64_t &key : keys_) {
    state += 0x9e3779b97f4a7c15;
    key = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    key = (key ^ key >> 27) * 0x94d049bb133111eb;
    key ^= key >> 31;
  }
}

}  // namespace coin_log
