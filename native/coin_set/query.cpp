#include "query.h"

#include "common/coin_name.h"
#include "common/distinct_names.h"
#include "rules/reward_parents.h"
#include "layouts/spaces.h"

#include <algorithm>

namespace cdb::coin_set {

namespace {

constexpr size_t kAtOnce = 4096;  // candidates
constexpr size_t kPageEntries = 1024;
constexpr size_t kSmallPageBytes = 4u << 10;
// Looking a coin up by its name takes as long as reading so many from blocks.
constexpr uint64_t kCoinsPerName = 4;

}  // namespace

Query::Query(const View &view, const cdb_query &query, const uint8_t *values, size_t n)
    : view_(view),
      query_(query),
      values_(distinct_names(values, n)),
      n_values_(values_.size() / kNameBytes),
      is_by_change_(query.by_change != 0),
      filters_spent_(is_by_change_ || query.first_spent > 0 || query.last_spent < UINT32_MAX ||
                     query.changed_from > 0),
      most_(query.limit) {
  const StoredKeys *const keys = view.store().keys();
  if (keys == nullptr || !keys->are_made())
    throw Failure(CDB_INVALID, "", "it was opened without secondary keys");
}

std::vector<cdb_found_coin> Query::answer() {
  if (query_.limit == 0) return {};
  for (;;) {
    choose();
    take();
    if (coins_.size() >= query_.limit || !is_cut_) break;
    most_ = most_ > UINT64_MAX / 2 ? UINT64_MAX : 2 * most_;
  }
  set_timestamps();
  return std::move(coins_);
}

void Query::choose() {
  added_.clear();
  chosen_.clear();
  coins_.clear();
  accepted_ = 0;
  is_cut_ = false;
  first_ = static_cast<int64_t>(query_.first_confirmed);
  last_ = std::min(static_cast<int64_t>(query_.last_confirmed), view_.newest());
  if (first_ > last_) return;
  switch (query_.key) {
    case CDB_NAME:
      choose_by_names(values_.data(), n_values_);
      break;
    case CDB_PUZZLE_HASH:
      for (size_t i = 0; i < n_values_; ++i) choose_by_puzzle_hash(&values_[i * kNameBytes]);
      break;
    case CDB_PARENT:
      choose_by_parents();
      break;
    default:
      choose_by_ranges();
  }
  accept_added();
  keep_first();
}

// What is in memory comes behind all that is stored.
void Query::choose_by_puzzle_hash(const uint8_t *puzzle_hash) {
  const uint64_t n_before = most_so_far();
  choose_stored(puzzle_hash);
  if (has_enough_since(n_before))
    is_cut_ = true;
  else
    choose_pending(puzzle_hash);
}

void Query::choose_stored(const uint8_t *puzzle_hash) {
  const int64_t last = std::min(last_, view_.store().indexed());
  if (first_ > last) return;
  const StoredKeys &keys = *view_.store().keys();
  const uint64_t n_before = most_so_far();
  const auto page = static_cast<size_t>(std::min<uint64_t>(most_, kPageEntries));
  Scan scan = keys.scan(kHashes, keys.bits().of(puzzle_hash), static_cast<uint32_t>(first_),
                        static_cast<uint32_t>(last), kSmallPageBytes);
  for (; scan.read(page); scan.drop(scan.n())) {
    for (size_t i = 0; i < scan.n(); ++i) {
      const Span key = scan.key(i), value = scan.value(i);
      if (key.n != kHashKeyBytes || value.n != kPositionBytes)
        throw Failure(CDB_CORRUPT, "", "an entry of a puzzle hash is cut");
      add(load_big_endian<uint32_t>(key.bytes + 8), load_big_endian<uint32_t>(value.bytes),
          key.bytes + kKeyBytes, puzzle_hash);
    }
    entries_ += scan.n();
    if (added_.size() < std::min<uint64_t>(most_, kAtOnce)) continue;
    accept_added();
    if (has_enough_since(n_before)) return;
  }
}

void Query::choose_pending(const uint8_t *puzzle_hash) {
  const Pending &pending = view_.pending();
  const uint32_t first = pending.first_coin_from(static_cast<uint64_t>(first_));
  const uint32_t end = pending.first_coin_from(static_cast<uint64_t>(last_ + 1));
  if (first == end) return;
  for (const uint32_t i : pending.keys()->with_hash(puzzle_hash, first, end, &entries_)) {
    const PendingCoin &coin = pending.coins()[i];
    add(coin.confirmed_index, coin.position, coin.name, puzzle_hash);
  }
  if (added_.size() >= kAtOnce) accept_added();
}

void Query::choose_by_parents() {
  std::vector<Family> all = families();
  std::vector<Place> places;
  for (size_t done = 0; done < all.size(); done += kAtOnce) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(done);
    std::vector<Family> some(begin,
                             begin + static_cast<ptrdiff_t>(std::min(kAtOnce, all.size() - done)));
    view_.find_children(&some);
    for (const Family &family : some)
      for (uint32_t position = family.begin; position < family.end; ++position) {
        places.push_back({places.size(), family.index, position});
        if (places.size() < kAtOnce) continue;
        choose_children(places);
        places.clear();
      }
  }
  choose_children(places);
}

// The blocks where children of the values may be, in order, each once.
std::vector<Family> Query::families() const {
  std::vector<Family> all;
  std::vector<Asked> parents;
  std::vector<uint32_t> spent(n_values_);
  for (size_t i = 0; i < n_values_; ++i) parents.push_back({&values_[i * kNameBytes], i});
  view_.find_spent(parents, spent.data());
  for (size_t i = 0; i < n_values_; ++i) {
    const uint8_t *const parent = parents[i].name;
    if (spent[i] != 0) all.push_back({spent[i], parent, 0, 0});
    if (is_reward_parent(parent)) add_reward_families(parent, &all);
    add_odd_families(parent, &all);
  }
  const auto is_outside = [this](const Family &family) { return !is_within(family.index); };
  all.erase(std::remove_if(all.begin(), all.end(), is_outside), all.end());
  std::sort(all.begin(), all.end());
  const auto is_same = [](const Family &a, const Family &b) { return !(a < b); };
  all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
  return all;
}

void Query::add_odd_families(const uint8_t *parent, std::vector<Family> *to) const {
  if (const int64_t last = std::min(last_, view_.store().indexed()); first_ <= last) {
    const StoredKeys &keys = *view_.store().keys();
    Scan scan = keys.scan(kParents, keys.bits().of(parent), static_cast<uint32_t>(first_),
                          static_cast<uint32_t>(last), kSmallPageBytes);
    for (; scan.read(kPageEntries); scan.drop(scan.n())) {
      entries_ += scan.n();
      for (size_t i = 0; i < scan.n(); ++i) {
        if (scan.key(i).n != kKeyBytes)
          throw Failure(CDB_CORRUPT, "", "an entry of a parent is cut");
        to->push_back({load_big_endian<uint32_t>(scan.key(i).bytes + 8), parent, 0, 0});
      }
    }
  }
  const Pending &pending = view_.pending();
  const auto n = static_cast<uint32_t>(pending.coins().size());
  for (const uint32_t i : pending.keys()->with_parent(parent, 0, n, &entries_))
    to->push_back({pending.coins()[i].confirmed_index, parent, 0, 0});
}

// The block of its height, and the first one above that.
void Query::add_reward_families(const uint8_t *parent, std::vector<Family> *to) const {
  const uint64_t height = reward_height(parent);
  for (const uint64_t from : {height, height + 1})
    if (const int64_t index = view_.first_block_from(from); index >= 0)
      to->push_back({static_cast<uint32_t>(index), parent, 0, 0});
}

void Query::choose_children(const std::vector<Place> &places) {
  std::vector<cdb_coin_info> infos(places.size());
  view_.read_coins(places, infos.data());
  coins_read_ += places.size();
  uint8_t name[kNameBytes];
  for (const Place &place : places) {
    const cdb_coin_info &info = infos[place.tag];
    name_coin(info.parent, info.puzzle_hash, info.amount, name);
    add(place.index, place.position, name, nullptr);
  }
  accept_added();
}

void Query::choose_by_names(const uint8_t *names, size_t n) {
  for (size_t done = 0; done < n; done += kAtOnce) {
    std::vector<Asked> asked;
    for (size_t i = done; i < std::min(done + kAtOnce, n); ++i)
      asked.push_back({names + i * kNameBytes, i});
    for (const Place &place : view_.find_places(asked))
      add(place.index, place.position, names + place.tag * kNameBytes, nullptr);
    accept_added();
  }
}

// By the spends of blocks, where these are much fewer than those that confirm what may be asked
// for.
void Query::choose_by_ranges() {
  const auto first_spent = static_cast<int64_t>(std::max(query_.first_spent, query_.changed_from));
  const int64_t last_spent = std::min(
      static_cast<int64_t>(std::min<uint64_t>(query_.last_spent, UINT32_MAX)), view_.newest());
  const auto changed = static_cast<int64_t>(query_.changed_from);
  const int64_t first_new = query_.first_spent > 0 ? last_ + 1 : std::max(first_, changed);
  const int64_t n_spending =
      std::max(last_spent - std::max<int64_t>(first_spent, 1) + 1, int64_t{0});
  const int64_t n_left_out = std::min(first_new, last_ + 1) - first_;
  if (n_left_out <= n_spending * static_cast<int64_t>(kCoinsPerName))
    return choose_confirmed(static_cast<uint32_t>(first_), static_cast<uint32_t>(last_));
  if (n_spending > 0)
    choose_spent(static_cast<uint32_t>(std::max<int64_t>(first_spent, 1)),
                 static_cast<uint32_t>(last_spent), first_new);
  if (first_new <= last_)
    choose_confirmed(static_cast<uint32_t>(first_new), static_cast<uint32_t>(last_));
}

void Query::choose_confirmed(uint32_t first, uint32_t last) {
  const auto blocks = view_.cursor(first, last);
  const uint64_t n_before = most_so_far();
  cdb_set_block block;
  Bytes names;
  while (blocks->next(&block)) {
    names.resize(block.n_confirms * kNameBytes);
    name_coins(block.confirms, block.n_confirms, names.data());
    coins_read_ += block.n_confirms;
    for (size_t i = 0; i < block.n_confirms; ++i)
      add(block.index, static_cast<uint32_t>(i), &names[i * kNameBytes], nullptr);
    if (added_.size() < std::min<uint64_t>(most_, kAtOnce)) continue;
    accept_added();
    if (!has_enough_since(n_before)) continue;
    is_cut_ = true;
    return;
  }
}

// The coins that these blocks spend, of those that came before a block.
void Query::choose_spent(uint32_t first, uint32_t last, int64_t confirmed_before) {
  const auto blocks = view_.cursor(first, last);
  const int64_t last_confirmed = last_;
  last_ = std::min(last_, confirmed_before - 1);
  cdb_set_block block;
  while (blocks->next(&block)) choose_by_names(block.spends, block.n_spends);
  last_ = last_confirmed;
}

void Query::add(uint32_t index, uint32_t position, const uint8_t *name, const uint8_t *value) {
  if (!is_within(index)) return;
  added_.push_back({index, position, 0, value, {}});
  std::memcpy(added_.back().name.data(), name, kNameBytes);
}

void Query::find_spent(std::vector<Candidate> *coins) const {
  std::vector<Asked> asked;
  std::vector<uint32_t> spent(coins->size());
  for (size_t i = 0; i < coins->size(); ++i) asked.push_back({(*coins)[i].name.data(), i});
  view_.find_spent(asked, spent.data());
  for (size_t i = 0; i < coins->size(); ++i) (*coins)[i].spent = spent[i];
}

bool Query::is_asked_for(const Candidate &coin) const {
  return query_.first_spent <= coin.spent && coin.spent <= query_.last_spent &&
         query_.changed_from <= coin.changed();
}

void Query::accept_added() {
  if (filters_spent_) find_spent(&added_);
  for (const Candidate &coin : added_) {
    if (filters_spent_ && !is_asked_for(coin)) continue;
    chosen_.push_back(coin);
    ++accepted_;
  }
  added_.clear();
  if (chosen_.size() / 2 >= most_ && chosen_.size() >= kAtOnce) keep_first();
}

bool Query::comes_before(const Candidate &a, const Candidate &b) const {
  const uint32_t of_a = is_by_change_ ? a.changed() : a.index;
  const uint32_t of_b = is_by_change_ ? b.changed() : b.index;
  return of_a != of_b ? of_a < of_b : compare_names(a.name.data(), b.name.data()) < 0;
}

// Those behind the first `most_` go; and what is confirmed behind them is no candidate any more.
void Query::keep_first() {
  if (chosen_.size() <= most_) return;
  const auto end = chosen_.begin() + static_cast<ptrdiff_t>(most_);
  std::nth_element(chosen_.begin(), end - 1, chosen_.end(),
                   [this](const Candidate &a, const Candidate &b) { return comes_before(a, b); });
  chosen_.erase(end, chosen_.end());
  is_cut_ = true;
  if (!is_by_change_) last_ = std::min(last_, int64_t{chosen_.back().index});
}

void Query::take() {
  std::sort(chosen_.begin(), chosen_.end(),
            [this](const Candidate &a, const Candidate &b) { return comes_before(a, b); });
  for (size_t done = 0; done < chosen_.size() && coins_.size() < query_.limit;) {
    const uint64_t missing = query_.limit - coins_.size();
    const size_t n = std::min<uint64_t>(std::min(kAtOnce, chosen_.size() - done), missing);
    take(&chosen_[done], n);
    done += n;
  }
}

void Query::take(const Candidate *coins, size_t n) {
  std::vector<Candidate> wanted(coins, coins + n);
  if (!filters_spent_) find_spent(&wanted);
  std::vector<Place> places;
  std::vector<cdb_coin_info> infos(n);
  for (size_t i = 0; i < n; ++i) places.push_back({i, wanted[i].index, wanted[i].position});
  view_.read_coins(places, infos.data());
  coins_read_ += n;
  for (size_t i = 0; i < n; ++i) {
    const Candidate &each = wanted[i];
    const cdb_coin_info &info = infos[i];
    cdb_found_coin coin;
    name_coin(info.parent, info.puzzle_hash, info.amount, coin.name);
    if (!is_same_name(coin.name, each.name.data()))
      throw Failure(CDB_CORRUPT, "", "where a coin should be there is another one");
    if (each.value != nullptr && !is_same_name(info.puzzle_hash, each.value)) continue;
    if (info.amount < query_.least_amount) continue;
    std::memcpy(coin.parent, info.parent, kNameBytes);
    std::memcpy(coin.puzzle_hash, info.puzzle_hash, kNameBytes);
    coin.amount = info.amount;
    coin.confirmed_index = each.index;
    coin.spent_index = each.spent;
    coin.timestamp = 0;
    coins_.push_back(coin);
  }
}

void Query::set_timestamps() {
  std::vector<uint32_t> indices;
  for (const cdb_found_coin &coin : coins_) indices.push_back(coin.confirmed_index);
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  const std::vector<uint64_t> timestamps = view_.timestamps(indices);
  for (cdb_found_coin &coin : coins_) {
    const auto found = std::lower_bound(indices.begin(), indices.end(), coin.confirmed_index);
    coin.timestamp = timestamps[static_cast<size_t>(found - indices.begin())];
  }
}

}  // namespace cdb::coin_set
