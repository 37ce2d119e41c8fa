// Recovery: the records behind what the derived files cover are read, checked and accepted anew.
//
// A record counts if its lengths fit, its checksum holds, it follows on the one before (that one's
// checksum, the row count, a rising index), and it is no older than the last rewind to before it.
// Its block must be one that can be accepted, too: in bulk, records are written before all of their
// spends are verified, and nothing is acknowledged before that.
// The first that does not count ends the log. That is damage when the log was acknowledged beyond
// it, by the manifest, by the acked file, or by an intact record behind it that says so. Otherwise
// it is what a crash has torn: of what nobody was promised, any part may be missing.
#include "opening.h"

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

void Opening::replay() {
  const uint64_t acked = acknowledged();
  const uint64_t file_bytes = state_.log.file_bytes();
  state_.log.map_up_to(file_bytes);
  store_.is_replaying_ = true;
  try {
    replay_records(file_bytes);
    store_.verify();
  } catch (const Failure &failure) {
    if (failure.status() != CDB_TAKEN_BACK) throw;
  }
  store_.is_replaying_ = false;
  end_log(acked, file_bytes);
}

void Opening::replay_records(uint64_t file_bytes) {
  OwnedBlocks blocks;
  std::vector<RecordHeader> headers;
  RewardKinds kinds = state_.kinds;
  size_t block = state_.blocks.size();
  uint64_t offset = state_.log.end(), rows = state_.row_count, previous = state_.last_checksum;
  Bytes record;
  ReadAhead ahead;
  while (offset < file_bytes &&
         state_.log.read_record(offset, file_bytes - offset, &record, &ahead)) {
    const RecordHeader header = read_header(record.data());
    if (state_.last_rewind.has_removed(header, offset) || header.previous_checksum != previous ||
        header.first_row != rows || !append_block(record.data(), kinds, &blocks))
      break;
    introduce_kinds(record.data(), block++, &kinds);
    headers.push_back(header);
    previous = header.checksum;
    rows += header.geometry.coins;
    offset += header.length;
    if (blocks.confirm_count() >= kReplayCoins) replay_blocks(&blocks, &headers);
  }
  replay_blocks(&blocks, &headers);
}

// Throws TAKEN_BACK at a block that breaks a rule; those before it are accepted.
void Opening::replay_blocks(OwnedBlocks *blocks, std::vector<RecordHeader> *headers) {
  if (headers->empty()) return;
  const uint64_t offset = state_.log.end();
  uint64_t end = offset;
  for (const RecordHeader &header : *headers) end += header.length;
  if (!store_.is_read_only()) state_.log.write_again(std::max(offset, acknowledged()), end);
  const size_t accepted = store_.accept(blocks->view(), true, headers->data());
  if (options_.replayed_coins != nullptr)
    __atomic_store_n(options_.replayed_coins, state_.row_count, __ATOMIC_RELAXED);
  if (accepted > 0) store_.epoch_ = std::max(store_.epoch_, (*headers)[accepted - 1].epoch);
  if (accepted < headers->size()) throw Failure(CDB_TAKEN_BACK, "", "a block breaks a rule");
  blocks->clear();
  headers->clear();
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
  if (!store_.is_read_only()) state_.log.erase_tail();
}

}  // namespace cdb::coin_log
