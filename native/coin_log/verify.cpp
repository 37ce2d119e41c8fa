// Verifying old spends.
//
// The index knows 48 bits of a name or more, and the row; whether the coin there has the name, only
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
#include "failure.h"
#include "reader.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
// So much is passed over before it is decided whether its memory is let go of. Where the pass had
// to wait for the disk, memory is short, and what is used more often should have it. Where it had
// not, the next pass, perhaps a flush later, would only have to fetch the pages again.
constexpr uint64_t kPassBytes = uint64_t{1} << 24;
constexpr uint64_t kNearBytes = uint64_t{1} << 14;  // claims that lie so near are read through
}  // namespace

// Which of the claims are false, by their spends.
std::vector<Claim> Store::false_claims(std::vector<Claim> claims) const {
  std::sort(claims.begin(), claims.end(),
            [](const Claim &a, const Claim &b) { return a.row < b.row; });
  const bool is_dense = claims.size() * kNearBytes > log_.end();
  std::vector<Claim> wrong;
  uint32_t rows[kFetch];
  CoinView views[kFetch];
  uint64_t passed = 0;
  long faults = disk_faults();
  for (size_t done = 0; done < claims.size(); done += kFetch) {
    const size_t group = std::min(kFetch, claims.size() - done);
    for (size_t i = 0; i < group; ++i) {
      rows[i] = claims[done + i].row;
      prefetch(claims[done + i].name);
    }
    if (is_dense) log_.read_on(blocks_[block_of(rows[0])].offset, log_.end());
    fetch(rows, group, views, is_dense);
    for (size_t i = 0; i < group; ++i)
      if (!has_name(views[i], claims[done + i].name)) wrong.push_back(claims[done + i]);
    const uint64_t offset = blocks_[views[0].block].offset;
    if (offset < passed + kPassBytes) continue;
    const long faults_so_far = disk_faults();
    if (faults_so_far != faults) log_.release(passed, offset);
    faults = faults_so_far;
    passed = offset;
  }
  std::sort(wrong.begin(), wrong.end(),
            [](const Claim &a, const Claim &b) { return a.spend < b.spend; });
  return wrong;
}

void Store::verify() {
  if (unverified_.size() == 0) return;
  log_.settle();
  const std::vector<Claim> wrong = false_claims(unverified_.claims());
  for (const Claim &claim : wrong) spent_[claim.row] = 0;
  const size_t refused = correct(wrong);
  unverified_.clear();
  if (refused < blocks_.size()) take_back(refused);
}

// Give wrong claims, in the order of their spends, the coins that they mean. A spend's number
// counts from the first block that is not covered. Returns the first block that spends what it must
// not, or the count of blocks.
size_t Store::correct(const std::vector<Claim> &wrong) {
  size_t block = manifest_.covered_blocks, refused = blocks_.size();
  uint64_t spends = wrong.empty() ? 0 : blocks_[block].geometry.spends;
  for (const Claim &claim : wrong) {
    while (spends <= claim.spend) spends += blocks_[++block].geometry.spends;
    if (block >= refused) break;
    const uint32_t index = blocks_[block].index;
    const uint32_t row = find_exactly(claim.name, first_row_of(block + 1));
    if (row == kNoRow || (spent_[row] != 0 && spent_[row] <= index)) return block;
    // A later block has spent it, too.
    if (spent_[row] != 0) refused = std::min(refused, blocks_up_to(spent_[row]) - 1);
    spent_[row] = index;
    new_spent_rows_[claim.spend] = row;
  }
  return refused;
}

void Store::take_back(size_t block) {
  const std::string index = std::to_string(blocks_[block].index);
  const uint64_t offset = offset_of(block);
  if (is_replaying_) {
    drop(block);
    log_.set_end(offset);
  } else {
    taken_back_ = std::make_unique<Reader>(*this, std::pair(offset, offset_of(block + 1)));
    cut(block);
  }
  throw Failure(
      COIN_LOG_TAKEN_BACK, "",
      "block " + index + " spends what it must not; it and those after it are taken back");
}

Store::~Store() = default;

std::unique_ptr<Reader> Store::taken_back() { return std::move(taken_back_); }

}  // namespace cdb::coin_log
