#include "store.h"

#include "common/beside.h"
#include "common/fault_points.h"
#include "layouts/table.h"
#include "marks.h"
#include "layouts/spaces.h"

#include <algorithm>
#include <array>
#include <future>
#include <utility>

namespace cdb::coin_set {

namespace {

constexpr size_t kPartEntries = 125;  // from so many look-ups on, a thread pays
constexpr size_t kFindParts = 4;      // more than processors: most of a cold look-up is waiting
constexpr size_t kCheckParts = 2;
constexpr size_t kSpendsAtOnce = 1024;

std::vector<Asked> sorted(const Asked *begin, const Asked *end) {
  std::vector<Asked> names(begin, end);
  std::sort(names.begin(), names.end(),
            [](const Asked &a, const Asked &b) { return compare_names(a.name, b.name) < 0; });
  return names;
}

std::vector<Asked> sorted(const std::vector<Asked> &names) {
  return sorted(names.data(), names.data() + names.size());
}

// Calls look(sorted names, number of the part) for parts of about the same size, at the same time
// where there are threads for it, and throws the first failure.
template <typename Look>
void in_parts(const std::vector<Asked> &names, size_t most, Look look) {
  const size_t n = std::clamp(names.size() / kPartEntries, size_t{1}, most);
  const auto part = [&](size_t i) {
    const Asked *const all = names.data();
    look(sorted(all + names.size() * i / n, all + names.size() * (i + 1) / n), i);
  };
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < n; ++i) others.push_back(beside([&part, i] { part(i); }));
  part(0);
  for (std::future<void> &other : others) other.get();
}

struct EngineOptions {
  EngineOptions(const layouts::Layout &layout, const cdb_set_options &wanted)
      : spaces(all_spaces(layout.spaces())) {
    const size_t n_late = wanted.keys != 0 ? kKeySpaces : 0;
    options = {wanted.create,
               wanted.read_only,
               wanted.sync != 0 ? OKV_POWER : OKV_PROCESS,
               wanted.cache_bytes,
               memtable_bytes(wanted.cache_bytes),
               wanted.memory_bytes,
               spaces.size() - kKeySpaces + n_late,
               spaces.data(),
               n_late};
  }
  EngineOptions(const EngineOptions &) = delete;
  EngineOptions &operator=(const EngineOptions &) = delete;

  const Spaces spaces;
  okv_options options;
};

template <typename Put>
void put_blocks(const Pending &pending, Put put) {
  Bytes buffer;
  for (size_t i = 0; i < pending.blocks().size(); ++i) put_block(pending.block(i), &buffer, put);
}

Failure damage(const char *what) { return {CDB_CORRUPT, "", what}; }

}  // namespace

Store::Store(const std::string &path, const cdb_set_options &options)
    : layout_(layouts::layout_of(layouts::Options(options.layout))),
      engine_(path, EngineOptions(*layout_, options).options),
      durability_(options.sync != 0 ? OKV_POWER : OKV_PROCESS),
      ingest_entries_(options.ingest_entries) {
  int64_t limit = UINT32_MAX;
  is_rewinding_ = read_index(engine_, kMarks, kRewindMark, &limit);
  read_index(engine_, kMarks, kIndexedMark, &indexed_);
  newest_ = newest_block(engine_, kBlocks, limit);
  if (indexed_ > newest_) throw damage("blocks are missing whose coins are indexed");
  if (options.keys != 0) keys_.emplace(engine_, options.name_bits, options.keys == 2);
}

// What lies above the newest block counts for nothing.
Found Store::look_up(const std::vector<Asked> &sorted, int64_t as_of, okv_reuse reuse) const {
  Found found;
  const layouts::AsOf counts{std::min(as_of, newest_), as_of >= newest_};
  layout_->find(engine_, sorted, counts, reuse, &found);
  return found;
}

void Store::find(const std::vector<Asked> &names, int64_t as_of, cdb_coin_info *infos,
                 uint8_t *found) const {
  in_parts(names, kFindParts, [&](const std::vector<Asked> &part, size_t) {
    std::vector<Place> unread;
    const Found all = look_up(part, as_of, OKV_OFTEN);
    for (size_t i = 0; i < all.coins.size(); ++i) {
      const CoinState &coin = all.coins[i];
      const size_t tag = part[coin.at].tag;
      found[tag] = 1;
      infos[tag].confirmed_index = coin.confirmed_index;
      if (coin.spent_index != 0) infos[tag].spent_index = coin.spent_index;
      take_coin(all.confirm(i), {tag, coin.confirmed_index, coin.position}, &unread, infos);
    }
    read_coins(std::move(unread), infos);
  });
}

void Store::find_spent(const std::vector<Asked> &names, uint32_t *spent) const {
  const std::vector<Asked> all = sorted(names);
  for (const CoinState &coin : look_up(all, newest_, OKV_OFTEN).coins)
    if (coin.spent_index != 0) spent[all[coin.at].tag] = coin.spent_index;
}

void Store::find_places(const std::vector<Asked> &names, Placed *places) const {
  const std::vector<Asked> all = sorted(names);
  const Found found = look_up(all, newest_, OKV_OFTEN);
  for (size_t i = 0; i < found.coins.size(); ++i) {
    const CoinState &coin = found.coins[i];
    places->add({all[coin.at].tag, coin.confirmed_index, coin.position}, found.confirm(i));
  }
}

void Store::read_coins(std::vector<Place> places, cdb_coin_info *infos) const {
  coin_set::read_coins(engine_, kBlocks, std::move(places), OKV_OFTEN, infos);
}

size_t Store::first_existing(const std::vector<Asked> &names) const {
  std::array<size_t, kCheckParts> first;
  first.fill(SIZE_MAX);
  in_parts(names, kCheckParts, [&](const std::vector<Asked> &part, size_t i) {
    for (const CoinState &coin : look_up(part, newest_, OKV_ONCE).coins)
      first[i] = std::min(first[i], part[coin.at].tag);
  });
  return *std::min_element(first.begin(), first.end());
}

size_t Store::first_unspendable(const std::vector<Asked> &names, std::vector<Placed> *known) const {
  std::array<size_t, kCheckParts> first;
  first.fill(SIZE_MAX);
  known->resize(kCheckParts);
  in_parts(names, kCheckParts, [&](const std::vector<Asked> &part, size_t i) {
    const Found found = look_up(part, newest_, OKV_ONCE);
    size_t next = 0;
    const auto miss_up_to = [&](size_t end) {
      for (; next < end; ++next) first[i] = std::min(first[i], part[next].tag);
    };
    for (size_t c = 0; c < found.coins.size(); ++c) {
      const CoinState &coin = found.coins[c];
      miss_up_to(coin.spent_index != 0 ? coin.at + 1 : coin.at);
      (*known)[i].add({part[coin.at].tag, coin.confirmed_index, coin.position}, found.confirm(c));
      next = coin.at + 1;
    }
    miss_up_to(part.size());
  });
  return *std::min_element(first.begin(), first.end());
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
  for (const Space space : {kFirst, kSecond}) layout_->put(space, pending.with_confirms(), &batch);
  keys.put_hashes(into(&batch, kHashes));
  keys.put_parents(into(&batch, kParents));
  batch.commit(engine_, durability_);
}

void Store::index_by_runs(const Pending &pending) {
  Run marks(engine_, kMarks), first(engine_, kFirst), second(engine_, kSecond);
  std::future<void> first_built = beside([&] {
    layout_->put(kFirst, pending.with_confirms(), &first);
    first.finish();
  });
  std::optional<Run> hashes, parents;
  std::vector<const Run *> runs{&marks, &first, &second};
  if (const KeyRows keys = key_rows(pending); keys.n() > 0) {
    keys.put_hashes(into(&hashes.emplace(engine_, kHashes)));
    keys.put_parents(into(&parents.emplace(engine_, kParents)));
    for (Run *run : {&*hashes, &*parents}) run->finish();
    runs.insert(runs.end(), {&*hashes, &*parents});
  }
  layout_->put(kSecond, pending.with_confirms(), &second);
  second.finish();
  put_marks(pending.parents(), newest_, into(&marks));
  marks.finish();
  first_built.get();
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
  check_undo(kept);
  Batch batch;
  if (!CDB_FAULT("rewind-keeps-index-mark")) batch.put(kMarks, kIndexedMark, index_value(kept));
  batch.put(kMarks, kRewindMark, index_value(kept));
  batch.commit(engine_, durability_);
  return kept;
}

// Reads what undoing reads, so that damage is met before the mark is set: once a rewind has begun,
// each opening for writing goes on with it. Rows of coins that the same blocks confirm are read,
// too, though undoing does not: to tell them apart would take all names.
void Store::check_undo(int64_t kept) const {
  if (kept >= newest_) return;
  const auto above = cursor(static_cast<uint32_t>(kept + 1), static_cast<uint32_t>(newest_));
  Bytes spends;
  for (cdb_set_block block; above->next(&block);) {
    if (!layout_->reads_to_undo()) continue;
    spends.insert(spends.end(), block.spends, block.spends + block.n_spends * kNameBytes);
    if (spends.size() >= kSpendsAtOnce * kNameBytes) read_spent(std::exchange(spends, {}), kept);
  }
  read_spent(spends, kept);
}

void Store::read_spent(const Bytes &names, int64_t kept) const {
  if (names.empty()) return;
  std::vector<Asked> asked;
  for (size_t at = 0; at < names.size(); at += kNameBytes) asked.push_back({&names[at], at});
  const layouts::AsOf rewound{kept, /*is_newest=*/true};
  Found unused;
  layout_->find(engine_, sorted(asked), rewound, OKV_ONCE, &unused);
}

void Store::set_rewinding(int64_t kept) {
  is_rewinding_ = true;
  newest_ = indexed_ = kept;
}

void Store::erase(const Blocks &blocks) {
  if (!is_rewinding_) throw Failure(CDB_INVALID, "", "erase outside a rewind");
  Batch batch;
  layout_->undo(engine_, blocks, newest_, &batch);
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
