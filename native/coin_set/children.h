// Where the children of a parent lie in a block: side by side, for confirms ascend by parent.
#pragma once

#include "block_log.h"

#include <vector>

namespace cdb::coin_set {

// begin, end: set, of the positions among the block's confirms.
struct Family {
  uint32_t index;
  const uint8_t *parent;
  uint32_t begin;
  uint32_t end;

  bool operator<(const Family &other) const {
    return index != other.index ? index < other.index : compare_names(parent, other.parent) < 0;
  }
};

// What a block's head says of it.
struct Head {
  uint64_t timestamp;
  uint32_t n_confirms;
};

// The heads of logged blocks, whose indexes ascend. Throws where one is missing.
std::vector<Head> read_heads(const Source &source, uint8_t space,
                             const std::vector<uint32_t> &indices);

void find_children_in(const cdb_set_block &block, Family *family);

// The same for families of logged blocks, in order: by few steps for them all, each of which looks
// at one parent in a block.
void find_children(const Source &source, uint8_t space, std::vector<Family> *families);

}  // namespace cdb::coin_set
