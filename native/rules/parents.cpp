#include "parents.h"

namespace cdb {

void Parents::examine(const Blocks &blocks, size_t block, const Joined &joined, uint32_t first_row,
                      std::vector<uint32_t> *doubtful) {
  const size_t begin = blocks.confirm_begin(block);
  const uint32_t n_spends =
      static_cast<uint32_t>(blocks.spend_ends[block] - blocks.spend_begin(block));
  const bool has_early = !hashes_.empty();  // what the block itself adds, it does not spend
  if (joined.explicit_parents.empty() && !has_early) return;
  uint32_t parent = UINT32_MAX;
  bool is_doubted = false;
  for (size_t i = 0; i < joined.parents.size(); ++i) {
    const size_t coin = begin + i;
    if (joined.parents[i] != parent) {
      parent = joined.parents[i];
      const uint8_t *const name = blocks.confirm(coin);
      is_doubted = parent < n_spends ? has_early && has_early_child(head_of(name))
                                     : is_doubtful(name, first_row + static_cast<uint32_t>(coin));
    }
    if (is_doubted) doubtful->push_back(static_cast<uint32_t>(coin));
  }
}

bool Parents::is_doubtful(const uint8_t *explicit_parent, uint32_t row) {
  if (!is_reward_parent(explicit_parent)) {
    add_early(row, head_of(explicit_parent));
    return true;
  }
  const bool is_new = rewards_.is_new(explicit_parent);
  rewards_.add(explicit_parent);
  return !is_new;
}

void Parents::add_early(uint32_t row, uint64_t head) {
  const auto [place, is_first] = hashes_.insert(hash_.of<1>({head}));
  probes_ += hashes_.bucket_size(hashes_.bucket(*place));
  if (is_first) early_.push_back({row, head});
}

void Parents::cut(uint32_t first_row) {
  for (; !early_.empty() && early_.back().row >= first_row; early_.pop_back()) {
    ++probes_;
    hashes_.erase(hash_.of<1>({early_.back().head}));
  }
}

}  // namespace cdb
