// rocks_kv behind cdb_rocks_kv.h: what is pending in memory, in front of what is on disk.

#include "cdb_rocks_kv_api.h"

#include "rocks_kv_pending.h"
#include "rocks_kv_store.h"
#include "rocksdb_common.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <vector>

using rocksdb::Status;

namespace {

constexpr size_t kThreadEntries = 500;  // from so many lookups on, a second thread pays

// The arrays of cdb_kv_find.
struct Answers {
  uint8_t *found;
  uint8_t *confirms;
  uint32_t *confirmed;
  uint32_t *spent;
};

void sort_by_name(std::vector<Asked> *asked) {
  std::sort(asked->begin(), asked->end(), [](const Asked &a, const Asked &b) {
    return compare_names(a.name, b.name) < 0;
  });
}

// Runs both, at the same time if that pays.
template <typename First, typename Second>
Status run_both(bool pays, First first, Second second) {
  if (!pays) {
    const Status status = first();
    return status.ok() ? second() : status;
  }
  std::future<Status> other = std::async(std::launch::async, second);
  const Status status = first();
  const Status other_status = other.get();
  return status.ok() ? other_status : status;
}

}  // namespace

struct cdb_kv {
 public:
  static Status open(const std::string &path, const cdb_kv_options &options, cdb_kv **kv);
  Status close() { return store_->close(); }
  cdb_kv_state state() const;
  Status accept(const cdb_kv_blocks &chunk, size_t *accepted);
  Status commit();
  Status settle();
  Status find(const uint8_t *names, size_t n, const Answers &answers);
  Status find_block(uint32_t index, cdb_kv_block *block, bool *found);
  std::unique_ptr<BlockCursor> cursor(uint32_t first, uint32_t last);
  Status begin_rewind(int64_t newest);
  Status erase(const cdb_kv_blocks &blocks);
  Status end_rewind();

 private:
  size_t add_until_bad(const cdb_kv_blocks &chunk, std::vector<size_t> *coins_before);
  Status check(size_t first_coin, const std::vector<size_t> &coins_before, size_t *first_bad);
  Status find_stored(const std::vector<Asked> &sorted, const Answers &answers);
  Status check_may_write() const;
  int64_t newest() const;

  cdb_kv_options options_{};
  std::unique_ptr<Store> store_;
  Pending pending_;
  std::unique_ptr<BlockCursor> found_block_;  // keeps what find_block gave
};

struct cdb_kv_cursor {
  std::unique_ptr<BlockCursor> blocks;
};

Status cdb_kv::open(const std::string &path, const cdb_kv_options &options, cdb_kv **kv) {
  auto opened = std::make_unique<cdb_kv>();
  opened->options_ = options;
  const Status status = Store::open(path, options, &opened->store_);
  if (status.ok()) *kv = opened.release();
  return status;
}

int64_t cdb_kv::newest() const {
  return pending_.empty() ? store_->newest() : int64_t{pending_.blocks().back().index};
}

cdb_kv_state cdb_kv::state() const {
  return {newest(), store_->newest(), store_->sequence(), store_->ingestions(),
          store_->is_rewinding() ? 1 : 0};
}

Status cdb_kv::check_may_write() const {
  if (options_.read_only != 0) return Status::InvalidArgument("it was opened read-only");
  return Status::OK();
}

Status cdb_kv::accept(const cdb_kv_blocks &chunk, size_t *accepted) {
  Status status = check_may_write();
  if (status.ok() && store_->is_rewinding()) status = Status::InvalidArgument("within a rewind");
  if (!status.ok()) return status;
  const size_t blocks_before = pending_.blocks().size();
  const size_t first_coin = pending_.coins().size();
  std::vector<size_t> coins_before;  // coins_before[b]: pending before block b of the chunk
  const size_t n_added = add_until_bad(chunk, &coins_before);
  size_t first_bad = n_added;
  status = check(first_coin, coins_before, &first_bad);
  if (!status.ok()) first_bad = 0;
  if (first_bad < chunk.n_blocks) pending_.keep(blocks_before + first_bad, coins_before[first_bad]);
  *accepted = first_bad;
  if (status.ok() && pending_.entries() >= options_.commit_entries) status = commit();
  return status;
}

// The number of blocks that break no rule that shows without the database.
size_t cdb_kv::add_until_bad(const cdb_kv_blocks &chunk, std::vector<size_t> *coins_before) {
  for (size_t b = 0; b < chunk.n_blocks; ++b) {
    coins_before->push_back(pending_.coins().size());
    const bool is_later = static_cast<int64_t>(chunk.indices[b]) > newest();
    if (chunk.indices[b] > UINT32_MAX || !is_later || !pending_.add(chunk, b)) return b;
  }
  return chunk.n_blocks;
}

// Asks the database about the chunk's coins, those from first_coin on.
Status cdb_kv::check(size_t first_coin, const std::vector<size_t> &coins_before,
                     size_t *first_bad) {
  std::vector<Asked> new_names, old_spends;
  size_t b = 0;
  for (size_t i = first_coin; i < pending_.coins().size(); ++i) {
    while (b + 1 < coins_before.size() && coins_before[b + 1] <= i) ++b;
    const PendingCoin &coin = pending_.coins()[i];
    (coin.is_confirmed ? new_names : old_spends).push_back({coin.name, b});
  }
  size_t bad_confirm = *first_bad, bad_spend = *first_bad;
  const auto check_confirms = [&] {
    sort_by_name(&new_names);
    return store_->check_absent(new_names, &bad_confirm);
  };
  const auto check_spends = [&] {
    sort_by_name(&old_spends);
    return store_->check_spendable(old_spends, &bad_spend);
  };
  const bool pays = new_names.size() + old_spends.size() >= kThreadEntries;
  const Status status = run_both(pays, check_confirms, check_spends);
  *first_bad = std::min(bad_confirm, bad_spend);
  return status;
}

Status cdb_kv::commit() {
  Status status = check_may_write();
  if (status.ok()) status = store_->commit(pending_);
  if (status.ok() && !pending_.empty()) pending_.clear();
  return status;
}

Status cdb_kv::settle() {
  const Status status = commit();
  return status.ok() ? store_->settle() : status;
}

Status cdb_kv::find(const uint8_t *names, size_t n, const Answers &answers) {
  std::vector<Asked> asked;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t *name = names + i * CDB_NAME_BYTES;
    const PendingCoin *coin = pending_.empty() ? nullptr : pending_.find(name);
    answers.spent[i] = coin == nullptr ? 0 : coin->spent_index;
    answers.found[i] = coin != nullptr && coin->is_confirmed ? 1 : 0;
    if (answers.found[i] == 0) {
      asked.push_back({name, i});
      continue;
    }
    cdb_kv_block block;
    pending_.find_block(coin->confirmed_index, &block);
    std::copy_n(block.confirms + size_t{coin->position} * CDB_CONFIRM_BYTES, CDB_CONFIRM_BYTES,
                answers.confirms + i * CDB_CONFIRM_BYTES);
    answers.confirmed[i] = coin->confirmed_index;
  }
  sort_by_name(&asked);
  const size_t half = asked.size() / 2;
  const auto find_part = [&](size_t from, size_t to) {
    return find_stored({asked.data() + from, asked.data() + to}, answers);
  };
  return run_both(
      asked.size() >= kThreadEntries, [&] { return find_part(0, half); },
      [&] { return find_part(half, asked.size()); });
}

Status cdb_kv::find_stored(const std::vector<Asked> &sorted, const Answers &answers) {
  std::vector<Place> places;
  const Status status = store_->find(sorted, &places);
  if (!status.ok()) return status;
  for (const Place &place : places) {
    answers.found[place.tag] = 1;
    answers.confirmed[place.tag] = place.index;
    if (answers.spent[place.tag] == 0) answers.spent[place.tag] = place.spent_index;
  }
  return store_->read_rows(std::move(places), answers.confirms);
}

Status cdb_kv::find_block(uint32_t index, cdb_kv_block *block, bool *found) {
  *found = pending_.find_block(index, block) != nullptr;
  if (*found || int64_t{index} > store_->newest()) return Status::OK();
  found_block_ = store_->cursor(index, index);
  const Status status = found_block_->next(block, found);
  found_block_->release_view();
  return status;
}

std::unique_ptr<BlockCursor> cdb_kv::cursor(uint32_t first, uint32_t last) {
  return store_->cursor(first, last);
}

Status cdb_kv::begin_rewind(int64_t newest) {
  Status status = check_may_write();
  if (status.ok() && !pending_.empty()) status = Status::InvalidArgument("blocks are pending");
  if (status.ok() && newest > store_->newest())
    status = Status::InvalidArgument("a rewind to a later block");
  return status.ok() ? store_->begin_rewind(std::max(newest, int64_t{-1})) : status;
}

Status cdb_kv::erase(const cdb_kv_blocks &blocks) {
  const Status status = check_may_write();
  return status.ok() ? store_->erase(blocks) : status;
}

Status cdb_kv::end_rewind() {
  const Status status = check_may_write();
  return status.ok() ? store_->end_rewind() : status;
}

const char *cdb_kv_version(void) {
  static const std::string version = "RocksDB " + rocksdb::GetRocksVersionAsString();
  return version.c_str();
}

cdb_status cdb_kv_open(const char *path, const cdb_kv_options *options, cdb_kv **kv,
                       char **error) {
  return guarded(error, [=] { return cdb_kv::open(path, *options, kv); });
}

cdb_status cdb_kv_close(cdb_kv *kv, char **error) {
  return guarded(error, [=] {
    const std::unique_ptr<cdb_kv> owned(kv);
    return owned->close();
  });
}

void cdb_kv_get_state(const cdb_kv *kv, cdb_kv_state *state) {
  *state = kv->state();
}

cdb_status cdb_kv_accept(cdb_kv *kv, const cdb_kv_blocks *blocks, size_t *accepted, char **error) {
  return guarded(error, [=] { return kv->accept(*blocks, accepted); });
}

cdb_status cdb_kv_commit(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->commit(); });
}

cdb_status cdb_kv_settle(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->settle(); });
}

cdb_status cdb_kv_find(cdb_kv *kv, const uint8_t *names, size_t n, uint8_t *found,
                       uint8_t *confirms, uint32_t *confirmed, uint32_t *spent, char **error) {
  return guarded(error, [=] { return kv->find(names, n, {found, confirms, confirmed, spent}); });
}

cdb_status cdb_kv_find_block(cdb_kv *kv, uint32_t index, cdb_kv_block *block, int32_t *found,
                             char **error) {
  return guarded(error, [=] {
    bool is_found = false;
    const Status status = kv->find_block(index, block, &is_found);
    *found = is_found ? 1 : 0;
    return status;
  });
}

cdb_status cdb_kv_cursor_open(cdb_kv *kv, uint32_t first, uint32_t last, cdb_kv_cursor **cursor,
                              char **error) {
  return guarded(error, [=] {
    *cursor = new cdb_kv_cursor{kv->cursor(first, last)};
    return Status::OK();
  });
}

cdb_status cdb_kv_cursor_next(cdb_kv_cursor *cursor, cdb_kv_block *block, int32_t *found,
                              char **error) {
  return guarded(error, [=] {
    bool is_found = false;
    const Status status = cursor->blocks->next(block, &is_found);
    *found = is_found ? 1 : 0;
    return status;
  });
}

void cdb_kv_cursor_close(cdb_kv_cursor *cursor) {
  delete cursor;
}

cdb_status cdb_kv_begin_rewind(cdb_kv *kv, int64_t newest, char **error) {
  return guarded(error, [=] { return kv->begin_rewind(newest); });
}

cdb_status cdb_kv_erase(cdb_kv *kv, const cdb_kv_blocks *blocks, char **error) {
  return guarded(error, [=] { return kv->erase(*blocks); });
}

cdb_status cdb_kv_end_rewind(cdb_kv *kv, char **error) {
  return guarded(error, [=] { return kv->end_rewind(); });
}

void cdb_kv_free(char *error) {
  std::free(error);
}
