// Keys and values of interval@rocksdb that make no sense, in a RocksDB database that is sound: each
// call succeeds or says that there is damage. The input says what is changed.

#include "chain.h"
#include "input.h"
#include "rocksdb_calls.h"
#include "rocksdb/common.h"
#include "scratch.h"

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr std::array<const char *, 6> kFamilies{"default", "rows",   "unused",
                                                "blocks",  "hashes", "parents"};
constexpr size_t kBlocks = 8;
constexpr size_t kIndexed = 5;  // blocks; the others are restored when it is opened
constexpr size_t kMostEdits = 4;

cdb_set_options options(bool create) {
  return {"interval", create ? 1 : 0, /*read_only=*/0, /*sync=*/0, 1u << 20, 0,
          1000,       1000,           /*keys=*/1,      64};
}

class Families {
 public:
  explicit Families(const std::filesystem::path &path) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const char *name : kFamilies) families.push_back({name, {}});
    const auto status = rocksdb::DB::Open({}, path, families, &handles_, OpenedInto(db_));
    require(status.ok(), status.ToString().c_str());
  }
  ~Families() {
    for (rocksdb::ColumnFamilyHandle *handle : handles_) delete handle;
  }
  Families(const Families &) = delete;
  Families &operator=(const Families &) = delete;

  using Rows = std::vector<std::pair<std::string, std::string>>;

  Rows rows(size_t family) const {
    Rows rows;
    const std::unique_ptr<rocksdb::Iterator> row(db_->NewIterator({}, handles_[family]));
    for (row->SeekToFirst(); row->Valid(); row->Next())
      rows.emplace_back(row->key().ToString(), row->value().ToString());
    return rows;
  }
  void put(size_t family, const std::string &key, const std::string &value) {
    db_->Put({}, handles_[family], key, value);
  }
  void remove(size_t family, const std::string &key) { db_->Delete({}, handles_[family], key); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle *> handles_;
};

// A sound database, of which each input gets a copy.
class Template {
 public:
  Template() : chain(name_confirms) {
    const cdb_set_options wanted = options(/*create=*/true);
    cdb_set *set = nullptr;
    cdb_error error{};
    is_ok(cdb_set_open(directory_.path().c_str(), &wanted, &set, &error), &error);
    make_keys(set);
    std::vector<uint8_t> noise(4096);
    uint32_t state = 1;
    for (uint8_t &byte : noise) byte = static_cast<uint8_t>((state = state * 1664525 + 1) >> 24);
    Input input(noise.data(), noise.size());
    while (chain.blocks().size() < kBlocks) {
      const Block block = chain.draw(&input);
      if (block.index > 1000 || !chain.add(block)) continue;
      Packed packed;
      packed.add(block);
      const cdb_blocks blocks = packed.blocks();
      size_t accepted = 0;
      is_ok(cdb_set_accept(set, &blocks, &accepted, &error), &error);
      if (chain.blocks().size() == kIndexed) is_ok(cdb_set_checkpoint(set, &error), &error);
    }
    is_ok(cdb_set_commit(set, &error), &error);
    is_ok(cdb_set_close(set, &error), &error);
    cdb_set_release(set);
  }

  void copy_to(const Scratch &scratch) const {
    constexpr auto kHow = std::filesystem::copy_options::recursive;
    std::filesystem::copy(directory_.path(), scratch.path() / "db", kHow);
  }

  Chain chain;

 private:
  Scratch directory_;
};

void edit(Families *families, Input *input) {
  const size_t family = input->below(kFamilies.size());
  const Families::Rows rows = families->rows(family);
  const size_t place = input->below(256);
  const size_t how = input->below(5);
  std::string key, value;
  if (!rows.empty()) std::tie(key, value) = rows[place % rows.size()];
  const size_t length = input->below(128);
  const std::vector<uint8_t> bytes = input->bytes(input->below(32));
  const std::string text(bytes.begin(), bytes.end());
  if (how == 0) {
    families->remove(family, key);
  } else if (how == 1) {
    families->put(family, text, value);
  } else if (how == 2) {
    families->put(family, key, text);
  } else if (how == 3) {
    families->put(family, key, value.substr(0, length));
  } else {
    const size_t offset = value.empty() ? 0 : length % value.size();
    families->put(family, key, value.replace(offset, text.size(), text));
  }
}

// Each call succeeds, or says that there is damage.
void read_all(cdb_set *set, const Chain &chain) {
  cdb_error error{};
  const std::vector<Name> names = chain.asked();
  std::vector<cdb_coin_info> infos(names.size());
  std::vector<uint8_t> found(names.size());
  const auto *bytes = reinterpret_cast<const uint8_t *>(names.data());
  is_ok(cdb_set_find(set, bytes, names.size(), infos.data(), found.data(), &error), &error,
        CDB_CORRUPT);
  for (const Block &block : chain.blocks()) {
    const auto index = static_cast<uint32_t>(block.index);
    blocks_between(set, index, index, chain, CDB_CORRUPT);
  }
  blocks_between(set, 0, UINT32_MAX, chain, CDB_CORRUPT);
  if (state_of(set).keys != 2) return;
  std::vector<cdb_found_coin> coins;
  ask(set, chain, CDB_PARENT, 0, &coins, CDB_CORRUPT);
  ask(set, chain, CDB_PUZZLE_HASH, sizeof(Name), &coins, CDB_CORRUPT);
  are_keys_right(set, CDB_CORRUPT);
}

// The block behind all others, with a coin that nobody else has.
Block next_block(cdb_set *set) {
  Block block;
  block.index = static_cast<uint64_t>(state_of(set).newest + 1);
  Confirm confirm;
  confirm.fill(0xab);
  block.confirms = {confirm};
  block.names.resize(1);
  name_confirms(confirm.data(), 1, block.names.front().data());
  return block;
}

// Whether the block was committed.
bool add(cdb_set *set, const Block &block) {
  Packed packed;
  packed.add(block);
  const cdb_blocks blocks = packed.blocks();
  size_t accepted = 0;
  cdb_error error{};
  return state_of(set).is_rewinding == 0 &&
         is_ok(cdb_set_accept(set, &blocks, &accepted, &error), &error, CDB_CORRUPT) &&
         accepted == 1 && is_ok(cdb_set_commit(set, &error), &error, CDB_CORRUPT);
}

// What was committed is found after the next opening, or that says that there is damage.
void require_there(cdb_set *set, const Block &block) {
  cdb_coin_info info;
  uint8_t found = 0;
  cdb_error error{};
  if (!is_ok(cdb_set_find(set, block.names.front().data(), 1, &info, &found, &error), &error,
             CDB_CORRUPT))
    return;
  require(found == 1 && info.confirmed_index == block.index, "what was committed is there");
}

void rewind(cdb_set *set, const Chain &chain) {
  cdb_error error{};
  const int64_t target =
      std::min(state_of(set).newest, static_cast<int64_t>(chain.blocks()[2].index));
  if (!is_ok(cdb_set_begin_rewind(set, target, &error), &error, CDB_CORRUPT)) return;
  Packed rewound;
  for (const Block &block : rewound_blocks(set, SIZE_MAX, chain, CDB_CORRUPT)) rewound.add(block);
  const cdb_blocks blocks = rewound.blocks();
  if (is_ok(cdb_set_erase(set, &blocks, &error), &error, CDB_CORRUPT))
    is_ok(cdb_set_end_rewind(set, &error), &error, CDB_CORRUPT);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Template sound;
  Input input(data, bytes);
  const Scratch scratch;
  sound.copy_to(scratch);
  const std::string path = scratch.path() / "db";
  {
    Families families(path);
    for (size_t n = 1 + input.below(kMostEdits); n > 0; --n) edit(&families, &input);
  }
  const auto open = [&path](cdb_set **set) {
    const cdb_set_options wanted = options(/*create=*/false);
    cdb_error error{};
    return is_ok(cdb_set_open(path.c_str(), &wanted, set, &error), &error, CDB_CORRUPT);
  };
  const auto close = [](cdb_set *set) {
    cdb_error error{};
    is_ok(cdb_set_close(set, &error), &error, CDB_CORRUPT);
    cdb_set_release(set);
  };
  cdb_set *set = nullptr;
  if (!open(&set)) return 0;
  make_keys(set, CDB_CORRUPT);
  read_all(set, sound.chain);
  const Block block = next_block(set);
  const bool is_added = add(set, block);
  close(set);
  if (!open(&set)) return 0;
  if (is_added) require_there(set, block);
  rewind(set, sound.chain);
  close(set);
  return 0;
}
