// Packed blocks: as the caller gives them, and as the log's reader makes them.
#pragma once

#include "bytes.h"
#include "shared_api.h"

namespace cdb {

// Blocks in somebody else's arrays.
struct Blocks : cdb_blocks {
  size_t spend_begin(size_t block) const { return block == 0 ? 0 : spend_ends[block - 1]; }
  size_t confirm_begin(size_t block) const { return block == 0 ? 0 : confirm_ends[block - 1]; }
  size_t spend_count() const { return spend_begin(n); }
  size_t confirm_count() const { return confirm_begin(n); }
  const uint8_t *spend(size_t i) const { return spends + i * kNameBytes; }
  const uint8_t *confirm(size_t i) const { return confirms + i * kConfirmBytes; }
  const uint8_t *name(size_t i) const { return names + i * kNameBytes; }
};

struct OwnedBlocks {
  std::vector<uint64_t> indices, timestamps, spend_ends, confirm_ends;
  Bytes spends, confirms, names;

  Blocks view() const {
    return {{indices.size(), indices.data(), timestamps.data(), spend_ends.data(),
             confirm_ends.data(), spends.data(), confirms.data(), names.data()}};
  }
  size_t confirm_count() const { return names.size() / kNameBytes; }
  void clear() { *this = OwnedBlocks(); }
  void drop_last() {
    for (auto *numbers : {&indices, &timestamps, &spend_ends, &confirm_ends}) numbers->pop_back();
    const size_t n_confirms = confirm_ends.empty() ? 0 : confirm_ends.back();
    spends.resize(spend_ends.empty() ? 0 : spend_ends.back() * kNameBytes);
    confirms.resize(n_confirms * kConfirmBytes);
    names.resize(n_confirms * kNameBytes);
  }
};

}  // namespace cdb
