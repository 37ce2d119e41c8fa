// Recovery: the records behind what the derived files cover are read, checked and accepted anew.
//
// A record counts if its lengths fit, its checksum holds, it follows on the one before (that one's
// checksum, the row count, a rising index), and it is no older than the last rewind to before it.
// Its block must be one that can be accepted, too: in bulk, records are written before all of their
// spends are verified, and nothing is acknowledged before that.
// The first that does not count ends the log. That is damage when the log was acknowledged beyond
// it, by the manifest, by the acked file, or by an intact record behind it that says so. Otherwise
// it is what a crash has torn: of what nobody was promised, any part may be missing.
#include "failure.h"
#include "store.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kReplayCoins = 8192;
constexpr size_t kMagicAt = 8;
// So often the bytes behind a lost header are checked at most.
constexpr uint64_t kMostPasses = 4;

Failure damaged_at(uint64_t offset) {
  return corrupt(kLogFile, "damaged at byte " + std::to_string(offset) +
                               ", before the end of what was acknowledged");
}

const uint8_t *find_magic(const uint8_t *from, const uint8_t *end) {
  const uint32_t magic = kRecordMagic;
  return static_cast<const uint8_t *>(
      memmem(from, static_cast<size_t>(end - from), &magic, sizeof magic));
}

}  // namespace

// Written before a rewind to before it.
bool Store::is_dead(const RecordHeader &header, uint64_t offset) const {
  return offset >= manifest_.rewound_to && header.epoch < manifest_.epoch;
}

void Store::replay() {
  const uint64_t acked = acknowledged();
  const uint64_t file_bytes = log_.file_bytes();
  log_.map_up_to(file_bytes);
  is_replaying_ = true;
  try {
    replay_records(file_bytes);
    verify();
  } catch (const Failure &failure) {
    if (failure.status() != COIN_LOG_TAKEN_BACK) throw;
  }
  is_replaying_ = false;
  end_log(acked, file_bytes);
}

void Store::replay_records(uint64_t file_bytes) {
  OwnedBlocks blocks;
  std::vector<RecordHeader> headers;
  uint64_t offset = log_.end(), rows = rows_, previous = last_checksum_;
  Bytes record;
  while (offset < file_bytes && log_.read_record(offset, file_bytes - offset, &record)) {
    const RecordHeader header = read_header(record.data());
    if (is_dead(header, offset) || header.previous_checksum != previous ||
        header.first_row != rows || !append_block(record.data(), &blocks))
      break;
    headers.push_back(header);
    previous = header.checksum;
    rows += header.geometry.coins;
    offset += header.length;
    if (blocks.confirm_count() >= kReplayCoins) replay_blocks(&blocks, &headers);
  }
  replay_blocks(&blocks, &headers);
}

// Throws TAKEN_BACK at a block that breaks a rule; those before it are accepted.
void Store::replay_blocks(OwnedBlocks *blocks, std::vector<RecordHeader> *headers) {
  if (headers->empty()) return;
  const uint64_t offset = log_.end();
  uint64_t end = offset;
  for (const RecordHeader &header : *headers) end += header.length;
  if (!is_read_only()) log_.write_again(std::max(offset, acknowledged()), end);
  const size_t accepted = accept_all(blocks->view(), headers->data(), true);
  if (accepted > 0) epoch_ = std::max(epoch_, (*headers)[accepted - 1].epoch);
  if (accepted < headers->size()) throw Failure(COIN_LOG_TAKEN_BACK, "", "a block breaks a rule");
  blocks->clear();
  headers->clear();
}

uint64_t Store::acknowledged() const {
  return std::max(acked_.length(epoch_), manifest_.covered_bytes);
}

// Whether the record, if it is intact, says that the log was durable beyond offset. Without `acked`
// nobody knows, and what may have been acknowledged counts as if it was.
bool Store::tells_of(uint64_t offset, uint64_t at, const RecordHeader &header) const {
  return !is_dead(header, at) &&
         (acked_.is_lost() || (offset < header.durable_upto && header.durable_upto <= at));
}

// Most of a record's bytes are what a peer chose, who may have put a record of its own into them.
// So as long as the headers say where the records are, torn or not, nothing within them counts.
bool Store::is_acknowledged_behind(uint64_t offset, uint64_t file_bytes) const {
  uint64_t at = offset, previous = last_checksum_;
  while (at < file_bytes && file_bytes - at >= kHeaderBytes) {
    const RecordHeader header = read_header(log_.at(at));
    if (!is_plausible(header) || header.previous_checksum != previous) break;
    if (tells_of(offset, at, header) && is_intact(log_.at(at), file_bytes - at, at)) return true;
    previous = header.checksum;
    at += header.length;
  }
  return at < file_bytes && is_acknowledged_somewhere(offset, at, file_bytes);
}

// The same where a header is lost, by what can be found behind it.
bool Store::is_acknowledged_somewhere(uint64_t offset, uint64_t from, uint64_t file_bytes) const {
  const uint8_t *const end = log_.at(file_bytes);
  const uint8_t *magic = log_.at(from);
  uint64_t budget = kMostPasses * (file_bytes - from);
  while ((magic = find_magic(magic, end)) != nullptr) {
    const uint64_t at = static_cast<uint64_t>(magic - log_.at(0)) - kMagicAt;
    ++magic;
    if (at < from || file_bytes - at < kHeaderBytes) continue;
    const RecordHeader header = read_header(log_.at(at));
    if (!is_plausible(header) || header.length > file_bytes - at || !tells_of(offset, at, header))
      continue;
    // Nobody's crash leaves so many; whoever made them up has not chosen what is lost.
    if (header.length > budget) return true;
    budget -= header.length;
    if (is_intact(log_.at(at), file_bytes - at, at)) return true;
  }
  return false;
}

void Store::end_log(uint64_t acked, uint64_t file_bytes) {
  const uint64_t end = log_.end();
  if (end < acked || (end < file_bytes && is_acknowledged_behind(end, file_bytes))) {
    if (options_.before_damage == 0) throw damaged_at(end);
    damage_ = damaged_at(end);
  }
  if (!is_read_only()) log_.erase_tail();
}

}  // namespace cdb::coin_log
