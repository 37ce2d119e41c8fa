#include "early_children.h"

#include <algorithm>

namespace coin_log {

void EarlyChildren::cut(uint32_t first_row) {
  for (; !children_.empty() && children_.back().row >= first_row; children_.pop_back()) {
    ++probes_;
    const auto first = first_rows_.find(children_.back().parent_bits);
    if (first != first_rows_.end() && first->second == children_.back().row) first_rows_.erase(first);
  }
}

std::vector<uint32_t> EarlyChildren::rows_from(uint32_t first_row) const {
  std::vector<uint32_t> rows;
  for (auto child = children_.rbegin(); child != children_.rend() && child->row >= first_row; ++child)
    rows.push_back(child->row);
  std::reverse(rows.begin(), rows.end());
  return rows;
}

}  // namespace coin_log
