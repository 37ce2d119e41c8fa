#include "acceptance.h"

#include "parts.h"

namespace cdb::coin_set {

namespace {
constexpr size_t kCheckParts = 2;
}  // namespace

size_t Acceptance::enter(size_t n_blocks) {
  const Change change(access_);
  for (size_t block = 0; block < n_blocks; ++block) {
    first_coins_.push_back(static_cast<uint32_t>(pending_.coins().size()));
    const size_t coin =
        blocks_.confirm_begin(block) + pending_.add_coins(blocks_, block, &spend_rows_);
    if (coin < blocks_.confirm_ends[block]) return coin;
  }
  first_coins_.push_back(static_cast<uint32_t>(pending_.coins().size()));
  return kNoCoin;
}

size_t Acceptance::first_existing(const std::vector<uint32_t> &coins) {
  if (engine_ == nullptr) return kNoCoin;
  std::vector<Asked> asked;
  for (const uint32_t coin : coins) asked.push_back({blocks_.name(coin), coin});
  std::vector<size_t> first(parts_for(asked.size(), kCheckParts), kNoCoin);
  run_parts(first.size(), [&](size_t part) {
    engine_->check_absent(sorted_part(asked, part, first.size()), &first[part]);
  });
  return *std::min_element(first.begin(), first.end());
}

// Of older coins that can't be spent the first will do. The first of its spends has put it there.
void Acceptance::find_spends(size_t n_blocks) {
  if (engine_ == nullptr) return;
  std::vector<Asked> older;
  for (size_t i = first_row_; i < first_coins_[n_blocks]; ++i)
    if (!pending_.coins()[i].is_confirmed) older.push_back({pending_.coins()[i].name, i});
  std::vector<size_t> bad(parts_for(older.size(), kCheckParts), kNoCoin);
  older_.resize(bad.size());
  run_parts(bad.size(), [&](size_t part) {
    engine_->check_spendable(sorted_part(older, part, bad.size()), &bad[part], &older_[part]);
  });
  const size_t first = *std::min_element(bad.begin(), bad.end());
  if (first != kNoCoin) *std::find(spend_rows_.begin(), spend_rows_.end(), first) = kNoRow;
}

size_t Acceptance::finish() {
  const size_t good = rules_.spend();
  if (engine_ != nullptr && engine_->layout().repeats_places())
    for (const Placed &some : older_) pending_.set_older(some);
  if (good < blocks_.n) {
    pending_.cut_coins(first_coins_[good]);
    pending_.parents()->cut(first_row_ + static_cast<uint32_t>(blocks_.confirm_begin(good)));
  }
  pending_.add_blocks(
      {blocks_, good, rules_.newest_before(0), first_coins_, rules_.explicit_parents()});
  return good;
}

}  // namespace cdb::coin_set
