// A coin log one of whose files was changed: what its checksums do not cover must not be possible,
// and where they hold, whoever has made the file, nothing is read that is not there.
//
// The input: which file (1 byte), whether its checksums are made to hold (1), whether it is opened
// for writing, and without what is derived (1), then edits of the file as it was: where (2), what
// (1), how many bytes (1), the bytes.

#include "coin_log_calls.h"
#include "chain.h"
#include "common/bytes.h"
#include "common/checksum.h"
#include "input.h"
#include "scratch.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace {

using cdb::checksum;
using cdb::load;
using cdb::store;
using Bytes = std::vector<uint8_t>;

constexpr std::array<const char *, 6> kFiles{
    "log", "acked", "derived/manifest", "derived/history", "derived/base", "derived/run"};
constexpr cdb_coin_log_options kOptions{/*read_only=*/0,
                                        /*power_durable=*/0,
                                        /*memtable_coins=*/12,
                                        /*merge_runs=*/3,
                                        /*name_bits=*/64,
                                        /*recent_bits=*/1,
                                        /*unverified_spends=*/4,
                                        /*keys=*/1,
                                        /*forgiving=*/0,
                                        /*before_damage=*/0};

void require_fit(cdb_status status, cdb_error *error) {
  require(status <= CDB_FAILED, "the status is one of those declared");
  require(status != CDB_FAILED && status != CDB_INVALID, "the status is fit");
  is_ok(status, error, status);
}

// A database that is closed, and what is in it.
class Original {
 public:
  Original() : chain_(cdb_coin_log_name) {
    cdb_error error{};
    cdb_coin_log *log = nullptr;
    open_whole(scratch_.path(), kOptions, &log, &error);
    Bytes dice(4000);
    uint32_t state = 1;
    for (uint8_t &byte : dice)
      byte = static_cast<uint8_t>((state = state * 1103515245 + 12345) >> 16);
    Input input(dice.data(), dice.size());
    while (chain_.coins().size() < 40) accept(log, chain_.draw(&input));
    chain_.rewind(static_cast<int64_t>(chain_.blocks()[chain_.blocks().size() - 3].index));
    cdb_coin_log_rewind(log, chain_.newest(), &error);
    while (chain_.coins().size() < 44) accept(log, chain_.draw(&input));
    cdb_coin_log_close(log, /*abandon=*/0, &error);
    cdb_coin_log_release(log);
    require(error.status == CDB_OK, "a database can be made");
    for (const auto &entry : std::filesystem::recursive_directory_iterator(scratch_.path()))
      if (entry.is_regular_file()) {
        const std::string name = entry.path().lexically_relative(scratch_.path());
        files_[name] = scratch_.get(name);
      }
  }

  const Chain &chain() const { return chain_; }
  const std::map<std::string, Bytes> &files() const { return files_; }
  // The first file whose name begins so.
  std::string name_of(const std::string &prefix) const {
    const auto file = files_.lower_bound(prefix);
    require(file != files_.end() && file->first.compare(0, prefix.size(), prefix) == 0,
            "there is a file of each kind");
    return file->first;
  }

 private:
  void accept(cdb_coin_log *log, const Block &block) {
    Chain next = chain_;
    if (!next.add(block)) return;
    chain_ = next;
    Packed packed;
    packed.add(block);
    size_t accepted = 0;
    cdb_error error{};
    const cdb_blocks blocks = packed.blocks();
    cdb_coin_log_accept(log, &blocks, /*trusting=*/0, &accepted, &error);
    require(error.status == CDB_OK && accepted == 1, "a valid block is accepted");
  }

  Scratch scratch_;
  Chain chain_;
  std::map<std::string, Bytes> files_;
};

void edit(Bytes *bytes, Input *input) {
  enum { kReplace, kInsert, kRemove, kTruncate, kKinds };
  const size_t at = std::min(static_cast<size_t>(input->number(2)), bytes->size());
  const size_t kind = input->below(kKinds);
  const Bytes more = input->bytes(input->below(64));
  const auto place = bytes->begin() + static_cast<ptrdiff_t>(at);
  const auto reached = place + static_cast<ptrdiff_t>(std::min(more.size(), bytes->size() - at));
  switch (kind) {
    case kReplace:
      std::copy(more.begin(), more.begin() + (reached - place), place);
      break;
    case kInsert:
      bytes->insert(place, more.begin(), more.end());
      break;
    case kRemove:
      bytes->erase(place, reached);
      break;
    default:
      bytes->resize(at);
      break;
  }
}

// A checksum over what follows it, up to the end.
void seal(uint8_t *from, size_t n, uint64_t seed) {
  if (n >= 8) store(from, checksum(from + 8, n - 8, seed));
}

void seal_log(Bytes *log) {
  constexpr size_t kHeadBytes = 24, kHeaderBytes = 72;
  if (log->size() < kHeadBytes) return;
  store(log->data() + 16, checksum(log->data(), 16, 0));
  const uint64_t key = load<uint64_t>(log->data() + 8);
  uint64_t previous = 0;
  for (size_t at = kHeadBytes; at + kHeaderBytes <= log->size();) {
    uint8_t *const record = log->data() + at;
    const size_t n = load<uint32_t>(record + 12);
    if (n < kHeaderBytes || n > log->size() - at) return;
    store(record + 16, previous);
    seal(record, n, key ^ at);
    previous = load<uint64_t>(record);
    at += n;
  }
}

void seal_history(Bytes *history) {
  constexpr size_t kHeaderBytes = 40, kLineBytes = 24;
  uint64_t previous = 0;
  for (size_t at = 0; at + kHeaderBytes <= history->size();) {
    uint8_t *const section = history->data() + at;
    const uint64_t rows = load<uint64_t>(section + 32) + load<uint32_t>(section + 12);
    const uint64_t blocks = load<uint64_t>(section + 24), rest = history->size() - at;
    if (blocks > rest || rows > rest || kHeaderBytes + kLineBytes * blocks + 4 * rows > rest)
      return;
    const size_t n = kHeaderBytes + kLineBytes * blocks + 4 * rows;
    seal(section, n, previous);
    previous = load<uint64_t>(section);
    at += n;
  }
}

void seal_run(Bytes *run, uint64_t number) {
  constexpr size_t kHeadBytes = 40, kChunkBytes = 4096;
  if (run->size() < kHeadBytes) return;
  const uint64_t rest = run->size() - kHeadBytes, entries = load<uint64_t>(run->data() + 24);
  const uint64_t n = std::min<uint64_t>(entries, rest / 6) * 6;
  const uint64_t chunks = (n + kChunkBytes - 1) / kChunkBytes;
  uint8_t *const from = run->data() + kHeadBytes, *const end = run->data() + run->size();
  for (uint64_t i = 0; i < chunks && n + 8 * chunks <= rest; ++i)
    store(end - 8 * (chunks - i),
          checksum(from + kChunkBytes * i, std::min<uint64_t>(kChunkBytes, n - kChunkBytes * i),
                   number << 32 ^ i));
  store(run->data() + 32, checksum(from + n, rest - n, number));
  seal(run->data(), kHeadBytes, number);
}

// Its parts, as far as they are where they say, and then the head that has their checksums.
void seal_base(Bytes *base, uint64_t number) {
  constexpr uint64_t kHeadBytes = 48, kPageBytes = 4096;
  if (base->size() < kHeadBytes) return;
  uint8_t *const from = base->data();
  const uint64_t early = load<uint32_t>(from + 12), size = base->size();
  const uint64_t blocks = load<uint64_t>(from + 16), rows = load<uint64_t>(from + 24);
  if (blocks > size || rows > size * 64) return;
  const uint64_t pages = (blocks + 127) / 128, segments = (rows + 1023) / 1024;
  uint64_t entry = kHeadBytes + 4 * early + 4 * ((rows + 63) / 64);
  const uint64_t lists = entry + 24 * pages + 16 * segments;
  const uint64_t pages_at = (lists + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (pages_at + kPageBytes * pages > size) return;
  uint64_t at = pages_at;
  for (uint64_t i = 0; i < pages; ++i, at += kPageBytes, entry += 24)
    store(from + entry + 16, checksum(from + at, kPageBytes, number << 40 ^ at));
  for (uint64_t i = 0; i < segments; ++i, entry += 16) {
    const uint64_t end = load<uint64_t>(from + entry);
    if (end < at || end > size) break;
    store(from + entry + 8, checksum(from + at, end - at, number << 40 ^ at));
    at = end;
  }
  seal(from, pages_at, number);
}

uint64_t number_of(const std::string &name) { return std::stoull(name.substr(name.find('-') + 1)); }

void seal_acked(Bytes *acked) {
  for (size_t at = 0; at + 24 <= acked->size(); at += 24)
    store(acked->data() + at + 16, checksum(acked->data() + at, 16, 0));
}

void seal_file(size_t kind, const std::string &name, Bytes *bytes) {
  switch (kind) {
    case 0:
      seal_log(bytes);
      break;
    case 1:
      seal_acked(bytes);
      break;
    case 2:
      seal(bytes->data(), bytes->size(), 0);
      break;
    case 3:
      seal_history(bytes);
      break;
    case 4:
      seal_base(bytes, number_of(name));
      break;
    default:
      seal_run(bytes, number_of(name));
      break;
  }
}

// Every answer that there is. With a chain, each must be its.
void read_all(cdb_coin_log *log, const Chain &asked, bool must_be_right) {
  cdb_error error{};
  const std::vector<Name> names = asked.asked();
  std::vector<cdb_coin_info> infos(names.size());
  std::vector<uint8_t> found(names.size());
  cdb_status status =
      cdb_coin_log_lookup(log, reinterpret_cast<const uint8_t *>(names.data()), names.size(),
                          INT64_MAX, infos.data(), found.data(), &error);
  require_fit(status, &error);
  if (status == CDB_OK && must_be_right)
    for (size_t i = 0; i < names.size(); ++i) asked.check(names[i], found[i] != 0, infos[i]);

  cdb_coin_log_reader *reader = nullptr;
  require_fit(cdb_coin_log_read(log, 0, INT64_MAX, &reader, &error), &error);
  if (reader == nullptr) return;
  cdb_coin_log_counts counts{};
  size_t blocks = 0, coins = 0;
  do {
    status = cdb_coin_log_next(reader, 10, &counts, &error);
    require_fit(status, &error);
    blocks += counts.blocks, coins += counts.confirms;
  } while (status == CDB_OK && counts.blocks > 0);
  cdb_coin_log_end(reader);
  if (status == CDB_OK && must_be_right)
    require(blocks == asked.blocks().size() && coins == asked.coins().size(),
            "all blocks are read");
}

// It ends, and finds damage where the opening before it did.
void inspect(const std::filesystem::path &path, bool is_damaged) {
  cdb_error error{};
  cdb_coin_log_inspection *inspection = nullptr;
  is_ok(cdb_coin_log_inspect(path.c_str(), &inspection, &error), &error);
  cdb_coin_log_step step{};
  bool found = false;
  while (step.is_last == 0) {
    const cdb_status status = cdb_coin_log_inspect_next(inspection, 10, &step, &error);
    if (!is_ok(status, &error, CDB_FOREIGN)) break;
    found = found || step.is_damaged != 0;
    require(step.is_damaged == 0 || step.damage.status == CDB_CORRUPT, "what is found is damage");
  }
  require(found || !is_damaged || step.is_last == 0, "what can't be opened is damaged");
  cdb_coin_log_inspect_end(inspection);
}

// Returns whether nothing failed: the log can be closed then, and else be left only.
bool write_on(cdb_coin_log *log, const Chain &chain) {
  cdb_coin_log_totals totals;
  cdb_error error{};
  cdb_status status = cdb_coin_log_count(log, &totals, &error);
  require_fit(status, &error);
  if (status != CDB_OK) return false;
  Block block;
  block.index = totals.newest_index + 1;
  block.confirms.resize(20);
  for (size_t i = 0; i < block.confirms.size(); ++i)
    block.confirms[i].fill(static_cast<uint8_t>(0x80 + i));
  block.names = chain.names_of(block.confirms);
  Packed packed;
  packed.add(block);
  size_t accepted = 0;
  const cdb_blocks blocks = packed.blocks();
  status = cdb_coin_log_accept(log, &blocks, /*trusting=*/1, &accepted, &error);
  require_fit(status, &error);
  if (status != CDB_OK) return false;
  status = cdb_coin_log_rewind(log, static_cast<int64_t>(totals.newest_index) / 2, &error);
  require_fit(status, &error);
  return status == CDB_OK;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Original *const original = new Original;
  Input input(data, bytes);
  const size_t kind = input.below(kFiles.size());
  const bool is_sealed = input.below(2) == 1;
  const size_t how = input.below(4);
  const bool is_writer = how % 2 == 1, has_derived = how < 2;
  const std::string changed = original->name_of(kFiles[kind]);

  const Scratch scratch;
  std::filesystem::create_directory(scratch.path() / "derived");
  for (auto [name, content] : original->files()) {
    if (name == changed) {
      while (!input.empty()) edit(&content, &input);
      if (is_sealed) seal_file(kind, name, &content);
    }
    if (has_derived || name.find('/') == std::string::npos) scratch.put(name, content);
  }

  cdb_coin_log_options options = kOptions;
  options.read_only = is_writer ? 0 : 1;
  cdb_coin_log *log = nullptr;
  cdb_error error{};
  const cdb_status opened = open_whole(scratch.path(), options, &log, &error);
  require_fit(opened, &error);
  if (!is_writer) inspect(scratch.path(), opened == CDB_CORRUPT);
  if (log == nullptr) return 0;
  read_all(log, original->chain(), /*must_be_right=*/!is_sealed);
  const bool is_fine = !is_writer || write_on(log, original->chain());
  require_fit(cdb_coin_log_close(log, is_fine ? 0 : 1, &error), &error);
  cdb_coin_log_release(log);
  return 0;
}
