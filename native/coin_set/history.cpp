#include "history.h"

#include "common/coin_name.h"
#include "layouts/spaces.h"

#include <algorithm>
#include <numeric>

namespace cdb::coin_set {

Moment::Moment(const Store &store, const Pending &pending, int64_t newest)
    : source_(store.engine()),
      layout_(store.layout()),
      blocks_(pending.shared_blocks()),
      coins_(pending.shared_coins()),
      newest_(newest),
      committed_(std::min(store.newest(), newest)),
      indexed_(std::min(store.indexed(), newest)) {}

std::unique_ptr<Cursor> Moment::cursor(uint32_t first, int64_t last) const {
  const size_t begin =
      blocks_->first_from(static_cast<uint64_t>(std::max(int64_t{first}, committed_ + 1)));
  const size_t end = std::max(begin, blocks_->first_from(static_cast<uint64_t>(last + 1)));
  const int64_t logged = std::min(last, committed_);
  auto committed =
      logged < int64_t{first}
          ? std::make_unique<BlockCursor>(source_, kBlocks, 1, 0)
          : std::make_unique<BlockCursor>(source_, kBlocks, first, static_cast<uint32_t>(logged));
  return std::make_unique<Cursor>(std::move(committed), blocks_, begin, end);
}

void Moment::read_coins(const std::vector<Place> &places, cdb_coin_info *infos) const {
  std::vector<Place> logged;
  for (const Place &place : places) {
    if (int64_t{place.index} <= committed_) {
      logged.push_back(place);
      continue;
    }
    const cdb_set_block block = blocks_->at(blocks_->first_from(place.index));
    copy_confirm(block.confirms + size_t{place.position} * kConfirmBytes, &infos[place.tag]);
  }
  coin_set::read_coins(source_, kBlocks, std::move(logged), OKV_MOST, infos);
}

void Moment::read_older(const std::vector<Asked> &names, cdb_coin_info *infos) const {
  std::vector<Place> unread;
  const auto take = [&](const Span &confirm, const Place &place) {
    infos[place.tag].confirmed_index = place.index;
    take_coin(confirm, place, &unread, infos);
  };
  std::vector<Asked> stored;
  uint64_t probes = 0;
  for (const Asked &each : names) {
    const PendingCoin *const coin = coins_->find(each.name, &probes);
    if (coin != nullptr && coin->is_confirmed && int64_t{coin->confirmed_index} <= newest_)
      take({}, {each.tag, coin->confirmed_index, coin->position});
    else
      stored.push_back(each);
  }
  std::sort(stored.begin(), stored.end(),
            [](const Asked &a, const Asked &b) { return compare_names(a.name, b.name) < 0; });
  Found found;
  layout_.find(source_, stored, {indexed_, true}, OKV_ONCE, &found);
  if (found.coins.size() < stored.size())
    throw Failure(CDB_CORRUPT, "", "a coin is missing that a block spends");
  for (size_t i = 0; i < found.coins.size(); ++i) {
    const CoinState &coin = found.coins[i];
    take(found.confirm(i), {stored[coin.at].tag, coin.confirmed_index, coin.position});
  }
  read_coins(unread, infos);
}

StateReader::StateReader(std::unique_ptr<Moment> moment, int64_t as_of, bool only_unspent)
    : moment_(std::move(moment)),
      as_of_(std::min(as_of, moment_->newest())),
      only_unspent_(only_unspent) {
  const int64_t stored = std::min(as_of_, moment_->indexed());
  if (stored >= 0) stored_ = moment_->layout().scan(moment_->source(), stored);
}

void StateReader::release() {
  stored_.reset();
  moment_.reset();
}

std::optional<size_t> StateReader::next(size_t most, uint8_t *names, cdb_coin_info *infos) {
  if (!read_page(most)) return std::nullopt;
  return give(names, infos);
}

// Whether there was something left to read, wanted or not.
bool StateReader::read_page(size_t most) {
  coins_.clear();
  return read_stored(most) || read_pending(most);
}

// Those of the page that are wanted.
size_t StateReader::give(uint8_t *names, cdb_coin_info *infos) const {
  std::vector<Place> unread;
  size_t n = 0;
  for (size_t i = 0; i < coins_.coins.size(); ++i) {
    const layouts::NamedCoin &coin = coins_.coins[i];
    if (only_unspent_ && coin.spent_index != 0) continue;
    std::memcpy(names + n * kNameBytes, coin.name.data(), kNameBytes);
    infos[n].confirmed_index = coin.confirmed_index;
    infos[n].spent_index = coin.spent_index;
    take_coin(coins_.confirm(i), {n, coin.confirmed_index, coin.position}, &unread, infos);
    ++n;
  }
  moment_->read_coins(unread, infos);
  return n;
}

// Those in memory know of later spends.
bool StateReader::read_stored(size_t most) {
  if (stored_ == nullptr) return false;
  if (!stored_->next(most, &coins_)) stored_.reset();
  uint64_t probes = 0;
  if (as_of_ > moment_->indexed())
    for (layouts::NamedCoin &coin : coins_.coins) {
      if (coin.spent_index != 0) continue;
      const PendingCoin *const known = moment_->coins().find(coin.name.data(), &probes);
      if (known != nullptr && int64_t{known->spent_index} <= as_of_)
        coin.spent_index = known->spent_index;
    }
  return true;
}

bool StateReader::read_pending(size_t most) {
  const std::vector<PendingCoin> &all = moment_->coins().coins;
  const size_t end =
      as_of_ < 0 ? 0 : moment_->coins().first_from(static_cast<uint64_t>(as_of_ + 1));
  if (next_pending_ >= end) return false;
  for (; next_pending_ < end && coins_.coins.size() < most; ++next_pending_) {
    const PendingCoin &coin = all[next_pending_];
    if (!coin.is_confirmed || int64_t{coin.confirmed_index} <= moment_->indexed()) continue;
    const bool is_spent = int64_t{coin.spent_index} <= as_of_;
    coins_.add({{}, coin.confirmed_index, coin.position, is_spent ? coin.spent_index : 0},
               moment_->coins().confirm(next_pending_));
    std::memcpy(coins_.coins.back().name.data(), coin.name, kNameBytes);
  }
  return true;
}

VersionReader::VersionReader(std::unique_ptr<Moment> moment, int64_t first, int64_t last)
    : moment_(std::move(moment)) {
  first = std::max(first, int64_t{0});
  last = std::min(last, moment_->newest());
  if (first > last) return;
  const int64_t stored = std::min(last, moment_->indexed());
  if (first <= stored) log_ = moment_->layout().log(moment_->source(), first, stored);
  if (log_ != nullptr) first = stored + 1;
  if (first <= last) blocks_ = moment_->cursor(static_cast<uint32_t>(first), last);
}

void VersionReader::release() {
  log_.reset();
  if (blocks_ != nullptr) blocks_->release();
  blocks_.reset();
  moment_.reset();
}

std::optional<size_t> VersionReader::next(size_t most, uint8_t *names, cdb_coin_info *infos) {
  if (given_ == infos_.size()) {
    names_.clear();
    infos_.clear();
    older_.clear();
    given_ = 0;
    if (!read_log(most) && !read_blocks(most)) return std::nullopt;
  }
  const size_t n = std::min(most, infos_.size() - given_);
  std::copy_n(names_.begin() + static_cast<ptrdiff_t>(given_ * kNameBytes), n * kNameBytes, names);
  std::copy_n(infos_.begin() + static_cast<ptrdiff_t>(given_), n, infos);
  given_ += n;
  return n;
}

// Whether there was something left to read.
bool VersionReader::read_log(size_t most) {
  if (log_ == nullptr) return false;
  layouts::Scanned coins;
  if (!log_->next(most, &coins)) log_.reset();
  std::vector<Place> unread;
  for (size_t i = 0; i < coins.coins.size(); ++i) {
    const layouts::NamedCoin &coin = coins.coins[i];
    cdb_coin_info info{};
    info.confirmed_index = coin.confirmed_index;
    info.spent_index = coin.spent_index;
    add(coin.name.data(), info);
    take_coin(coins.confirm(i), {infos_.size() - 1, coin.confirmed_index, coin.position}, &unread,
              infos_.data());
  }
  moment_->read_coins(unread, infos_.data());
  return true;
}

bool VersionReader::read_blocks(size_t most) {
  if (blocks_ == nullptr) return false;
  cdb_set_block block;
  for (size_t n = 0; n < most && infos_.size() < most && blocks_ != nullptr; ++n) {
    if (blocks_->next(&block))
      add_block(block);
    else
      blocks_.reset();
  }
  fill_older();
  return true;
}

void VersionReader::add(const uint8_t *name, const cdb_coin_info &info) {
  names_.insert(names_.end(), name, name + kNameBytes);
  infos_.push_back(info);
}

// Its confirms and spends, merged by name. A coin that is both has one version.
void VersionReader::add_block(const cdb_set_block &block) {
  Bytes names(block.n_confirms * kNameBytes);
  name_coins(block.confirms, block.n_confirms, names.data());
  const auto name_of = [&names](size_t i) { return names.data() + i * kNameBytes; };
  std::vector<size_t> order(block.n_confirms);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&name_of](size_t a, size_t b) { return compare_names(name_of(a), name_of(b)) < 0; });
  const uint8_t *spend = block.spends, *const end = spend + block.n_spends * kNameBytes;
  const auto add_spend = [&] {
    cdb_coin_info info{};
    info.spent_index = block.index;
    older_.push_back(infos_.size());
    add(spend, info);
    spend += kNameBytes;
  };
  for (const size_t i : order) {
    while (spend != end && compare_names(spend, name_of(i)) < 0) add_spend();
    const bool is_ephemeral = spend != end && is_same_name(spend, name_of(i));
    if (is_ephemeral) spend += kNameBytes;
    cdb_coin_info info{};
    copy_confirm(block.confirms + i * kConfirmBytes, &info);
    info.confirmed_index = block.index;
    info.spent_index = is_ephemeral ? block.index : 0;
    add(name_of(i), info);
  }
  while (spend != end) add_spend();
}

void VersionReader::fill_older() {
  std::vector<Asked> asked;
  for (const size_t i : older_) asked.push_back({&names_[i * kNameBytes], i});
  moment_->read_older(asked, infos_.data());
}

}  // namespace cdb::coin_set
