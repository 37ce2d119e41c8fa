#include "stored_keys.h"

#include "common/coin_name.h"
#include "marks.h"
#include "layouts/spaces.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace cdb::coin_set {

namespace {

constexpr size_t kMadeAt = 4, kSecretAt = 12;
constexpr size_t kMarkBytes = kSecretAt + sizeof(HashKey);
constexpr size_t kPageEntries = 4096;
constexpr size_t kPageBytes = 256u << 10;
constexpr size_t kErasedAtOnce = 50'000;

}  // namespace

LoggedBlock::LoggedBlock(const cdb_set_block &block, Bytes *names)
    : index_(block.index),
      timestamp_(block.timestamp),
      spend_end_(block.n_spends),
      confirm_end_(block.n_confirms) {
  names->resize(block.n_confirms * kNameBytes);
  name_coins(block.confirms, block.n_confirms, names->data());
  blocks_ = {{1, &index_, &timestamp_, &spend_end_, &confirm_end_, block.spends, block.confirms,
              names->data()}};
}

StoredKeys::StoredKeys(const Engine &engine, uint32_t name_bits, bool anew)
    : engine_(engine), bits_(name_bits, random_hash_key()) {
  if (!bits_.are_sound()) throw Failure(CDB_INVALID, "", "keys of 1 to 64 bits");
  Bytes value;
  if (anew || !engine.get(kMarks, kKeysMark, &value)) return;
  if (value.size() != kMarkBytes) throw Failure(CDB_CORRUPT, "", "a mark is cut");
  HashKey secret;
  for (size_t i = 0; i < secret.size(); ++i)
    secret[i] = load_big_endian(value.data() + kSecretAt + 8 * i);
  bits_ = NameBits(load_big_endian<uint32_t>(value.data()), secret);
  made_ = static_cast<int64_t>(load_big_endian(value.data() + kMadeAt));
  if (!bits_.are_sound() || made_ < kErasing)
    throw Failure(CDB_CORRUPT, "", "a mark makes no sense");
}

Bytes StoredKeys::mark(int64_t made) const {
  Bytes value(kMarkBytes);
  store_big_endian(value.data(), bits_.name_bits());
  store_big_endian(value.data() + kMadeAt, static_cast<uint64_t>(made));
  for (size_t i = 0; i < bits_.secret().size(); ++i)
    store_big_endian(value.data() + kSecretAt + 8 * i, bits_.secret()[i]);
  return value;
}

void StoredKeys::write_mark(int64_t made, okv_durability durability) const {
  Batch batch;
  batch.put(kMarks, kKeysMark, mark(made));
  batch.commit(engine_, durability);
}

uint64_t StoredKeys::make(int64_t indexed, uint64_t max_coins, uint64_t ingest_entries,
                          okv_durability durability) {
  if (made_ == kNotBegun) {
    write_mark(kErasing, durability);
    made_ = kErasing;
  }
  if (made_ == kErasing) {
    if (erase_some(std::min<uint64_t>(max_coins, kErasedAtOnce))) return 0;
    made_ = -1;
  }
  if (made_ >= indexed) {
    write_mark(kAll, durability);
    made_ = kAll;
    return 0;
  }
  uint64_t coins = 0;
  std::deque<Bytes> names;
  KeyRows rows;
  const int64_t made = read_blocks(
      made_, indexed, max_coins, &coins, [&](const cdb_set_block &block, int64_t before) {
        rows.add_block(bits_, LoggedBlock(block, &names.emplace_back()).blocks(), 0, before);
      });
  if (rows.n() >= ingest_entries) {
    Run marks(engine_, kMarks), hashes(engine_, kHashes), parents(engine_, kParents);
    marks.put(kKeysMark, mark(made));
    rows.put_hashes(into(&hashes));
    rows.put_parents(into(&parents));
    for (Run *run : {&marks, &hashes, &parents}) run->finish();
    Run::ingest(engine_, {&marks, &hashes, &parents});
  } else {
    Batch batch;
    batch.put(kMarks, kKeysMark, mark(made));
    rows.put_hashes(into(&batch, kHashes));
    rows.put_parents(into(&batch, kParents));
    batch.commit(engine_, durability);
  }
  made_ = made;
  return coins;
}

template <typename Each>
int64_t StoredKeys::read_blocks(int64_t before, int64_t last, uint64_t max_coins, uint64_t *coins,
                                Each each) const {
  if (before >= last) return before;
  BlockCursor cursor(engine_, kBlocks, static_cast<uint32_t>(before + 1),
                     static_cast<uint32_t>(last));
  const int64_t begin = before;
  cdb_set_block block;
  while (*coins < max_coins && cursor.next(&block)) {
    each(block, before);
    before = block.index;
    *coins += block.n_confirms;
  }
  if (before == begin) throw Failure(CDB_CORRUPT, "", "blocks are missing whose coins are indexed");
  return before;
}

// At most so many entries. Whether there was anything left to erase.
bool StoredKeys::erase_some(size_t most) {
  return erase_some_of(kHashes, most) || erase_some_of(kParents, most);
}

// From where it was: to look at all again that was erased before would take long.
bool StoredKeys::erase_some_of(uint8_t space, size_t most) {
  Scan entries(engine_, space, erased_, {}, /*is_reverse=*/false, OKV_ONCE, kPageBytes);
  Batch batch;
  size_t n = 0;
  while (n < most && entries.read(std::min(kPageEntries, most - n))) {
    n += entries.n();
    for (size_t i = 0; i < entries.n(); ++i) batch.erase(space, entries.key(i));
    const Span last = entries.key(entries.n() - 1);
    erased_.assign(last.bytes, last.bytes + last.n);
    entries.drop(entries.n());
  }
  entries.release();  // what is read holds pages, and keeps a map from growing
  if (n > 0)
    batch.commit(engine_, OKV_PROCESS);
  else
    erased_.clear();
  return n > 0;
}

Scan StoredKeys::scan(uint8_t space, uint64_t bits, uint32_t first, uint32_t last,
                      size_t page_bytes) const {
  const KeyPrefix begin = key_prefix(bits, first);
  // Behind all keys of the last index; and, as the engine wants it, with the same bits.
  std::array<uint8_t, kHashKeyBytes + 1> end;
  end.fill(0xff);
  const KeyPrefix of_last = key_prefix(bits, last);
  std::copy(of_last.begin(), of_last.end(), end.begin());
  return Scan(engine_, space, begin, end, /*is_reverse=*/false, OKV_OFTEN, page_bytes);
}

void StoredKeys::sum_entries(int64_t newest, KeySum *sum) const {
  for (const auto &[space, key_bytes, value_bytes] :
       {std::tuple{kHashes, kHashKeyBytes, kPositionBytes},
        std::tuple{kParents, kKeyBytes, size_t{0}}}) {
    Scan entries(engine_, space, {}, {}, /*is_reverse=*/false, OKV_ONCE, kPageBytes);
    for (; entries.read(kPageEntries); entries.drop(entries.n()))
      for (size_t i = 0; i < entries.n(); ++i) {
        const Span key = entries.key(i), value = entries.value(i);
        if (key.n != key_bytes || value.n != value_bytes) {
          sum->add_wrong();
          continue;
        }
        const uint64_t bits = load_big_endian(key.bytes);
        const uint32_t index = load_big_endian<uint32_t>(key.bytes + 8);
        if (int64_t{index} > newest) continue;
        if (space == kHashes)
          sum->add_hash(bits, index, key.bytes + kKeyBytes, load_big_endian<uint32_t>(value.bytes));
        else
          sum->add_parent(bits, index);
      }
  }
}

int64_t StoredKeys::sum_blocks(int64_t first, int64_t newest, uint64_t max_coins, KeySum *sum,
                               uint64_t *coins) const {
  // The block before it, which its rewards are held against, may be any number of indexes below.
  const int64_t before = newest_block(engine_, kBlocks, first - 1);
  const int64_t last = read_blocks(
      before, newest, max_coins, coins, [&](const cdb_set_block &block, int64_t block_before) {
        Bytes names;
        KeyRows rows;
        rows.add_block(bits_, LoggedBlock(block, &names).blocks(), 0, block_before);
        sum->add_rows(rows);
      });
  return last >= newest ? -1 : last + 1;
}

}  // namespace cdb::coin_set
