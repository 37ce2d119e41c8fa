// Calls of cdb_coin_set.h in any order, held against the reference. The input says which.

#include "chain.h"
#include "input.h"
#include "rocksdb_calls.h"
#include "scratch.h"

#include <utility>
#include <vector>

namespace {

class Session {
 public:
  explicit Session(Input *input)
      : input_(*input), chain_(name_confirms), options_{"interval", /*create=*/1,
                                                        0,          0,
                                                        1u << 20,   0,
                                                        0,          0,
                                                        0,          64} {
    const size_t how = input_.below(8);
    options_.sync = static_cast<int32_t>(how % 2);
    options_.keys = static_cast<int32_t>(how / 2 % 2);
    if (how / 4 != 0) options_.name_bits = 2;
    options_.commit_entries = 1 + input_.below(100);
    options_.ingest_entries = 1 + input_.below(100);
    open();
    options_.create = 0;
  }
  ~Session() { close(); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  void call() {
    cdb_error error{};
    switch (input_.below(10)) {
      case 0:
        is_ok(cdb_set_commit(set_, &error), &error);
        break;
      case 1:
        is_ok(cdb_set_checkpoint(set_, &error), &error);
        break;
      case 2:
        is_ok(cdb_set_settle(set_, &error), &error);
        break;
      case 3:
        rewind();
        break;
      case 4:
        reopen();
        break;
      case 5:
        look_up();
        break;
      case 6:
        read_blocks();
        break;
      default:
        accept();
        break;
    }
    require(state().newest == chain_.newest(), "the newest block is the last one accepted");
  }

  void check() {
    look_up();
    read_blocks();
    reopen();
    look_up();
    read_blocks();
  }

 private:
  void open() {
    cdb_error error{};
    is_ok(cdb_set_open(directory_.path().c_str(), &options_, &set_, &error), &error);
    if (options_.keys != 0 && options_.read_only == 0) make_keys(set_);
  }

  void close() {
    cdb_error error{};
    is_ok(cdb_set_close(set_, &error), &error);
    cdb_set_release(set_);
  }

  cdb_set_state state() const { return state_of(set_); }

  void accept() {
    Packed packed;
    const size_t n = 1 + input_.below(4);
    size_t expected = n;
    for (size_t i = 0; i < n; ++i) {
      const Block block = chain_.draw(&input_);
      packed.add(block);
      if (expected == n && !chain_.add(block)) expected = i;
    }
    const cdb_blocks blocks = packed.blocks();
    size_t accepted = n + 1;
    cdb_error error{};
    is_ok(cdb_set_accept(set_, &blocks, &accepted, &error), &error);
    require(accepted == expected, "the blocks before the first bad one are accepted");
  }

  void rewind() {
    const int64_t target = chain_.newest() - static_cast<int64_t>(input_.below(6)) + 1;
    cdb_error error{};
    if (!is_ok(cdb_set_begin_rewind(set_, target, &error), &error, CDB_INVALID)) {
      require(target > chain_.newest(), "a rewind goes back to any block");
      return;
    }
    chain_.rewind(target);
    if (input_.below(4) == 0) reopen();
    finish_rewind();
  }

  // Erases what is hidden, a few blocks at a time.
  void finish_rewind() {
    for (;;) {
      Packed packed;
      for (const Block &block : rewound_blocks(set_, 3, chain_)) packed.add(block);
      if (packed.indices.empty()) break;
      const cdb_blocks blocks = packed.blocks();
      cdb_error error{};
      is_ok(cdb_set_erase(set_, &blocks, &error), &error);
    }
    cdb_error error{};
    is_ok(cdb_set_end_rewind(set_, &error), &error);
  }

  void reopen() {
    const cdb_set_state before = state();
    close();
    chain_.rewind(before.committed);
    options_.read_only = input_.below(4) == 0 ? 1 : 0;
    open();
    require(state().newest == before.committed, "what was committed is there, and nothing else");
    require(state().is_rewinding == before.is_rewinding, "a rewind is not forgotten");
    if (options_.read_only == 0) return;
    cdb_error error{};
    require(!is_ok(cdb_set_commit(set_, &error), &error, CDB_INVALID), "a reader can't write");
    look_up();
    close();
    options_.read_only = 0;
    open();
  }

  void look_up() {
    const std::vector<Name> names = chain_.asked();
    std::vector<cdb_coin_info> infos(names.size());
    std::vector<uint8_t> found(names.size());
    cdb_error error{};
    const auto *bytes = reinterpret_cast<const uint8_t *>(names.data());
    is_ok(cdb_set_find(set_, bytes, names.size(), infos.data(), found.data(), &error), &error);
    for (size_t i = 0; i < names.size(); ++i) chain_.check(names[i], found[i] != 0, infos[i]);
    if (options_.keys == 0) return;
    for (const auto &[key, place] : {std::pair{CDB_PARENT, 0}, std::pair{CDB_PUZZLE_HASH, 32}}) {
      std::vector<cdb_found_coin> coins;
      ask(set_, chain_, key, static_cast<size_t>(place), &coins);
      require_all(chain_, coins);
    }
    require(are_keys_right(set_), "secondary keys are those that the blocks make");
  }

  void read_blocks() {
    const std::vector<Block> &blocks = chain_.blocks();
    size_t n = 0;
    for (const Block &block : blocks_between(set_, 0, UINT32_MAX, chain_))
      require_same(blocks.at(n++), block);
    require(n == blocks.size(), "the cursor gives all blocks");
    for (const Block &block : blocks) {
      const auto index = static_cast<uint32_t>(block.index);
      const std::vector<Block> found = blocks_between(set_, index, index, chain_);
      require(found.size() == 1, "a block is found by its index");
      require_same(block, found.front());
    }
  }

  Input &input_;
  Chain chain_;
  cdb_set_options options_;
  Scratch directory_;
  cdb_set *set_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  return run_session<Session>(data, bytes);
}
