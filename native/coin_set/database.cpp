#include "database.h"

#include "common/failure.h"
#include "query.h"

#include <algorithm>
#include <utility>

namespace cdb::coin_set {

namespace {

static_assert(sizeof(cdb_coin_info) == 80, "cdb_coin_info has no gaps");

int32_t keys_state(const StoredKeys *keys) {
  if (keys == nullptr || !keys->are_begun()) return 0;
  return keys->are_made() ? 2 : 1;
}

}  // namespace

Database::Database(const std::string &path, const cdb_set_options &options)
    : options_(options), store_(std::make_unique<Store>(path, options)) {
  pending_.restore_parents(store_->read_parents());
  if (store_->keys() != nullptr) pending_.keep_keys(store_->keys()->bits());
  if (store_->layout().is_inline()) pending_.keep_confirms();
  restore();
  visible_ = store_->newest();
}

void Database::end_reading() {
  const Change change(access_);
  const std::lock_guard<std::mutex> lock(readers_mutex_);
  for (Reader *reader : readers_) reader->release();
  are_readers_ended_ = true;
}

void Database::close() {
  end_reading();
  std::unique_ptr<Store> store;
  {
    const Change change(access_);
    store = std::move(store_);
  }
  if (store != nullptr) store->close();
}

void Database::check_usable() const {
  if (store_ == nullptr) throw Failure(CDB_CLOSED, "", "it is closed", "open it again");
  access_.check();
}

void Database::check_readers() const {
  if (are_readers_ended_) throw Failure(CDB_CLOSED, "", "it is closed", "open it again");
}

void Database::doubt(const std::string &why) {
  const Change change(access_);
  access_.doubt(why);
}

template <typename Body>
auto Database::reading(Body body) {
  const Reading inside(access_);  // and no change goes on
  check_usable();
  return body();
}

template <typename Body>
void Database::writing(Body body) {
  check_usable();
  if (options_.read_only != 0) throw Failure(CDB_INVALID, "", "it was opened read-only");
  try {
    body();
  } catch (const Failure &failure) {
    if (failure.status() != CDB_INVALID) doubt(failure.what());
    throw;
  } catch (const std::exception &exception) {
    doubt(exception.what());
    throw;
  }
}

int64_t Database::newest_pending() const {
  return pending_.blocks().empty() ? store_->newest() : int64_t{pending_.blocks().back().index};
}

cdb_set_state Database::state() {
  return reading([&]() -> cdb_set_state {
    const okv_stats stats = store_->stats();
    return {visible_,
            store_->newest(),
            stats.sequence,
            stats.ingests,
            store_->is_rewinding() ? 1 : 0,
            pending_.probes() + finding_probes_,
            keys_state(store_->keys()),
            key_entries_,
            query_coins_};
  });
}

void Database::verify() {
  reading([&] { store_->verify(); });
}

size_t Database::accept(const Blocks &chunk) {
  size_t accepted = 0;
  writing([&] {
    if (store_->is_rewinding()) throw Failure(CDB_INVALID, "", "within a rewind");
    accepted = add(chunk, newest_pending(), store_.get());
    if (pending_.coins().size() >= options_.commit_entries) index();
  });
  return accepted;
}

// Gives back what a crash has taken from memory: the coins of committed blocks above indexed().
void Database::restore() {
  if (store_->indexed() == store_->newest()) return;
  const auto blocks = store_->cursor(static_cast<uint32_t>(store_->indexed() + 1),
                                     static_cast<uint32_t>(store_->newest()));
  Bytes names;
  int64_t newest = store_->indexed();
  cdb_set_block block;
  while (blocks->next(&block)) {
    if (add(LoggedBlock(block, &names).blocks(), newest, nullptr) == 0)
      throw Failure(CDB_CORRUPT, "", "a block does not fit those before it");
    newest = block.index;
    pending_.drop_committed_blocks();
  }
  know_older_coins();
}

// What is known of them when a spend is checked.
void Database::know_older_coins() {
  std::vector<Asked> older;
  for (size_t i = 0; i < pending_.coins().size(); ++i)
    if (!pending_.coins()[i].is_confirmed) older.push_back({pending_.coins()[i].name, i});
  Placed known;
  store_->find_places(older, &known);
  if (known.coins.size() < older.size())
    throw Failure(CDB_CORRUPT, "", "a coin is missing that a block spends");
  pending_.set_older(known);
}

void Database::commit() {
  writing([&] { commit_pending(); });
}

void Database::commit_pending() {
  if (pending_.blocks().empty()) return;
  store_->commit(pending_);
  const Change change(access_);
  store_->set_newest(pending_.blocks().back().index);
  pending_.drop_committed_blocks();
}

void Database::index() {
  commit_pending();
  if (pending_.coins().empty()) return;
  store_->index(pending_);
  const Change change(access_);
  store_->set_indexed();
  pending_.drop_indexed_coins();
}

void Database::checkpoint() {
  writing([&] {
    index();
    store_->checkpoint();
  });
}

void Database::settle() {
  writing([&] {
    index();
    store_->checkpoint();
    store_->settle();
  });
}

void Database::find(const uint8_t *names, size_t n, cdb_coin_info *infos, uint8_t *found) {
  reading([&] { find_all(names, n, visible_, infos, found); });
}

void Database::find_as_of(const uint8_t *names, size_t n, int64_t height, cdb_coin_info *infos,
                          uint8_t *found) {
  reading([&] { find_all(names, n, std::min(height, visible_), infos, found); });
}

void Database::find_all(const uint8_t *names, size_t n, int64_t as_of, cdb_coin_info *infos,
                        uint8_t *found) {
  std::vector<Asked> asked;
  std::vector<Place> places;
  uint64_t probes = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t *name = names + i * kNameBytes;
    found[i] = find_in_memory({name, i}, as_of, &infos[i], &places, &probes) ? 1 : 0;
    if (found[i] == 0) asked.push_back({name, i});
  }
  finding_probes_ += probes;
  store_->find(asked, as_of, infos, found);
  store_->read_coins(std::move(places), infos);
}

// Sets all that memory knows of a coin, and adds a place where it is the block alone that knows the
// coin itself.
bool Database::find_in_memory(const Asked &asked, int64_t as_of, cdb_coin_info *info,
                              std::vector<Place> *places, uint64_t *probes) const {
  const PendingCoin *coin = pending_.find(asked.name, probes);
  const bool is_spent = coin != nullptr && int64_t{coin->spent_index} <= as_of;
  info->spent_index = is_spent ? coin->spent_index : 0;
  if (coin == nullptr || !coin->is_confirmed || int64_t{coin->confirmed_index} > as_of)
    return false;
  info->confirmed_index = coin->confirmed_index;
  cdb_set_block block;
  if (pending_.find_block(coin->confirmed_index, &block) == nullptr)
    places->push_back({asked.tag, coin->confirmed_index, coin->position});
  else
    copy_confirm(block.confirms + size_t{coin->position} * kConfirmBytes, info);
  return true;
}

std::unique_ptr<Cursor> Database::read(uint32_t first, uint32_t last) {
  return reading([&] { return registered(view().cursor(first, last)); });
}

std::unique_ptr<Cursor> Database::read_rewound(uint64_t first) {
  return reading([&] {
    if (!store_->is_rewinding()) throw Failure(CDB_INVALID, "", "no rewind is under way");
    first = std::max(first, static_cast<uint64_t>(store_->newest() + 1));
    auto blocks = first > UINT32_MAX ? store_->cursor(1, 0)
                                     : store_->cursor(static_cast<uint32_t>(first), UINT32_MAX);
    return registered(std::make_unique<Cursor>(std::move(blocks), pending_.shared_blocks(), 0, 0));
  });
}

template <typename Made>
std::unique_ptr<Made> Database::registered(std::unique_ptr<Made> reader) {
  check_readers();
  const std::lock_guard<std::mutex> lock(readers_mutex_);
  readers_.insert(reader.get());
  return reader;
}

std::unique_ptr<CoinReader> Database::read_state(int64_t height, bool only_unspent) {
  return reading([&]() -> std::unique_ptr<CoinReader> {
    auto moment = std::make_unique<Moment>(*store_, pending_, visible_);
    return registered(std::make_unique<StateReader>(std::move(moment), height, only_unspent));
  });
}

std::unique_ptr<CoinReader> Database::read_versions(int64_t first, int64_t last) {
  return reading([&]() -> std::unique_ptr<CoinReader> {
    auto moment = std::make_unique<Moment>(*store_, pending_, visible_);
    return registered(std::make_unique<VersionReader>(std::move(moment), first, last));
  });
}

std::optional<size_t> Database::next(CoinReader *coins, size_t most, uint8_t *names,
                                     cdb_coin_info *infos) {
  return reading([&] {
    check_readers();
    return coins->next(most, names, infos);
  });
}

bool Database::next(Cursor *cursor, cdb_set_block *block) {
  return reading([&] {
    check_readers();
    return cursor->next(block);
  });
}

// Inside, so that a change that comes next knows who has gone.
void Database::end(std::unique_ptr<Reader> reader) {
  const Reading inside(access_);
  const std::lock_guard<std::mutex> lock(readers_mutex_);
  readers_.erase(reader.get());
  reader.reset();
}

std::vector<cdb_found_coin> Database::ask(const cdb_query &query, const uint8_t *values, size_t n) {
  return reading([&] {
    const View now = view();
    Query asked(now, query, values, n);
    std::vector<cdb_found_coin> coins = asked.answer();
    key_entries_ += asked.entries();
    query_coins_ += asked.coins_read();
    return coins;
  });
}

const StoredKeys &Database::keys() const {
  if (store_->keys() == nullptr)
    throw Failure(CDB_INVALID, "", "it was opened without secondary keys");
  return *store_->keys();
}

uint64_t Database::make_keys(uint64_t max_coins, bool *are_made) {
  uint64_t coins = 0;
  writing([&] {
    if (!keys().are_made()) coins = store_->make_keys(max_coins);
    *are_made = keys().are_made();
  });
  return coins;
}

void Database::sum_blocks(uint64_t max_coins, cdb_set_key_sum *sum) {
  reading([&] {
    KeySum of_blocks(keys().bits());
    sum->coins = 0;
    sum->next = keys().sum_blocks(sum->next, store_->indexed(), max_coins, &of_blocks, &sum->coins);
    sum->sum += of_blocks.sum();
  });
}

void Database::sum_keys(cdb_set_key_sum *sum) {
  reading([&] {
    KeySum of_entries(keys().bits());
    keys().sum_entries(store_->indexed(), &of_entries);
    sum->sum += of_entries.sum();
  });
}

void Database::begin_rewind(int64_t newest) {
  writing([&] {
    index();
    if (newest > store_->newest()) throw Failure(CDB_INVALID, "", "a rewind to a later block");
    const int64_t kept = store_->begin_rewind(std::max(newest, int64_t{-1}));
    const Change change(access_);
    store_->set_rewinding(kept);
    pending_.begin_branch();
    visible_ = kept;
  });
}

void Database::erase(const Blocks &blocks) {
  writing([&] { store_->erase(blocks); });
}

void Database::end_rewind() {
  writing([&] {
    store_->end_rewind();
    const Change change(access_);
    store_->set_rewound();
  });
}

}  // namespace cdb::coin_set
