#include "store.h"

#include "layouts/interval.h"
#include "marks.h"
#include "sorted_names.h"
#include "spaces.h"

#include <algorithm>
#include <array>
#include <future>
#include <utility>

namespace cdb::coin_set {

namespace {

constexpr size_t kPrefetched = 16;  // coins

okv_options engine_options(const cdb_set_options &wanted) {
  const size_t n_late = wanted.keys != 0 ? kKeySpaces : 0;
  return {wanted.create,
          wanted.read_only,
          wanted.sync != 0 ? OKV_POWER : OKV_PROCESS,
          wanted.cache_bytes,
          kSpaces.size() - kKeySpaces + n_late,
          kSpaces.data(),
          n_late};
}

Span name_at(const uint8_t *name) { return {name, kNameBytes}; }

// Calls row(coin) for each coin that is wanted, in the order of names.
template <typename IsWanted, typename Row>
void for_each_sorted(const std::vector<PendingCoin> &coins, IsWanted is_wanted, Row row) {
  std::vector<NameAt> sorted;
  sorted.reserve(coins.size());
  for (uint32_t i = 0; i < coins.size(); ++i)
    if (is_wanted(coins[i])) sorted.emplace_back(coins[i].name, i);
  sort_by_name(&sorted, [&coins](uint32_t i) { return coins[i].name; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i + kPrefetched < sorted.size()) prefetch(&coins[sorted[i + kPrefetched].at]);
    row(coins[sorted[i].at]);
  }
}

bool is_confirmed(const PendingCoin &coin) { return coin.is_confirmed; }

bool is_spent(const PendingCoin &coin) { return coin.spent_index != 0; }

// Each of these calls put(key, value) in the order of keys.
template <typename Put>
void put_coins(const Pending &pending, Put put) {
  for_each_sorted(pending.coins(), is_confirmed, [&put](const PendingCoin &coin) {
    put(name_at(coin.name), interval::coin_value({coin.confirmed_index, coin.position}));
  });
}

template <typename Put>
void put_spends(const Pending &pending, Put put) {
  for_each_sorted(pending.coins(), is_spent, [&put](const PendingCoin &coin) {
    put(name_at(coin.name), interval::spend_value(coin.spent_index));
  });
}

template <typename Put>
void put_blocks(const Pending &pending, Put put) {
  Bytes buffer;
  for (size_t i = 0; i < pending.blocks().size(); ++i) put_block(pending.block(i), &buffer, put);
}

// Erases n names, each once, in their order.
template <typename NameOf>
void erase_names(Space space, size_t n, NameOf name_of, Batch *batch) {
  std::vector<NameAt> sorted;
  sorted.reserve(n);
  for (uint32_t i = 0; i < n; ++i) sorted.emplace_back(name_of(i), i);
  sort_by_name(&sorted, name_of);
  for (const NameAt &one : sorted) batch->erase(space, name_at(name_of(one.at)));
}

Items names_of(const std::vector<Asked> &asked) {
  Items names;
  names.reserve(asked.size(), kNameBytes);
  for (const Asked &one : asked) names.add(name_at(one.name));
  return names;
}

Failure damage(const char *what) { return {CDB_CORRUPT, "", what}; }

bool is_there(const okv_wanted &one) { return one.length != OKV_ABSENT; }

// Of each key whether it is_there().
std::vector<okv_wanted> look_for(const Engine &engine, Space space, const Items &keys) {
  std::vector<okv_wanted> wanted(keys.n());
  engine.get_many(space, keys, &wanted, OKV_ONCE);
  return wanted;
}

// The values of keys, kBytes each, one after the other; and which keys are there.
template <size_t kBytes>
class Values {
 public:
  Values(const Engine &engine, Space space, const Items &keys, const char *if_cut)
      : bytes_(keys.n() * kBytes), wanted_(keys.n()) {
    for (size_t i = 0; i < wanted_.size(); ++i)
      wanted_[i] = {0, kBytes, bytes_.data() + i * kBytes, 0};
    engine.get_many(space, keys, &wanted_, OKV_OFTEN);
    for (const okv_wanted &one : wanted_)
      if (is_there(one) && one.length != kBytes) throw damage(if_cut);
  }
  // Null where the key is absent.
  const uint8_t *at(size_t i) const { return is_there(wanted_[i]) ? wanted_[i].to : nullptr; }

 private:
  Bytes bytes_;
  std::vector<okv_wanted> wanted_;
};

}  // namespace

Store::Store(const std::string &path, const cdb_set_options &options)
    : engine_(path, engine_options(options)),
      durability_(options.sync != 0 ? OKV_POWER : OKV_PROCESS),
      ingest_entries_(options.ingest_entries) {
  int64_t limit = UINT32_MAX;
  is_rewinding_ = read_index(engine_, kMarks, kRewindMark, &limit);
  read_index(engine_, kMarks, kIndexedMark, &indexed_);
  newest_ = newest_block(engine_, kBlocks, limit);
  if (indexed_ > newest_) throw damage("blocks are missing whose coins are indexed");
  if (options.keys != 0) keys_.emplace(engine_, options.name_bits, options.keys == 2);
}

template <typename Found>
void Store::for_each_place(const std::vector<Asked> &sorted, Found found) const {
  const Values<interval::kCoinBytes> values(engine_, kCoins, names_of(sorted),
                                            "a coin's place is cut");
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (values.at(i) == nullptr) continue;
    const interval::Place place = interval::place_in(values.at(i));
    if (interval::is_visible(place.index, newest_)) found(i, place);
  }
}

template <typename Found>
void Store::for_each_spent(const std::vector<Asked> &sorted, Found found) const {
  const Values<interval::kSpendBytes> values(engine_, kSpends, names_of(sorted),
                                             "a spent index is cut");
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (values.at(i) == nullptr) continue;
    const uint32_t spent_index = interval::spent_index_in(values.at(i));
    if (interval::is_visible(spent_index, newest_)) found(i, spent_index);
  }
}

void Store::find(const std::vector<Asked> &sorted, cdb_coin_info *infos, uint8_t *found) const {
  std::vector<Asked> coins;
  std::vector<Place> places;
  for_each_place(sorted, [&](size_t i, const interval::Place &place) {
    found[sorted[i].tag] = 1;
    infos[sorted[i].tag].confirmed_index = place.index;
    places.push_back({sorted[i].tag, place.index, place.position});
    coins.push_back(sorted[i]);
  });
  for_each_spent(coins, [&](size_t i, uint32_t spent_index) {
    infos[coins[i].tag].spent_index = spent_index;
  });
  read_coins(std::move(places), infos);
}

void Store::find_spent(const std::vector<Asked> &sorted, uint32_t *spent) const {
  for_each_spent(sorted,
                 [&](size_t i, uint32_t spent_index) { spent[sorted[i].tag] = spent_index; });
}

void Store::find_places(const std::vector<Asked> &sorted, std::vector<Place> *places) const {
  for_each_place(sorted, [&](size_t i, const interval::Place &place) {
    places->push_back({sorted[i].tag, place.index, place.position});
  });
}

void Store::read_coins(std::vector<Place> places, cdb_coin_info *infos) const {
  coin_set::read_coins(engine_, kBlocks, std::move(places), infos);
}

void Store::check_absent(const std::vector<Asked> &new_names, size_t *first_bad) const {
  const std::vector<okv_wanted> coins = look_for(engine_, kCoins, names_of(new_names));
  for (size_t i = 0; i < coins.size(); ++i)
    if (is_there(coins[i])) *first_bad = std::min(*first_bad, new_names[i].tag);
}

void Store::check_spendable(const std::vector<Asked> &spends, size_t *first_bad) const {
  const Items names = names_of(spends);
  const std::vector<okv_wanted> coins = look_for(engine_, kCoins, names);
  const std::vector<okv_wanted> spent = look_for(engine_, kSpends, names);
  for (size_t i = 0; i < spends.size(); ++i)
    if (!is_there(coins[i]) || is_there(spent[i])) *first_bad = std::min(*first_bad, spends[i].tag);
}

std::unique_ptr<BlockCursor> Store::cursor(uint32_t first, uint32_t last) const {
  return std::make_unique<BlockCursor>(engine_, kBlocks, first, last);
}

Parents Store::read_parents() const { return coin_set::read_parents(engine_, kMarks); }

void Store::commit(const Pending &pending) {
  if (pending.blocks().empty()) return;
  if (pending.block_entries() >= ingest_entries_) {
    Run blocks(engine_, kBlocks);
    put_blocks(pending, into(&blocks));
    blocks.finish();
    Run::ingest(engine_, {&blocks});
  } else {
    Batch batch;
    put_blocks(pending, into(&batch, kBlocks));
    batch.commit(engine_, durability_);
  }
}

void Store::index(const Pending &pending) {
  if (pending.coins().size() >= ingest_entries_) return index_by_runs(pending);
  const KeyRows keys = key_rows(pending);
  Batch batch;
  put_marks(pending.parents(), newest_, into(&batch, kMarks));
  put_coins(pending, into(&batch, kCoins));
  put_spends(pending, into(&batch, kSpends));
  keys.put_hashes(into(&batch, kHashes));
  keys.put_parents(into(&batch, kParents));
  batch.commit(engine_, durability_);
}

void Store::index_by_runs(const Pending &pending) {
  Run marks(engine_, kMarks), coins(engine_, kCoins), spends(engine_, kSpends);
  std::future<void> coins_built = std::async(std::launch::async, [&] {
    put_coins(pending, into(&coins));
    coins.finish();
  });
  std::optional<Run> hashes, parents;
  std::vector<const Run *> runs{&marks, &coins, &spends};
  if (const KeyRows keys = key_rows(pending); keys.n() > 0) {
    keys.put_hashes(into(&hashes.emplace(engine_, kHashes)));
    keys.put_parents(into(&parents.emplace(engine_, kParents)));
    for (Run *run : {&*hashes, &*parents}) run->finish();
    runs.insert(runs.end(), {&*hashes, &*parents});
  }
  put_spends(pending, into(&spends));
  spends.finish();
  put_marks(pending.parents(), newest_, into(&marks));
  marks.finish();
  coins_built.get();
  Run::ingest(engine_, runs);
}

KeyRows Store::key_rows(const Pending &pending) const {
  KeyRows rows;
  if (pending.keys() == nullptr || !keys_->take_entries()) return rows;
  const Chains &hashes = pending.keys()->hashes(), &parents = pending.keys()->parents();
  for (size_t i = 0; i < hashes.size(); ++i) {
    const PendingCoin &coin = pending.coins()[hashes.place(i)];
    rows.add(HashRow{hashes.bits(i), coin.confirmed_index, coin.position, coin.name});
  }
  for (size_t i = 0; i < parents.size(); ++i)
    rows.add(ParentRow{parents.bits(i), pending.coins()[parents.place(i)].confirmed_index});
  return rows;
}

uint64_t Store::make_keys(uint64_t max_coins) {
  return keys_->make(indexed_, max_coins, ingest_entries_, durability_);
}

// What a block may have made of them, though it may not have made all of it.
void Store::erase_keys(const Blocks &blocks, Batch *batch) const {
  KeyRows rows;
  for (size_t b = 0; b < blocks.n; ++b) rows.add_block(keys_->bits(), blocks, b, INT64_MAX);
  rows.put_hashes([=](const Span &key, const Span &) { batch->erase(kHashes, key); });
  rows.put_parents([=](const Span &key, const Span &) { batch->erase(kParents, key); });
}

int64_t Store::begin_rewind(int64_t newest) {
  const int64_t kept = newest_block(engine_, kBlocks, newest);
  Batch batch;
  batch.put(kMarks, kIndexedMark, index_value(kept));
  batch.put(kMarks, kRewindMark, index_value(kept));
  batch.commit(engine_, durability_);
  return kept;
}

void Store::set_rewinding(int64_t kept) {
  is_rewinding_ = true;
  newest_ = indexed_ = kept;
}

void Store::erase(const Blocks &blocks) {
  if (!is_rewinding_) throw Failure(CDB_INVALID, "", "erase outside a rewind");
  Batch batch;
  erase_names(
      kCoins, blocks.confirm_count(), [&](size_t i) { return blocks.name(i); }, &batch);
  erase_names(
      kSpends, blocks.spend_count(), [&](size_t i) { return blocks.spend(i); }, &batch);
  for (size_t b = 0; b < blocks.n; ++b) {
    if (static_cast<int64_t>(blocks.indices[b]) <= newest_)
      throw Failure(CDB_INVALID, "", "erase of a block that is kept");
    const size_t n_parts = parts_of(blocks.confirm_ends[b] - blocks.confirm_begin(b));
    for (size_t part = 0; part <= n_parts; ++part)
      batch.erase(kBlocks, block_key(blocks.indices[b], part));
  }
  if (keys_) erase_keys(blocks, &batch);
  batch.commit(engine_, OKV_PROCESS);
}

void Store::end_rewind() {
  Batch batch;
  batch.erase(kMarks, kRewindMark);
  batch.commit(engine_, durability_);
}

}  // namespace cdb::coin_set
