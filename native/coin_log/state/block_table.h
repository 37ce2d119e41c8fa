// The block table: the base has the lines of the oldest blocks, memory those of the others.
#pragma once

#include "coin_log/format/base.h"

namespace cdb::coin_log {

class BlockTable {
 public:
  size_t size() const { return n_based_ + newer_.size(); }
  bool empty() const { return size() == 0; }
  BlockLine operator[](size_t block) const {
    return block < n_based_ ? base_->line(block) : newer_[block - n_based_];
  }
  BlockLine back() const { return (*this)[size() - 1]; }
  uint32_t first_row(size_t block) const {
    return block < n_based_ ? base_->first_row(block) : newer_[block - n_based_].first_row;
  }
  uint32_t index(size_t block) const {
    return block < n_based_ ? base_->index(block) : newer_[block - n_based_].index;
  }
  void prefetch_line(size_t block) const {
    if (block < n_based_)
      base_->prefetch_line(block);
    else
      prefetch(&newer_[block - n_based_]);
  }
  size_t based() const { return n_based_; }  // how many of them the base has
  // How many blocks begin before an offset of the log; how many have an index up to this one.
  size_t before(uint64_t offset) const;
  size_t up_to(int64_t block_index) const;
  uint64_t based_spends() const { return base_ == nullptr ? 0 : base_->spends(); }
  void check_base() const {
    if (base_ != nullptr) base_->check_all();
  }
  // The lines from this block on, which is none of the base's.
  std::vector<BlockLine> from(size_t block) const;

  // These change it.
  void push_back(const BlockLine &line) { newer_.push_back(line); }
  // Keep so many, at least the base's.
  void resize(size_t n) { newer_.resize(n - n_based_); }
  // Have the lines of a base, or of none, and behind those the newer ones.
  void adopt(std::shared_ptr<const Base> base, std::vector<BlockLine> newer);

 private:
  std::shared_ptr<const Base> base_;
  size_t n_based_ = 0;
  std::vector<BlockLine> newer_;
};

}  // namespace cdb::coin_log
