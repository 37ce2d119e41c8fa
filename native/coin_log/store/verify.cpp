// Verifying old spends.
//
// The index knows 44 bits of a name or more, and the row; whether the coin there has the name, only
// the log can say, at a place that is likely not in memory. In bulk such spends are therefore
// believed, and verified by the hundred thousand in the order of the log: one pass that reads on,
// instead of a random read each.
//
// That is done before anything is acknowledged, read or refused. A valid block never fails here:
// where another coin shares the bits of the right one, or has its row since a rewind, the right one
// is found now. What can fail is a spend of a coin that does not exist: one that a rewind took
// away, whose name the index still has, or whose made-up name has the bits of one that does, by
// chance. The block is taken back then, with those after it. None of them was acknowledged; a crash
// before leaves their records in the log, where an opening refuses them in the same way.
#include "coin_log/store/reader.h"
#include "coin_log/store/store.h"

#include "common/beside.h"
#include "common/coin_name.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
// So much is passed over before it is decided whether its memory is let go of. Where the pass had
// to wait for the disk, memory is short, and what is used more often should have it. Where it had
// not, the next pass, perhaps a flush later, would only have to fetch the pages again.
constexpr uint64_t kPassBytes = uint64_t{1} << 24;
constexpr uint64_t kNearBytes = uint64_t{1} << 14;  // claims that lie so near are read through
}  // namespace

// Which of the claims are false, by their spends. The one who writes may go on beside: of the state
// it is a reader.
std::vector<Claim> Store::false_claims(std::vector<Claim> claims) const {
  std::sort(claims.begin(), claims.end(),
            [](const Claim &a, const Claim &b) { return a.row < b.row; });
  std::vector<Claim> wrong;
  uint32_t rows[State::kFetch];
  CoinView views[State::kFetch];
  uint8_t computed[kNamedAtOnce * kNameBytes];
  ReadAhead ahead;
  uint64_t passed = 0;
  long faults = disk_faults();
  for (size_t done = 0; done < claims.size(); done += State::kFetch) {
    const size_t group = std::min(State::kFetch, claims.size() - done);
    const Reading inside(access_);
    const bool is_dense = claims.size() * kNearBytes > state_.log.end();
    for (size_t i = 0; i < group; ++i) {
      rows[i] = claims[done + i].row;
      prefetch(claims[done + i].name);
    }
    if (is_dense)
      state_.log.read_on(state_.blocks[state_.block_of(rows[0])].offset, state_.log.end(), &ahead);
    state_.fetch(rows, group, views, is_dense);
    for (size_t i = 0; i < group; ++i) {
      const size_t place = i % kNamedAtOnce;
      if (place == 0) State::name_views(views + i, std::min(kNamedAtOnce, group - i), computed);
      if (!state_.has_name(views[i], computed + place * kNameBytes, claims[done + i].name))
        wrong.push_back(claims[done + i]);
    }
    const uint64_t offset = state_.blocks[views[0].block].offset;
    if (offset < passed + kPassBytes) continue;
    const long faults_so_far = disk_faults();
    if (faults_so_far != faults) state_.log.release(passed, offset);
    faults = faults_so_far;
    passed = offset;
  }
  std::sort(wrong.begin(), wrong.end(),
            [](const Claim &a, const Claim &b) { return a.spend < b.spend; });
  return wrong;
}

void Store::verify() {
  if (is_verified()) return;
  settle(verifying_.valid() ? verifying_.get() : std::vector<Claim>());
}

void Store::begin_verifying() {
  if (validation_.unverified.size() == 0) return;
  {
    const Change change(access_);
    std::swap(validation_.unverified, validation_.begun);
  }
  verifying_ = beside([this] {
    std::vector<Claim> wrong;
    state_.log.drain();
    with_readable_mappings(*directory_.lost,
                           [&] { wrong = false_claims(validation_.begun.claims()); });
    return wrong;
  });
}

void Store::end_verifying() {
  if (!verifying_.valid()) return;
  const std::vector<Claim> wrong = verifying_.get();
  if (!wrong.empty()) return settle(wrong);
  {
    const Change change(access_);
    validation_.begun.clear();
  }
  readers_.tell_verified();
}

// Of what was begun these are wrong. Whatever else is believed may have taken the coin that they
// mean: so all of it is looked at together. Where a block is to be taken back, nothing counts as
// verified before it is gone.
void Store::settle(std::vector<Claim> wrong) {
  state_.log.drain();
  const std::vector<Claim> newer = false_claims(validation_.unverified.claims());
  wrong.insert(wrong.end(), newer.begin(), newer.end());
  size_t refused = state_.blocks.size();
  {
    const Change change(access_);
    state_.spent.reserve(2 * wrong.size());
    for (const Claim &claim : wrong) state_.spent.set(claim.row, 0);
    refused = correct(wrong);
    if (refused == state_.blocks.size()) {
      validation_.unverified.clear();
      validation_.begun.clear();
    }
  }
  if (refused < state_.blocks.size()) take_back(refused);
  readers_.tell_verified();
}

// Give wrong claims, in the order of their spends, the coins that they mean. A spend's number
// counts from the first block that is not covered. Returns the first block that spends what it must
// not, or the count of blocks.
size_t Store::correct(const std::vector<Claim> &wrong) {
  const BlockTable &blocks = state_.blocks;
  size_t block = checkpoints_.manifest().covered_blocks, refused = blocks.size();
  uint64_t spends = wrong.empty() ? 0 : blocks[block].geometry.spends;
  for (const Claim &claim : wrong) {
    while (spends <= claim.spend) spends += blocks[++block].geometry.spends;
    if (block >= refused) break;
    const uint32_t index = blocks[block].index;
    const uint32_t row = state_.find_exactly(claim.name, state_.first_row_of(block + 1));
    if (row == kNoRow || (state_.spent[row] != 0 && state_.spent[row] <= index)) return block;
    // A later block has spent it, too.
    if (state_.spent[row] != 0)
      refused = std::min(refused, state_.blocks_up_to(state_.spent[row]) - 1);
    state_.spent.set(row, index);
    checkpoints_.correct_spent_row(claim.spend, row);
  }
  return refused;
}

void Store::verify_for_reader() {
  try {
    verify();
  } catch (const Failure &failure) {
    if (failure.status() != CDB_TAKEN_BACK) throw;
  }
}

void Store::check_taken_back() const {
  if (taken_back_ != nullptr)
    throw Failure(CDB_TAKEN_BACK, "", "a block spends what it must not, and was taken back");
}

std::unique_ptr<Reader> Store::taken_back() { return std::move(taken_back_); }

void Store::take_back(size_t block) {
  const std::string index = std::to_string(state_.blocks[block].index);
  if (is_replaying_) {
    drop(block, state_.last_rewind);
  } else {
    const std::pair range(state_.offset_of(block), state_.offset_of(block + 1));
    taken_back_ = std::make_unique<Reader>(readers_, state_, range);
    cut(block);
  }
  readers_.tell_verified();
  throw Failure(
      CDB_TAKEN_BACK, "",
      "block " + index + " spends what it must not; it and those after it are taken back");
}

}  // namespace cdb::coin_log
