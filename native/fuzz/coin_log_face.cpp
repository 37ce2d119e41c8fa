// Calls of cdb_coin_log.h in any order, held against the reference. The input says which.

#include "coin_log_calls.h"
#include "chain.h"
#include "input.h"
#include "queries.h"
#include "scratch.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

namespace {

class Session {
 public:
  explicit Session(Input *input) : input_(*input), chain_(cdb_coin_log_name), options_{} {
    options_.power_durable = static_cast<int32_t>(input_.below(2));
    options_.memtable_coins = 1 + static_cast<uint32_t>(input_.below(40));
    options_.merge_runs = 2 + static_cast<uint32_t>(input_.below(2));
    options_.keys = static_cast<int32_t>(input_.below(3)) - 1;
    // Where many names look the same, spends that are believed at first are often wrong.
    options_.name_bits = input_.below(2) == 0 ? 64 : 1 + static_cast<uint32_t>(input_.below(12));
    options_.recent_bits = static_cast<uint32_t>(input_.below(3));
    options_.unverified_spends = static_cast<uint32_t>(input_.below(8));
    open();
  }
  ~Session() { close(); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  void call() {
    cdb_error error{};
    switch (input_.below(16)) {
      case 0:
        is_ok(cdb_coin_log_flush(log_, &error), &error), flushed_ = chain_.newest();
        break;
      case 1:
        rewind();
        break;
      case 2:
        reopen();
        break;
      case 3:
        abandon();
        break;
      case 4:
        beside();
        break;
      case 5:
        look_up(log_);
        break;
      case 6:
        read_blocks(log_);
        break;
      case 7:
        begin_reading();
        break;
      case 8:
        accept_unsorted();
        break;
      default:
        accept();
        break;
    }
    require(newest(log_) == chain_.newest(), "the newest block is the last one accepted");
  }

  void check() {
    end_reading();
    look_up(log_);
    read_blocks(log_);
    reopen();
    look_up(log_);
    read_blocks(log_);
  }

 private:
  // Blocks as they were when reading began.
  struct Reading {
    cdb_coin_log_reader *reader;
    std::vector<Block> expected;
  };

  void open() {
    cdb_error error{};
    is_ok(open_whole(directory_.path(), options_, &log_, &error), &error);
  }

  void close() {
    end_reading();
    end(log_, /*abandon=*/0);
    flushed_ = chain_.newest();
  }

  static void end(cdb_coin_log *log, int32_t abandon) {
    cdb_error error{};
    is_ok(cdb_coin_log_close(log, abandon, &error), &error);
    cdb_coin_log_release(log);
  }

  static int64_t newest(cdb_coin_log *log) {
    cdb_coin_log_totals totals;
    cdb_error error{};
    is_ok(cdb_coin_log_count(log, &totals, &error), &error);
    return totals.blocks == 0 ? -1 : static_cast<int64_t>(totals.newest_index);
  }

  // Returns the block that was refused, if any.
  std::optional<uint64_t> accept(const Packed &packed) {
    size_t accepted = 0;
    cdb_error error{};
    const bool is_trusting = input_.below(2) == 0;
    const cdb_blocks blocks = packed.blocks();
    const cdb_status status =
        cdb_coin_log_accept(log_, &blocks, is_trusting ? 1 : 0, &accepted, &error);
    if (status == CDB_TAKEN_BACK && is_trusting) {
      is_ok(status, &error, status);
      return taken_back(packed);
    }
    is_ok(status, &error);
    if (accepted < packed.indices.size()) return accepted;
    return is_trusting ? verify_spends(packed) : std::nullopt;
  }

  // Returns the block that is refused only now. It may be killed instead: then opening refuses it.
  std::optional<uint64_t> verify_spends(const Packed &packed) {
    if (input_.below(8) == 0) {
      end_reading();
      reopen_after_kill();
      const auto above = std::upper_bound(
          packed.indices.begin(), packed.indices.end(), newest(log_),
          [](int64_t index, uint64_t other) { return index < static_cast<int64_t>(other); });
      if (above == packed.indices.end()) return std::nullopt;
      return static_cast<uint64_t>(above - packed.indices.begin());
    }
    cdb_error error{};
    if (is_ok(cdb_coin_log_verify_spends(log_, &error), &error, CDB_TAKEN_BACK))
      return std::nullopt;
    return taken_back(packed);
  }

  std::optional<uint64_t> taken_back(const Packed &packed) {
    cdb_coin_log_reader *reader = nullptr;
    cdb_error error{};
    is_ok(cdb_coin_log_taken_back(log_, &reader, &error), &error);
    std::vector<Block> blocks;
    while (read_some(reader, &blocks)) {
    }
    cdb_coin_log_end(reader);
    require(blocks.size() == 1, "one block is refused");
    const auto place = std::find(packed.indices.begin(), packed.indices.end(), blocks[0].index);
    require(place != packed.indices.end(), "it is of this call, as those before were verified");
    return static_cast<uint64_t>(place - packed.indices.begin());
  }

  void accept() {
    Packed packed;
    const size_t n = 1 + input_.below(4);
    std::optional<uint64_t> expected;
    for (size_t i = 0; i < n; ++i) {
      const Block block = chain_.draw(&input_);
      packed.add(block);
      if (!expected && !chain_.add(block)) expected = i;
    }
    require(accept(packed) == expected, "the first bad block is refused, and no other");
  }

  void accept_unsorted() {
    Block block = chain_.draw(&input_);
    std::reverse(block.spends.begin(), block.spends.end());
    std::reverse(block.confirms.begin(), block.confirms.end());
    block.names = chain_.names_of(block.confirms);
    const bool is_sorted = std::is_sorted(block.spends.begin(), block.spends.end()) &&
                           std::is_sorted(block.confirms.begin(), block.confirms.end());
    Packed packed;
    packed.add(block);
    const bool is_good = is_sorted && chain_.add(block);
    require(accept(packed).has_value() != is_good, "what is not in order is refused");
  }

  void rewind() {
    const int64_t target = chain_.newest() - static_cast<int64_t>(input_.below(6)) + 1;
    cdb_error error{};
    is_ok(cdb_coin_log_rewind(log_, target, &error), &error);
    chain_.rewind(target);
    flushed_ = chain_.newest();
  }

  void reopen() {
    close();
    switch (input_.below(5)) {
      case 0:
        std::filesystem::remove_all(directory_.path() / "derived");
        break;
      case 1:
        remove_derived("history");
        break;
      case 2:
        remove_derived("base");
        break;
      default:
        break;
    }
    open();
  }

  void remove_derived(const std::string &kind) {
    std::vector<std::filesystem::path> files;
    for (const auto &each : std::filesystem::directory_iterator(directory_.path() / "derived"))
      if (each.path().filename().string().rfind(kind, 0) == 0) files.push_back(each.path());
    for (const std::filesystem::path &file : files) std::filesystem::remove(file);
  }

  // What a kill would leave.
  void abandon() {
    end_reading();
    reopen_after_kill();
    const int64_t left = newest(log_);
    require(left >= flushed_, "what was flushed is there");
    chain_.rewind(left);
    flushed_ = left;
  }

  void reopen_after_kill() {
    end(log_, /*abandon=*/1);
    open();
  }

  // Somebody who only reads.
  void beside() {
    cdb_error error{};
    is_ok(cdb_coin_log_flush(log_, &error), &error);
    flushed_ = chain_.newest();
    cdb_coin_log_options options = options_;
    options.read_only = 1;
    cdb_coin_log *log = open_beside(options);
    look_up(log);
    read_blocks(log);
    require(!is_ok(cdb_coin_log_rewind(log, -1, &error), &error, CDB_INVALID),
            "a reader can't write");
    end(log, /*abandon=*/0);
  }

  // A checkpoint may take away what the manifest named; then the next one is there already.
  cdb_coin_log *open_beside(const cdb_coin_log_options &options) {
    constexpr int kMostTries = 100;
    cdb_coin_log *log = nullptr;
    cdb_error error{};
    for (int tries = 1; log == nullptr; ++tries) {
      const cdb_status status = open_whole(directory_.path(), options, &log, &error);
      is_ok(status, &error, tries < kMostTries ? status : CDB_OK);
    }
    return log;
  }

  void look_up(cdb_coin_log *log) {
    const std::vector<Name> names = chain_.asked();
    std::vector<cdb_coin_info> infos(names.size());
    std::vector<uint8_t> found(names.size());
    cdb_error error{};
    const auto *bytes = reinterpret_cast<const uint8_t *>(names.data());
    is_ok(cdb_coin_log_lookup(log, bytes, names.size(), INT64_MAX, infos.data(), found.data(),
                              &error),
          &error);
    for (size_t i = 0; i < names.size(); ++i) chain_.check(names[i], found[i] != 0, infos[i]);
    cdb_coin_log_totals totals{};
    is_ok(cdb_coin_log_count(log, &totals, &error), &error);
    if (totals.has_keys == 0) return;
    ask(log, CDB_PARENT, 0);
    ask(log, CDB_PUZZLE_HASH, sizeof(Name));
  }

  // By all values of a key, at this place of the confirms.
  void ask(cdb_coin_log *log, int32_t key, size_t place) {
    const std::vector<uint8_t> values = values_of(chain_, place);
    const cdb_query query = query_by(key);
    cdb_coin_log_answer *answer = nullptr;
    size_t n = 0;
    cdb_error error{};
    is_ok(cdb_coin_log_ask(log, &query, values.data(), values.size() / sizeof(Name), &n, &answer,
                           &error),
          &error);
    std::vector<cdb_found_coin> coins(n);
    cdb_coin_log_answer_take(answer, coins.data());
    cdb_coin_log_answer_end(answer);
    require_all(chain_, coins);
  }

  void read_blocks(cdb_coin_log *log) {
    const int64_t first = static_cast<int64_t>(input_.below(8)) - 1;
    const int64_t last = input_.below(2) == 0 ? INT64_MAX : chain_.newest() - 1;
    std::vector<Block> expected;
    for (const Block &block : chain_.blocks()) {
      const auto index = static_cast<int64_t>(block.index);
      if (first <= index && index <= last) expected.push_back(block);
    }
    finish({begin(log, first, last), expected});
  }

  void begin_reading() {
    end_reading();
    reading_ = Reading{begin(log_, 0, INT64_MAX), chain_.blocks()};
  }

  void end_reading() {
    if (reading_) finish(*reading_);
    reading_.reset();
  }

  static cdb_coin_log_reader *begin(cdb_coin_log *log, int64_t first, int64_t last) {
    cdb_coin_log_reader *reader = nullptr;
    cdb_error error{};
    is_ok(cdb_coin_log_read(log, first, last, &reader, &error), &error);
    return reader;
  }

  void finish(const Reading &reading) {
    std::vector<Block> blocks;
    while (read_some(reading.reader, &blocks)) {
    }
    cdb_coin_log_end(reading.reader);
    require(blocks.size() == reading.expected.size(), "all blocks of the range are read");
    for (size_t i = 0; i < blocks.size(); ++i) require_same(blocks[i], reading.expected[i]);
  }

  bool read_some(cdb_coin_log_reader *reader, std::vector<Block> *blocks) {
    cdb_coin_log_counts counts;
    cdb_error error{};
    is_ok(cdb_coin_log_next(reader, input_.below(30), &counts, &error), &error);
    std::vector<uint64_t> indices(counts.blocks), timestamps(counts.blocks);
    std::vector<uint64_t> spend_ends(counts.blocks), confirm_ends(counts.blocks);
    std::vector<Name> spends(counts.spends), names(counts.confirms);
    std::vector<Confirm> confirms(counts.confirms);
    cdb_coin_log_take(reader, indices.data(), timestamps.data(), spend_ends.data(),
                      confirm_ends.data(), reinterpret_cast<uint8_t *>(spends.data()),
                      reinterpret_cast<uint8_t *>(confirms.data()),
                      reinterpret_cast<uint8_t *>(names.data()));
    auto spend = spends.begin();
    auto confirm = confirms.begin();
    auto name = names.begin();
    for (size_t i = 0; i < counts.blocks; ++i) {
      Block block;
      block.index = indices[i];
      block.timestamp = timestamps[i];
      const auto spend_end = spends.begin() + static_cast<ptrdiff_t>(spend_ends[i]);
      const auto n = static_cast<ptrdiff_t>(confirm_ends[i]) - (confirm - confirms.begin());
      block.spends.assign(spend, spend_end);
      block.confirms.assign(confirm, confirm + n);
      block.names.assign(name, name + n);
      spend = spend_end, confirm += n, name += n;
      blocks->push_back(block);
    }
    return counts.blocks > 0;
  }

  Input &input_;
  Chain chain_;
  cdb_coin_log_options options_;
  Scratch directory_;
  cdb_coin_log *log_ = nullptr;
  std::optional<Reading> reading_;
  int64_t flushed_ = -1;  // the newest block that must survive
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  return run_session<Session>(data, bytes);
}
