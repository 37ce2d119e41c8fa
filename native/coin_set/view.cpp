#include "view.h"

#include "layouts/spaces.h"

#include <algorithm>

namespace cdb::coin_set {

std::unique_ptr<Cursor> View::cursor(uint32_t first, uint32_t last) const {
  const int64_t newest = std::min(int64_t{last}, newest_);
  const int64_t committed = std::min(newest, store_.newest());
  const auto pending = pending_.shared_blocks();
  const size_t begin = pending->first_from(first);
  const size_t end = std::max(begin, pending->first_from(static_cast<uint64_t>(newest + 1)));
  auto blocks = committed < int64_t{first} ? store_.cursor(1, 0)
                                           : store_.cursor(first, static_cast<uint32_t>(committed));
  return std::make_unique<Cursor>(std::move(blocks), pending, begin, end);
}

int64_t View::first_block_from(uint64_t index) const {
  const int64_t logged = first_block(store_.engine(), kBlocks, index, store_.newest());
  if (logged >= 0) return logged;
  const auto &blocks = pending_.blocks();
  const size_t place = pending_.shared_blocks()->first_from(index);
  if (place == blocks.size() || int64_t{blocks[place].index} > newest_) return -1;
  return blocks[place].index;
}

std::vector<uint64_t> View::timestamps(const std::vector<uint32_t> &indices) const {
  std::vector<uint64_t> timestamps(indices.size());
  std::vector<uint32_t> logged;
  cdb_set_block block;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (pending_block(indices[i], &block) == nullptr)
      logged.push_back(indices[i]);
    else
      timestamps[i] = block.timestamp;
  }
  // What is in memory comes behind all that is logged.
  const std::vector<Head> heads = read_heads(store_.engine(), kBlocks, logged);
  for (size_t i = 0; i < heads.size(); ++i) timestamps[i] = heads[i].timestamp;
  return timestamps;
}

void View::find_spent(const std::vector<Asked> &coins, uint32_t *spent) const {
  std::vector<Asked> asked;
  uint64_t probes = 0;
  for (const Asked &each : coins) {
    const PendingCoin *const coin = pending_.find(each.name, &probes);
    const bool is_spent = coin != nullptr && int64_t{coin->spent_index} <= newest_;
    spent[each.tag] = is_spent ? coin->spent_index : 0;
    if (coin == nullptr) asked.push_back(each);
  }
  store_.find_spent(asked, spent);
}

std::vector<Place> View::find_places(const std::vector<Asked> &names) const {
  std::vector<Place> places;
  std::vector<Asked> asked;
  uint64_t probes = 0;
  for (const Asked &each : names) {
    const PendingCoin *const coin = pending_.find(each.name, &probes);
    if (coin == nullptr || !coin->is_confirmed)
      asked.push_back(each);
    else if (int64_t{coin->confirmed_index} <= newest_)
      places.push_back({each.tag, coin->confirmed_index, coin->position});
  }
  Placed stored;
  store_.find_places(asked, &stored);
  places.insert(places.end(), stored.coins.begin(), stored.coins.end());
  return places;
}

void View::read_coins(const std::vector<Place> &places, cdb_coin_info *infos) const {
  std::vector<Place> logged;
  cdb_set_block block;
  for (const Place &place : places) {
    if (pending_block(place.index, &block) == nullptr)
      logged.push_back(place);
    else
      copy_confirm(block.confirms + size_t{place.position} * kConfirmBytes, &infos[place.tag]);
  }
  store_.read_coins(std::move(logged), infos);
}

void View::find_children(std::vector<Family> *families) const {
  const auto first_pending = std::find_if(
      families->begin(), families->end(),
      [this](const Family &family) { return int64_t{family.index} > store_.newest(); });
  std::vector<Family> logged(families->begin(), first_pending);
  coin_set::find_children(store_.engine(), kBlocks, &logged);
  std::copy(logged.begin(), logged.end(), families->begin());
  cdb_set_block block;
  for (auto family = first_pending; family != families->end(); ++family)
    if (pending_block(family->index, &block) != nullptr) find_children_in(block, &*family);
}

}  // namespace cdb::coin_set
