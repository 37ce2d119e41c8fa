// Recovery: the records behind what the derived files cover are read, checked and accepted anew.
//
// A record counts if its lengths fit, its checksum holds, it follows on the one before (that one's
// checksum, the row count, a rising index), and it is no older than the last rewind to before it.
// Its block must be one that can be accepted, too: in bulk, records are written before all of their
// spends are verified, and nothing is acknowledged before that.
// The first that does not count ends the log. That is damage when the log was acknowledged beyond
// it, by the manifest, by the acked file, or by an intact record behind it that says so. Otherwise
// it is what a crash has torn: of what nobody was promised, any part may be missing.
#include "coin_log/store/opening.h"

#include "common/fault_points.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kReplayCoins = 8192;
constexpr size_t kMagicAt = 8;
// So often the bytes behind a lost header are checked at most.
constexpr uint64_t kMostPasses = 4;

Failure damaged_at(uint64_t offset) {
  return corrupt(kLogFile, "what was acknowledged is damaged").at(offset);
}

const uint8_t *find_magic(const uint8_t *from, const uint8_t *end) {
  const uint32_t magic = kRecordMagic;
  return static_cast<const uint8_t *>(
      memmem(from, static_cast<size_t>(end - from), &magic, sizeof magic));
}

}  // namespace

void Opening::begin_replay() {
  acked_bytes_ = acknowledged();
  file_bytes_ = state_.log.file_bytes();
  state_.log.map_up_to(file_bytes_);
  place_ = {state_.log.end(),     state_.row_count, state_.last_checksum,
            state_.blocks.size(), state_.kinds,     {}};
  store_.is_replaying_ = true;
}

bool Opening::replay(uint64_t max_coins, uint64_t *coins) {
  const uint32_t first_row = state_.row_count;
  bool has_more = true;
  try {
    while (has_more && state_.row_count - first_row < max_coins) has_more = replay_batch();
    if (!has_more) store_.verify();
  } catch (const Failure &failure) {
    if (failure.status() != CDB_TAKEN_BACK) throw;
    has_more = false;
  }
  *coins = std::max(state_.row_count, first_row) - first_row;
  if (has_more) return true;
  store_.is_replaying_ = false;
  end_log(acked_bytes_, file_bytes_);
  return false;
}

// Returns whether there are more.
bool Opening::replay_batch() {
  OwnedBlocks blocks;
  std::vector<RecordHeader> headers;
  bool has_more = true;
  while (has_more && blocks.confirm_count() + headers.size() < kReplayCoins)
    has_more = read_next(&blocks, &headers);
  replay_blocks(blocks.view(), headers);
  return has_more;
}

// False, and nothing is appended, where no record follows that counts.
bool Opening::read_next(OwnedBlocks *blocks, std::vector<RecordHeader> *headers) {
  Place &at = place_;
  if (at.offset >= file_bytes_ ||
      !state_.log.read_record(at.offset, file_bytes_ - at.offset, &record_, &at.ahead))
    return false;
  const RecordHeader header = read_header(record_.data());
  if (state_.last_rewind.has_removed(header, at.offset) ||
      header.previous_checksum != at.previous_checksum || header.first_row != at.rows ||
      !append_block(record_.data(), at.kinds, blocks))
    return false;
  introduce_kinds(record_.data(), at.block++, &at.kinds);
  headers->push_back(header);
  at.previous_checksum = header.checksum;
  at.rows += header.geometry.coins;
  at.offset += header.length;
  return true;
}

// Throws TAKEN_BACK at a block that breaks a rule; those before it are accepted.
void Opening::replay_blocks(const Blocks &blocks, const std::vector<RecordHeader> &headers) {
  if (headers.empty()) return;
  const uint64_t offset = state_.log.end();
  uint64_t end = offset;
  for (const RecordHeader &header : headers) end += header.length;
  if (!store_.is_read_only() && !CDB_FAULT("found-not-written-again"))
    state_.log.write_again(std::max(offset, acknowledged()), end);
  const size_t accepted = store_.accept(blocks, true, headers.data());
  if (accepted > 0) store_.epoch_ = std::max(store_.epoch_, headers[accepted - 1].epoch);
  if (accepted < headers.size()) throw Failure(CDB_TAKEN_BACK, "", "a block breaks a rule");
}

uint64_t Opening::acknowledged() const {
  return std::max(acked_.length(store_.epoch_), manifest().covered_bytes);
}

// Whether the record, if it is intact, says that the log was durable beyond offset. Without `acked`
// nobody knows, and what may have been acknowledged counts as if it was.
bool Opening::tells_of(uint64_t offset, uint64_t at, const RecordHeader &header) const {
  return !state_.last_rewind.has_removed(header, at) &&
         (acked_.is_lost() || (offset < header.durable_upto && header.durable_upto <= at));
}

// Most of a record's bytes are what a peer chose, who may have put a record of its own into them.
// So as long as the headers say where the records are, torn or not, nothing within them counts.
bool Opening::is_acknowledged_behind(uint64_t offset, uint64_t file_bytes) const {
  uint64_t at = offset, previous = state_.last_checksum;
  while (at < file_bytes && file_bytes - at >= kHeaderBytes) {
    const RecordHeader header = read_header(state_.log.at(at));
    if (!is_plausible(header) || header.previous_checksum != previous) break;
    if (tells_of(offset, at, header) &&
        is_intact(state_.log.at(at), file_bytes - at, state_.log.seed(at)))
      return true;
    previous = header.checksum;
    at += header.length;
  }
  return at < file_bytes && is_acknowledged_somewhere(offset, at, file_bytes);
}

// The same where a header is lost, by what can be found behind it.
bool Opening::is_acknowledged_somewhere(uint64_t offset, uint64_t from, uint64_t file_bytes) const {
  const uint8_t *const end = state_.log.at(file_bytes);
  const uint8_t *magic = state_.log.at(from);
  uint64_t budget = kMostPasses * (file_bytes - from);
  while ((magic = find_magic(magic, end)) != nullptr) {
    const uint64_t at = static_cast<uint64_t>(magic - state_.log.at(0)) - kMagicAt;
    ++magic;
    if (at < from || file_bytes - at < kHeaderBytes) continue;
    const RecordHeader header = read_header(state_.log.at(at));
    if (!is_plausible(header) || header.length > file_bytes - at || !tells_of(offset, at, header))
      continue;
    // Nobody's crash leaves so many; whoever made them up has not chosen what is lost.
    if (header.length > budget) return true;
    budget -= header.length;
    if (is_intact(state_.log.at(at), file_bytes - at, state_.log.seed(at))) return true;
  }
  return false;
}

void Opening::end_log(uint64_t acked, uint64_t file_bytes) {
  const uint64_t end = state_.log.end();
  if (end < acked || (end < file_bytes && is_acknowledged_behind(end, file_bytes))) {
    if (options_.before_damage == 0) throw damaged_at(end);
    store_.damage_ = damaged_at(end);
  }
  if (!store_.is_read_only() && !CDB_FAULT("torn-tail-not-erased")) state_.log.erase_tail();
}

}  // namespace cdb::coin_log
