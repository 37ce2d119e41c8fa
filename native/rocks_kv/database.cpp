#include "database.h"

#include "common/coin_name.h"

#include <algorithm>
#include <future>
#include <utility>

using rocksdb::Status;

namespace cdb::rocks_kv {

namespace {

constexpr size_t kPartEntries = 125;  // from so many lookups on, a thread pays
constexpr size_t kFindParts = 4;      // more than processors: most of a cold lookup is waiting
constexpr size_t kCheckParts = 2;

static_assert(sizeof(cdb_kv_info) == 80, "cdb_kv_info has no gaps");

// One of n parts of about the same size, in the order of names.
std::vector<Asked> sorted_part(const std::vector<Asked> &all, size_t part, size_t n) {
  std::vector<Asked> sorted(all.data() + all.size() * part / n,
                            all.data() + all.size() * (part + 1) / n);
  std::sort(sorted.begin(), sorted.end(),
            [](const Asked &a, const Asked &b) { return compare_names(a.name, b.name) < 0; });
  return sorted;
}

size_t parts_for(size_t n_entries, size_t most) {
  return std::clamp(n_entries / kPartEntries, size_t{1}, most);
}

// Runs part(0) … part(n - 1) at the same time, and gives the first failure.
template <typename Part>
Status run_parts(size_t n, Part part) {
  std::vector<std::future<Status>> others;
  for (size_t i = 1; i < n; ++i) others.push_back(std::async(std::launch::async, part, i));
  Status status = part(0);
  for (std::future<Status> &other : others) {
    const Status other_status = other.get();
    if (status.ok()) status = other_status;
  }
  return status;
}

}  // namespace

Status Database::open(const std::string &path, const cdb_kv_options &options,
                      std::unique_ptr<Database> *database) {
  auto opened = std::make_unique<Database>();
  opened->options_ = options;
  Status status = Store::open(path, options, opened->lost_pages_, &opened->store_);
  Parents parents;
  if (status.ok()) status = opened->store_->read_parents(&parents);
  opened->pending_.restore_parents(std::move(parents));
  if (status.ok()) status = opened->restore();
  status = unless_lost(opened->lost_pages(), status);
  if (status.ok()) *database = std::move(opened);
  return status;
}

int64_t Database::newest() const {
  return pending_.blocks().empty() ? store_->newest() : int64_t{pending_.blocks().back().index};
}

cdb_kv_state Database::state() const {
  return {newest(),
          store_->newest(),
          store_->sequence(),
          store_->ingestions(),
          store_->is_rewinding() ? 1 : 0,
          pending_.probes()};
}

Status Database::check_may_write() const {
  if (options_.read_only != 0) return Status::InvalidArgument("it was opened read-only");
  return Status::OK();
}

Status Database::accept(const Blocks &chunk, size_t *accepted) {
  Status status = check_may_write();
  if (status.ok() && store_->is_rewinding()) status = Status::InvalidArgument("within a rewind");
  if (!status.ok()) return status;
  const int64_t newest_before = newest();
  const size_t blocks_before = pending_.blocks().size();
  const size_t first_coin = pending_.coins().size();
  std::vector<size_t> sizes;  // sizes[b]: coins before block b of the chunk
  const size_t n_added = add_until_bad(chunk, &sizes);
  size_t first_bad = n_added;
  status = check(first_coin, sizes, &first_bad);
  if (!status.ok()) first_bad = 0;
  if (first_bad < chunk.n) {
    const int64_t kept =
        first_bad == 0 ? newest_before : static_cast<int64_t>(chunk.indices[first_bad - 1]);
    pending_.keep(blocks_before + first_bad, sizes[first_bad], kept);
  }
  *accepted = first_bad;
  if (status.ok() && pending_.coins().size() >= options_.commit_entries) status = index();
  return status;
}

// Gives back what a crash has taken from memory: the coins of committed blocks above indexed().
Status Database::restore() {
  if (store_->indexed() == store_->newest()) return Status::OK();
  const auto blocks = store_->cursor(static_cast<uint32_t>(store_->indexed() + 1),
                                     static_cast<uint32_t>(store_->newest()));
  Bytes names;
  int64_t newest = store_->indexed();
  cdb_kv_block block;
  bool is_found = false;
  Status status = blocks->next(&block, &is_found);
  for (; status.ok() && is_found; status = blocks->next(&block, &is_found)) {
    names.resize(block.n_confirms * kNameBytes);
    name_coins(block.confirms, block.n_confirms, names.data());
    const uint64_t index = block.index, spend_end = block.n_spends, confirm_end = block.n_confirms;
    const Blocks chunk{1,
                       &index,
                       &block.timestamp,
                       &spend_end,
                       &confirm_end,
                       block.spends,
                       block.confirms,
                       names.data()};
    if (!pending_.add(chunk, 0, newest))
      return Status::Corruption("a block does not fit those before it");
    newest = block.index;
    pending_.drop_committed_blocks();
  }
  return status;
}

// The number of blocks that break no rule that shows without the database.
size_t Database::add_until_bad(const Blocks &chunk, std::vector<size_t> *sizes) {
  for (size_t b = 0; b < chunk.n; ++b) {
    sizes->push_back(pending_.coins().size());
    if (!pending_.add(chunk, b, newest())) return b;
  }
  return chunk.n;
}

// Asks the database about the chunk's coins, those from first_coin on.
Status Database::check(size_t first_coin, const std::vector<size_t> &sizes, size_t *first_bad) {
  std::vector<Asked> new_names, old_spends;
  size_t b = 0;
  for (size_t i = first_coin; i < pending_.coins().size(); ++i) {
    while (b + 1 < sizes.size() && sizes[b + 1] <= i) ++b;
    const PendingCoin &coin = pending_.coins()[i];
    if (coin.may_exist) new_names.push_back({coin.name, b});
    if (!coin.is_confirmed) old_spends.push_back({coin.name, b});
  }
  const size_t n_parts = parts_for(new_names.size() + old_spends.size(), kCheckParts);
  std::vector<size_t> bad(n_parts, *first_bad);
  const Status status = run_parts(n_parts, [&](size_t part) {
    const Status absent = store_->check_absent(sorted_part(new_names, part, n_parts), &bad[part]);
    if (!absent.ok()) return absent;
    return store_->check_spendable(sorted_part(old_spends, part, n_parts), &bad[part]);
  });
  *first_bad = *std::min_element(bad.begin(), bad.end());
  return status;
}

Status Database::commit() {
  Status status = check_may_write();
  if (status.ok()) status = store_->commit(pending_);
  if (status.ok()) pending_.drop_committed_blocks();
  return status;
}

Status Database::index() {
  Status status = commit();
  if (!status.ok() || pending_.coins().empty()) return status;
  status = store_->index(pending_);
  if (status.ok()) pending_.drop_indexed_coins();
  return status;
}

Status Database::checkpoint() {
  const Status status = index();
  return status.ok() ? store_->checkpoint() : status;
}

Status Database::settle() {
  const Status status = checkpoint();
  return status.ok() ? store_->settle() : status;
}

Status Database::find(const uint8_t *names, size_t n, cdb_kv_info *infos, uint8_t *found) {
  std::vector<Asked> asked;
  std::vector<Place> places;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t *name = names + i * kNameBytes;
    found[i] = find_in_memory(name, i, &infos[i], &places) ? 1 : 0;
    if (found[i] == 0) asked.push_back({name, i});
  }
  const size_t n_parts = parts_for(asked.size(), kFindParts);
  const Status status = run_parts(n_parts, [&](size_t part) {
    return store_->find(sorted_part(asked, part, n_parts), infos, found);
  });
  return status.ok() ? store_->read_coins(std::move(places), infos) : status;
}

// Sets all that memory knows of a coin, and adds a place where it is the block alone that knows the
// coin itself.
bool Database::find_in_memory(const uint8_t *name, size_t i, cdb_kv_info *info,
                              std::vector<Place> *places) const {
  const PendingCoin *coin = pending_.find(name);
  info->spent_index = coin == nullptr ? 0 : coin->spent_index;
  if (coin == nullptr || !coin->is_confirmed) return false;
  info->confirmed_index = coin->confirmed_index;
  cdb_kv_block block;
  if (pending_.find_block(coin->confirmed_index, &block) == nullptr)
    places->push_back({i, coin->confirmed_index, coin->position});
  else
    copy_confirm(block.confirms + size_t{coin->position} * kConfirmBytes, info);
  return true;
}

Status Database::find_block(uint32_t index, cdb_kv_block *block, bool *found) {
  *found = pending_.find_block(index, block) != nullptr;
  if (*found || int64_t{index} > store_->newest()) return Status::OK();
  found_block_ = store_->cursor(index, index);
  const Status status = found_block_->next(block, found);
  found_block_->release_view();
  return status;
}

std::unique_ptr<BlockCursor> Database::cursor(uint32_t first, uint32_t last) {
  return store_->cursor(first, last);
}

Status Database::begin_rewind(int64_t newest) {
  Status status = check_may_write();
  if (status.ok()) status = index();
  if (status.ok() && newest > store_->newest())
    status = Status::InvalidArgument("a rewind to a later block");
  return status.ok() ? store_->begin_rewind(std::max(newest, int64_t{-1})) : status;
}

Status Database::erase(const Blocks &blocks) {
  const Status status = check_may_write();
  return status.ok() ? store_->erase(blocks) : status;
}

Status Database::end_rewind() {
  const Status status = check_may_write();
  return status.ok() ? store_->end_rewind() : status;
}

}  // namespace cdb::rocks_kv
