// Calls of cdb_rocks_kv.h in any order, held against the reference. The input says which.

#include "chain.h"
#include "input.h"
#include "rocks_kv_calls.h"
#include "scratch.h"

#include <vector>

namespace {

class Session {
 public:
  explicit Session(Input *input)
      : input_(*input), chain_(name_confirms), options_{/*create=*/1, 0, 0,
                                                        1u << 20,     0, 0} {
    options_.sync = static_cast<int32_t>(input_.below(2));
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
        is_ok(cdb_kv_commit(kv_, &error), &error);
        break;
      case 1:
        is_ok(cdb_kv_checkpoint(kv_, &error), &error);
        break;
      case 2:
        is_ok(cdb_kv_settle(kv_, &error), &error);
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
    is_ok(cdb_kv_open(directory_.path().c_str(), &options_, &kv_, &error), &error);
  }

  void close() {
    cdb_error error{};
    is_ok(cdb_kv_close(kv_, &error), &error);
    cdb_kv_release(kv_);
  }

  cdb_kv_state state() const {
    cdb_kv_state state;
    cdb_error error{};
    is_ok(cdb_kv_get_state(kv_, &state, &error), &error);
    return state;
  }

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
    is_ok(cdb_kv_accept(kv_, &blocks, &accepted, &error), &error);
    require(accepted == expected, "the blocks before the first bad one are accepted");
  }

  void rewind() {
    const int64_t target = chain_.newest() - static_cast<int64_t>(input_.below(6)) + 1;
    cdb_error error{};
    if (!is_ok(cdb_kv_begin_rewind(kv_, target, &error), &error, CDB_INVALID)) {
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
      for (const Block &block : rewound_blocks(kv_, 3, chain_)) packed.add(block);
      if (packed.indices.empty()) break;
      const cdb_blocks blocks = packed.blocks();
      cdb_error error{};
      is_ok(cdb_kv_erase(kv_, &blocks, &error), &error);
    }
    cdb_error error{};
    is_ok(cdb_kv_end_rewind(kv_, &error), &error);
  }

  void reopen() {
    const cdb_kv_state before = state();
    close();
    chain_.rewind(before.committed);
    options_.read_only = input_.below(4) == 0 ? 1 : 0;
    open();
    require(state().newest == before.committed, "what was committed is there, and nothing else");
    require(state().is_rewinding == before.is_rewinding, "a rewind is not forgotten");
    if (options_.read_only == 0) return;
    cdb_error error{};
    require(!is_ok(cdb_kv_commit(kv_, &error), &error, CDB_INVALID), "a reader can't write");
    look_up();
    close();
    options_.read_only = 0;
    open();
  }

  void look_up() {
    const std::vector<Name> names = chain_.asked();
    std::vector<cdb_kv_info> infos(names.size());
    std::vector<uint8_t> found(names.size());
    cdb_error error{};
    const auto *bytes = reinterpret_cast<const uint8_t *>(names.data());
    is_ok(cdb_kv_find(kv_, bytes, names.size(), infos.data(), found.data(), &error), &error);
    for (size_t i = 0; i < names.size(); ++i) chain_.check(names[i], found[i] != 0, infos[i]);
  }

  void read_blocks() {
    const std::vector<Block> &blocks = chain_.blocks();
    size_t n = 0;
    for (const Block &block : blocks_between(kv_, 0, UINT32_MAX, chain_))
      require_same(blocks.at(n++), block);
    require(n == blocks.size(), "the cursor gives all blocks");
    for (const Block &block : blocks) {
      const auto index = static_cast<uint32_t>(block.index);
      const std::vector<Block> found = blocks_between(kv_, index, index, chain_);
      require(found.size() == 1, "a block is found by its index");
      require_same(block, found.front());
    }
  }

  Input &input_;
  Chain chain_;
  cdb_kv_options options_;
  Scratch directory_;
  cdb_kv *kv_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  return run_session<Session>(data, bytes);
}
