#include "record.h"

#include "checksum.h"
#include "common/coin_name.h"
#include "failure.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

void write_header(const RecordHeader &header, uint8_t *to) {
  store(to + 8, header.magic);
  store(to + 12, header.length);
  store(to + 16, header.previous_checksum);
  store(to + 24, header.epoch);
  store(to + 28, header.block_index);
  store(to + 32, header.timestamp);
  store(to + 40, header.first_row);
  store(to + 48, header.durable_upto);
  store(to + 56, header.geometry.spends);
  store(to + 60, header.geometry.explicit_parents);
  store(to + 64, header.geometry.coins);
  store(to + 68, header.version);
  to[70] = header.geometry.amount_bytes;
  to[71] = header.geometry.parent_bytes;
}

Geometry geometry_of(const Blocks &blocks, size_t block, const Joined &joined) {
  Geometry geometry;
  geometry.spends = static_cast<uint32_t>(blocks.spend_ends[block] - blocks.spend_begin(block));
  geometry.explicit_parents = static_cast<uint32_t>(joined.explicit_parents.size());
  geometry.coins = static_cast<uint32_t>(joined.parents.size());
  geometry.amount_bytes = static_cast<uint8_t>(bytes_needed(joined.largest_amount));
  geometry.parent_bytes =
      static_cast<uint8_t>(std::max(1U, bytes_needed(std::max<size_t>(geometry.parents(), 1) - 1)));
  return geometry;
}

// Coins are written with 8-byte stores that reach into what follows: the record's end needs room.
constexpr size_t kSlackBytes = 8;

void write_coins(const Blocks &blocks, size_t begin, const Joined &joined, const Geometry &geometry,
                 uint8_t *to) {
  for (size_t i = 0; i < geometry.coins; ++i) {
    const uint8_t *const confirm = blocks.confirm(begin + i);
    std::memcpy(to, confirm + kNameBytes, kNameBytes);
    store(to + kNameBytes, load_big_endian(confirm + kAmountAt));
    store(to + kNameBytes + geometry.amount_bytes, joined.parents[i]);
    to += geometry.coin_bytes();
  }
}

}  // namespace

RecordHeader read_header(const uint8_t *bytes) {
  RecordHeader header;
  header.checksum = load<uint64_t>(bytes);
  header.magic = load<uint32_t>(bytes + 8);
  header.length = load<uint32_t>(bytes + 12);
  header.previous_checksum = load<uint64_t>(bytes + 16);
  header.epoch = load<uint32_t>(bytes + 24);
  header.block_index = load<uint32_t>(bytes + 28);
  header.timestamp = load<uint64_t>(bytes + 32);
  header.first_row = load<uint64_t>(bytes + 40);
  header.durable_upto = load<uint64_t>(bytes + 48);
  header.geometry = {load<uint32_t>(bytes + 56), load<uint32_t>(bytes + 60),
                     load<uint32_t>(bytes + 64), bytes[70], bytes[71]};
  header.version = load<uint16_t>(bytes + 68);
  return header;
}

bool is_plausible(const RecordHeader &header) {
  return header.magic == kRecordMagic && header.version == kRecordVersion &&
         header.geometry.is_sound() && header.geometry.length() == header.length;
}

bool is_intact(const uint8_t *bytes, uint64_t available, uint64_t offset) {
  if (available < kHeaderBytes) return false;
  const RecordHeader header = read_header(bytes);
  if (header.magic != kRecordMagic || header.length < kHeaderBytes || header.length > available)
    return false;
  if (header.checksum != checksum(bytes + 8, header.length - 8, offset)) return false;
  if (header.version != kRecordVersion)
    throw Failure(CDB_FOREIGN, "log", "a newer cdb wrote it", "use that one");
  const Geometry &geometry = header.geometry;
  return geometry.is_sound() && geometry.length() == header.length;
}

RecordHeader append_record(const Blocks &blocks, size_t block, const Joined &joined,
                           RecordHeader header, uint64_t offset, Bytes *log) {
  header.geometry = geometry_of(blocks, block, joined);
  const Geometry &geometry = header.geometry;
  if (geometry.length() > UINT32_MAX)
    throw Failure(CDB_LIMIT, "log", "a block takes more than 2^32 - 1 bytes");
  header.magic = kRecordMagic;
  header.version = kRecordVersion;
  header.length = static_cast<uint32_t>(geometry.length());
  header.block_index = static_cast<uint32_t>(blocks.indices[block]);
  header.timestamp = blocks.timestamps[block];

  const size_t start = log->size();
  log->resize(start + header.length + kSlackBytes);
  uint8_t *const record = log->data() + start;
  write_header(header, record);
  uint8_t *to = record + kHeaderBytes;
  const size_t spend_bytes = kNameBytes * geometry.spends;
  if (spend_bytes > 0) std::memcpy(to, blocks.spend(blocks.spend_begin(block)), spend_bytes);
  to += spend_bytes;
  const size_t begin = blocks.confirm_begin(block);
  for (const uint32_t coin : joined.explicit_parents) {
    std::memcpy(to, blocks.confirm(begin + coin), kNameBytes);
    to += kNameBytes;
  }
  write_coins(blocks, begin, joined, geometry, to);
  log->resize(start + header.length);
  header.checksum = checksum(record + 8, header.length - 8, offset);
  store(record, header.checksum);
  return header;
}

bool append_block(const uint8_t *record, OwnedBlocks *blocks) {
  const RecordHeader header = read_header(record);
  const Geometry &geometry = header.geometry;
  const uint8_t *const parents = record + kHeaderBytes;
  blocks->indices.push_back(header.block_index);
  blocks->timestamps.push_back(header.timestamp);
  blocks->spends.insert(blocks->spends.end(), parents, parents + kNameBytes * geometry.spends);
  blocks->spend_ends.push_back(blocks->spends.size() / kNameBytes);
  const size_t first = blocks->confirm_count();
  blocks->confirms.resize((first + geometry.coins) * kConfirmBytes);
  blocks->names.resize((first + geometry.coins) * kNameBytes);
  blocks->confirm_ends.push_back(first + geometry.coins);

  const uint8_t *from = record + geometry.coins_at();
  for (size_t i = first; i < first + geometry.coins; ++i, from += geometry.coin_bytes()) {
    const uint64_t amount = load_narrow(from + kNameBytes, geometry.amount_bytes);
    const uint64_t parent =
        load_narrow(from + kNameBytes + geometry.amount_bytes, geometry.parent_bytes);
    if (parent >= geometry.parents()) {
      blocks->drop_last();
      return false;
    }
    uint8_t *const confirm = blocks->confirms.data() + i * kConfirmBytes;
    std::memcpy(confirm, parents + kNameBytes * parent, kNameBytes);
    std::memcpy(confirm + kNameBytes, from, kNameBytes);
    store_big_endian(confirm + kAmountAt, amount);
    name_coin(confirm, confirm + kNameBytes, amount, blocks->names.data() + i * kNameBytes);
  }
  return true;
}

}  // namespace cdb::coin_log
