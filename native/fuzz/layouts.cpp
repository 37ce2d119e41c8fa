// The layouts: what they say of coins as of each block is what a list of all that happened says,
// also within a rewind and after it, whatever the names are; and all entries come in the order of
// keys.
//
// The input picks a layout, names that share bytes, 00 and ff among them, and what blocks do with
// them. There is no engine but maps in memory.

#include "memory_kv.h"

#include "input.h"
#include "layouts/table.h"
#include "scratch.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace {

using cdb::coin_set::PendingCoin;
using cdb::coin_set::Span;
using cdb::layouts::Asked;
using cdb::layouts::CoinState;
using cdb::layouts::Found;
using cdb::layouts::NamedCoin;
using cdb::layouts::Scanned;
using Name = std::array<uint8_t, cdb::kNameBytes>;
using Confirm = std::array<uint8_t, cdb::kConfirmBytes>;

constexpr std::array<const char *, 10> kChoices{"interval",
                                                "mono_space",
                                                "dual_timeline",
                                                "option_1",
                                                "issue_196",
                                                "interval,payload=inline",
                                                "mono_space,payload=inline",
                                                "dual_timeline,payload=inline",
                                                "option_1,payload=inline",
                                                "issue_196,payload=inline"};
constexpr size_t kNames = 12;
constexpr size_t kMostSteps = 40;
constexpr uint32_t kMostGap = 3;

struct Block {
  uint64_t index;
  std::vector<Name> confirms, spends;  // each ascending
};

struct Interval {
  uint32_t confirmed, position, spent;
  bool operator==(const Interval &other) const {
    return confirmed == other.confirmed && position == other.position && spent == other.spent;
  }
};
using State = std::map<Name, Interval>;

// What a block holds of a coin: of another one that confirms it, something else.
Confirm confirm_of(const Name &name, uint32_t confirmed) {
  Confirm confirm;
  for (size_t i = 0; i < confirm.size(); ++i)
    confirm[i] = static_cast<uint8_t>(name[i % name.size()] + confirmed + i);
  return confirm;
}

// Names that are hard to tell apart.
std::vector<Name> names_from(Input *input) {
  constexpr std::array<uint8_t, 6> kBytes{0x00, 0x01, 0xfe, 0xff, 0x00, 0x80};
  std::vector<Name> names{{}};
  for (Name name = names.front(); names.size() < kNames;) {
    name[input->below(name.size())] = kBytes[input->below(kBytes.size())];
    if (input->below(4) == 0) name.fill(kBytes[input->below(kBytes.size())]);
    names.push_back(name);
  }
  return names;
}

// Packed, as a rewind has them.
class Packed {
 public:
  explicit Packed(const std::vector<Block> &blocks) {
    for (const Block &block : blocks) {
      indices_.push_back(block.index);
      for (const Name &name : block.spends) spends_.insert(spends_.end(), name.begin(), name.end());
      for (const Name &name : block.confirms) names_.insert(names_.end(), name.begin(), name.end());
      spend_ends_.push_back(spends_.size() / cdb::kNameBytes);
      confirm_ends_.push_back(names_.size() / cdb::kNameBytes);
    }
  }
  cdb::Blocks view() const {
    return {{indices_.size(), indices_.data(), indices_.data(), spend_ends_.data(),
             confirm_ends_.data(), spends_.data(), nullptr, names_.data()}};
  }

 private:
  std::vector<uint64_t> indices_, spend_ends_, confirm_ends_;
  cdb::Bytes spends_, names_;
};

okv_options options_for(const cdb::coin_set::Spaces &spaces) {
  okv_options options{};
  options.n_spaces = spaces.size();
  options.spaces = spaces.data();
  return options;
}

class Session {
 public:
  explicit Session(Input *input)
      : input_(*input),
        layout_(cdb::layouts::layout_of(
            cdb::layouts::Options(kChoices[input_.below(kChoices.size())]))),
        spaces_(cdb::coin_set::all_spaces(layout_->spaces())),
        engine_("", options_for(spaces_)),
        names_(names_from(input)) {}

  void run() {
    for (size_t step = 0; step < kMostSteps && !input_.empty(); ++step) {
      if (input_.below(5) == 0)
        rewind();
      else
        write_blocks();
      check();
    }
  }

 private:
  // What all blocks up to one have left.
  State state_at(int64_t height) const {
    State state;
    for (const Block &block : blocks_) {
      if (static_cast<int64_t>(block.index) > height) break;
      const auto index = static_cast<uint32_t>(block.index);
      for (uint32_t i = 0; i < block.confirms.size(); ++i) state[block.confirms[i]] = {index, i, 0};
      for (const Name &name : block.spends) state[name].spent = index;
    }
    return state;
  }
  int64_t newest() const {
    return blocks_.empty() ? -1 : static_cast<int64_t>(blocks_.back().index);
  }

  Block next_block() {
    const State now = state_at(newest());
    std::set<Name> confirms, spends;
    for (size_t n = input_.below(5); n > 0; --n) {
      const Name &name = names_[input_.below(kNames)];
      if (now.count(name) == 0) confirms.insert(name);
    }
    for (size_t n = input_.below(5); n > 0; --n) {
      const Name &name = names_[input_.below(kNames)];
      const auto known = now.find(name);
      if (confirms.count(name) > 0 || (known != now.end() && known->second.spent == 0))
        spends.insert(name);
    }
    // A spend by block 0 would say that the coin is unspent.
    const uint64_t gap = (blocks_.empty() ? 2 : 1) + input_.below(kMostGap);
    return {static_cast<uint64_t>(newest()) + gap,
            {confirms.begin(), confirms.end()},
            {spends.begin(), spends.end()}};
  }

  // Some blocks, in one batch or in runs.
  void write_blocks() {
    const int64_t indexed = newest();
    for (size_t n = 1 + input_.below(4); n > 0; --n) blocks_.push_back(next_block());
    cdb::layouts::Coins coins;
    for (const auto &[name, coin] : state_at(newest())) {
      const bool is_new = int64_t{coin.confirmed} > indexed;
      if (!is_new && (coin.spent == 0 || int64_t{coin.spent} <= indexed)) continue;
      PendingCoin pending{{}, coin.confirmed, coin.position, coin.spent, is_new};
      std::copy(name.begin(), name.end(), pending.name);
      const Confirm confirm = confirm_of(name, coin.confirmed);
      coins.add(pending, layout_->is_inline() ? Span(confirm) : Span());
    }
    if (input_.below(2) == 0) {
      cdb::coin_set::Batch batch;
      for (const auto space : {cdb::coin_set::kFirst, cdb::coin_set::kSecond})
        layout_->put(space, coins, &batch);
      batch.commit(engine_, OKV_POWER);
      return;
    }
    cdb::coin_set::Run first(engine_, cdb::coin_set::kFirst);
    cdb::coin_set::Run second(engine_, cdb::coin_set::kSecond);
    layout_->put(cdb::coin_set::kFirst, coins, &first);
    layout_->put(cdb::coin_set::kSecond, coins, &second);
    first.finish();
    second.finish();
    cdb::coin_set::Run::ingest(engine_, {&first, &second});
  }

  void undo(const std::vector<Block> &blocks, int64_t kept) {
    const Packed packed(blocks);
    cdb::coin_set::Batch batch;
    layout_->undo(engine_, packed.view(), kept, &batch);
    batch.commit(engine_, OKV_PROCESS);
  }

  // In two steps, either first, of which a crash may repeat the first one.
  void rewind() {
    if (blocks_.empty()) return;
    const size_t n_kept = input_.below(blocks_.size());
    const auto at = [this](size_t n) { return blocks_.begin() + static_cast<ptrdiff_t>(n); };
    const size_t middle = n_kept + input_.below(blocks_.size() - n_kept + 1);
    std::vector<Block> some(at(n_kept), at(middle)), others(at(middle), blocks_.end());
    blocks_.erase(at(n_kept), blocks_.end());
    if (input_.below(2) == 0) some.swap(others);
    check();
    undo(some, newest());
    check();
    if (input_.below(2) == 0) undo(some, newest());
    undo(others, newest());
  }

  void check() const {
    for (int64_t height = -1; height <= newest(); ++height) {
      const State expected = state_at(height);
      check_found(expected, {height, height == newest()});
      check_scan(expected, height);
    }
    for (int64_t first = 0; first <= newest(); first += 2) check_log(first, newest() - first % 3);
  }

  void check_found(const State &expected, const cdb::layouts::AsOf &as_of) const {
    std::set<Name> all(names_.begin(), names_.end());
    std::vector<Asked> asked;
    for (const Name &name : all) asked.push_back({name.data(), asked.size()});
    Found found;
    layout_->find(engine_, asked, as_of, OKV_OFTEN, &found);
    State seen;
    for (size_t i = 0; i < found.coins.size(); ++i) {
      const CoinState &coin = found.coins[i];
      Name name;
      std::copy_n(asked.at(coin.at).name, name.size(), name.begin());
      seen[name] = {coin.confirmed_index, coin.position, coin.spent_index};
      require_confirm(found.confirm(i), name, coin.confirmed_index);
    }
    require(seen.size() == found.coins.size(), "a coin is found once");
    require(seen == expected, "names lead to what coins were as of a block");
  }

  void check_scan(const State &expected, int64_t height) const {
    const auto scan = layout_->scan(engine_, height);
    Scanned found;
    while (scan->next(found.coins.size() + 3, &found)) continue;
    require(found.coins.size() == expected.size(), "a scan has each coin once");
    auto next = expected.begin();
    for (size_t i = 0; i < found.coins.size(); ++i) {
      const NamedCoin &coin = found.coins[i];
      require(coin.name == next->first, "a scan is by name");
      require(next->second == Interval{coin.confirmed_index, coin.position, coin.spent_index},
              "a scan is as of a block");
      require_confirm(found.confirm(i), coin.name, coin.confirmed_index);
      ++next;
    }
  }

  void check_log(int64_t first, int64_t last) const {
    if (first > last) return;
    const auto log = layout_->log(engine_, first, last);
    if (log == nullptr) return;
    Scanned found;
    while (log->next(found.coins.size() + 3, &found)) continue;
    auto next = found.coins.begin();
    for (const Block &block : blocks_) {
      const auto index = static_cast<int64_t>(block.index);
      if (index < first || index > last) continue;
      std::set<Name> touched(block.confirms.begin(), block.confirms.end());
      touched.insert(block.spends.begin(), block.spends.end());
      const State state = state_at(index);
      for (const Name &name : touched) {
        require(next != found.coins.end() && next->name == name, "a log is by block and name");
        require(
            state.at(name) == Interval{next->confirmed_index, next->position, next->spent_index},
            "a version is what its block has left");
        require_confirm(found.confirm(static_cast<size_t>(next - found.coins.begin())), name,
                        next->confirmed_index);
        ++next;
      }
    }
    require(next == found.coins.end(), "a log has no more than blocks have done");
  }

  void require_confirm(const Span &found, const Name &name, uint32_t confirmed) const {
    if (!layout_->is_inline()) return require(found.n == 0, "blocks alone have what coins are");
    require(found == Span(confirm_of(name, confirmed)), "a row has its coin");
  }

  Input &input_;
  const std::unique_ptr<cdb::layouts::Layout> layout_;
  const cdb::coin_set::Spaces spaces_;
  const cdb::coin_set::Engine engine_;
  const std::vector<Name> names_;
  std::vector<Block> blocks_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  Input input(data, bytes);
  Session(&input).run();
  return 0;
}
