#include "coin_log/format/record.h"

#include "common/checksum.h"
#include "common/coin_name.h"
#include "coin_log/format/failure.h"

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
  store(to + 40, header.durable_upto);
  store(to + 48, header.first_row);
  write_geometry(header.geometry, to + 52);
  to[71] = 0;
}

// The explicit parents of a block, as its record has them.
struct Explicit {
  std::vector<const uint8_t *> whole;
  std::vector<std::pair<uint8_t, uint32_t>> rewards;  // kind and age
  std::vector<uint32_t> numbers;                      // of each one, in the order of the join
  uint32_t highest_age = 0;
};

Explicit split(const Blocks &blocks, size_t block, const Joined &joined, const RewardKinds &kinds) {
  Explicit parts;
  std::vector<bool> are_rewards;
  for (const uint32_t coin : joined.explicit_parents) {
    const uint8_t *const parent = blocks.confirm(blocks.confirm_begin(block) + coin);
    const int kind = kinds.number_of(parent);
    are_rewards.push_back(kind >= 0);
    if (kind < 0) {
      parts.whole.push_back(parent);
      continue;
    }
    const uint32_t age = static_cast<uint32_t>(blocks.indices[block]) - reward_height(parent);
    parts.rewards.emplace_back(static_cast<uint8_t>(kind), age);
    parts.highest_age = std::max(parts.highest_age, age);
  }
  const size_t spends = blocks.spend_ends[block] - blocks.spend_begin(block);
  uint32_t whole = static_cast<uint32_t>(spends);
  uint32_t reward = whole + static_cast<uint32_t>(parts.whole.size());
  for (const bool is_reward : are_rewards) parts.numbers.push_back(is_reward ? reward++ : whole++);
  return parts;
}

Geometry geometry_of(const Blocks &blocks, size_t block, const Joined &joined,
                     const Explicit &parts) {
  Geometry geometry;
  geometry.spends = static_cast<uint32_t>(blocks.spend_ends[block] - blocks.spend_begin(block));
  geometry.explicit_parents = static_cast<uint32_t>(parts.whole.size());
  geometry.rewards = static_cast<uint32_t>(parts.rewards.size());
  geometry.coins = static_cast<uint32_t>(joined.parents.size());
  geometry.amount_bytes = static_cast<uint8_t>(bytes_needed(joined.largest_amount));
  geometry.parent_bytes =
      static_cast<uint8_t>(std::max(1U, bytes_needed(std::max<size_t>(geometry.parents(), 1) - 1)));
  geometry.age_bytes = static_cast<uint8_t>(bytes_needed(parts.highest_age));
  return geometry;
}

// Ages and coins are written with stores of 4 and 8 bytes that reach into what follows: the
// record's end needs room.
constexpr size_t kSlackBytes = 8;

void write_rewards(const Explicit &parts, const Geometry &geometry, uint8_t *to) {
  for (const auto &[kind, age] : parts.rewards) {
    *to = kind;
    store(to + 1, age);
    to += geometry.reward_bytes();
  }
}

void write_coins(const Blocks &blocks, size_t begin, const Joined &joined, const Explicit &parts,
                 const Geometry &geometry, uint8_t *to) {
  for (size_t i = 0; i < geometry.coins; ++i) {
    const uint8_t *const confirm = blocks.confirm(begin + i);
    std::memcpy(to, confirm + kNameBytes, kNameBytes);
    store(to + kNameBytes, load_big_endian(confirm + kAmountAt));
    const uint32_t parent = joined.parents[i];
    store(to + kNameBytes + geometry.amount_bytes,
          parent < geometry.spends ? parent : parts.numbers[parent - geometry.spends]);
    to += geometry.coin_bytes();
  }
}

}  // namespace

Geometry read_geometry(const uint8_t *from) {
  return {load<uint32_t>(from),
          load<uint32_t>(from + 4),
          load<uint32_t>(from + 8),
          load<uint32_t>(from + 12),
          from[16],
          from[17],
          from[18]};
}

void write_geometry(const Geometry &geometry, uint8_t *to) {
  store(to, geometry.spends);
  store(to + 4, geometry.explicit_parents);
  store(to + 8, geometry.rewards);
  store(to + 12, geometry.coins);
  to[16] = geometry.amount_bytes;
  to[17] = geometry.parent_bytes;
  to[18] = geometry.age_bytes;
}

RecordHeader read_header(const uint8_t *bytes) {
  RecordHeader header;
  header.checksum = load<uint64_t>(bytes);
  header.magic = load<uint32_t>(bytes + 8);
  header.length = load<uint32_t>(bytes + 12);
  header.previous_checksum = load<uint64_t>(bytes + 16);
  header.epoch = load<uint32_t>(bytes + 24);
  header.block_index = load<uint32_t>(bytes + 28);
  header.timestamp = load<uint64_t>(bytes + 32);
  header.durable_upto = load<uint64_t>(bytes + 40);
  header.first_row = load<uint32_t>(bytes + 48);
  header.geometry = read_geometry(bytes + 52);
  return header;
}

bool is_plausible(const RecordHeader &header) {
  return header.magic == kRecordMagic && header.geometry.is_sound() &&
         header.geometry.length() == header.length;
}

bool is_intact(const uint8_t *bytes, uint64_t available, uint64_t seed) {
  if (available < kHeaderBytes) return false;
  const RecordHeader header = read_header(bytes);
  return is_plausible(header) && header.length <= available &&
         header.checksum == checksum(bytes + 8, header.length - 8, seed);
}

RecordHeader append_record(const Blocks &blocks, size_t block, const Joined &joined,
                           const RewardKinds &kinds, RecordHeader header, uint64_t seed,
                           Bytes *log) {
  const Explicit parts = split(blocks, block, joined, kinds);
  header.geometry = geometry_of(blocks, block, joined, parts);
  const Geometry &geometry = header.geometry;
  if (geometry.length() > UINT32_MAX)
    throw Failure(CDB_LIMIT, "log", "a block takes more than 2^32 - 1 bytes");
  header.magic = kRecordMagic;
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
  for (const uint8_t *const parent : parts.whole) {
    std::memcpy(to, parent, kNameBytes);
    to += kNameBytes;
  }
  write_rewards(parts, geometry, to);
  write_coins(blocks, blocks.confirm_begin(block), joined, parts, geometry,
              record + geometry.coins_at());
  log->resize(start + header.length);
  header.checksum = checksum(record + 8, header.length - 8, seed);
  store(record, header.checksum);
  return header;
}

bool compose_reward(const uint8_t *from, const Geometry &geometry, uint32_t block_index,
                    const RewardKinds &kinds, uint8_t *parent) {
  if (!kinds.has(*from)) return false;
  const uint32_t age = static_cast<uint32_t>(load_narrow(from + 1, geometry.age_bytes));
  kinds.compose(*from, block_index - age, parent);
  return true;
}

bool append_block(const uint8_t *record, const RewardKinds &kinds, OwnedBlocks *blocks) {
  const RecordHeader header = read_header(record);
  const Geometry &geometry = header.geometry;
  Bytes rewards(kNameBytes * geometry.rewards);
  for (size_t i = 0; i < geometry.rewards; ++i)
    if (!compose_reward(record + geometry.parent_at(geometry.whole_parents() + i), geometry,
                        header.block_index, kinds, rewards.data() + kNameBytes * i))
      return false;

  const uint8_t *const parents = record + kHeaderBytes;
  blocks->indices.push_back(header.block_index);
  blocks->timestamps.push_back(header.timestamp);
  blocks->spends.insert(blocks->spends.end(), parents, parents + kNameBytes * geometry.spends);
  blocks->spend_ends.push_back(blocks->spends.size() / kNameBytes);
  const size_t first = blocks->confirm_count();
  blocks->confirms.resize((first + geometry.coins) * kConfirmBytes);
  blocks->names.resize((first + geometry.coins) * kNameBytes);
  blocks->confirm_ends.push_back(first + geometry.coins);

  const size_t whole = geometry.whole_parents();
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
    std::memcpy(confirm,
                parent < whole ? parents + kNameBytes * parent
                               : rewards.data() + kNameBytes * (parent - whole),
                kNameBytes);
    std::memcpy(confirm + kNameBytes, from, kNameBytes);
    store_big_endian(confirm + kAmountAt, amount);
  }
  name_coins(blocks->confirms.data() + first * kConfirmBytes, geometry.coins,
             blocks->names.data() + first * kNameBytes);
  return true;
}

void introduce_kinds(const uint8_t *record, size_t block, RewardKinds *kinds) {
  const Geometry geometry = read_header(record).geometry;
  for (size_t number = geometry.spends; number < geometry.whole_parents(); ++number)
    kinds->introduce(record + geometry.parent_at(number), block);
}

}  // namespace cdb::coin_log
