#include "marks.h"

#include <algorithm>

namespace cdb::coin_set {

namespace {

constexpr std::string_view kEarlyMark = "early";
constexpr std::string_view kBehindEarly = "earlz";
constexpr size_t kEarlyBytes = kEarlyMark.size() + 8;
constexpr size_t kRewardBytes = 20;  // kind (16), height (4)
constexpr size_t kPageBytes = 4u << 10;
constexpr size_t kPageEntries = 256;

Failure cut() { return {CDB_CORRUPT, "", "a mark is cut"}; }

void read_early(const Source &source, uint8_t space, Parents *parents) {
  Scan marks(source, space, kEarlyMark, kBehindEarly, /*is_reverse=*/false, OKV_ONCE, kPageBytes);
  for (; marks.read(kPageEntries); marks.drop(marks.n()))
    for (size_t i = 0; i < marks.n(); ++i) {
      if (marks.key(i).n != kEarlyBytes) throw cut();
      parents->add_early(0, load_big_endian(marks.key(i).bytes + kEarlyMark.size()));
    }
  parents->forget_rows();
}

void read_rewards(const Source &source, uint8_t space, Parents *parents) {
  Bytes value;
  if (!source.get(space, kRewardsMark, &value)) return;
  if (value.size() % kRewardBytes != 0) throw cut();
  std::vector<RewardParents::Highest> rewards(value.size() / kRewardBytes);
  for (size_t i = 0; i < rewards.size(); ++i) {
    const uint8_t *const bytes = value.data() + i * kRewardBytes;
    std::copy_n(bytes, rewards[i].kind.size(), rewards[i].kind.begin());
    rewards[i].height = load_big_endian<uint32_t>(bytes + rewards[i].kind.size());
  }
  parents->restore_rewards(rewards);
}

}  // namespace

bool read_index(const Source &source, uint8_t space, std::string_view mark, int64_t *index) {
  Bytes value;
  if (!source.get(space, mark, &value)) return false;
  if (value.size() != 8) throw cut();
  *index = static_cast<int64_t>(load_big_endian(value.data()));
  return true;
}

Parents read_parents(const Source &source, uint8_t space) {
  Parents parents;
  read_early(source, space, &parents);
  read_rewards(source, space, &parents);
  return parents;
}

std::vector<Bytes> early_marks(const Parents &parents) {
  std::vector<Bytes> marks;
  for (const Parents::EarlyChild &child : parents.early_children()) {
    marks.emplace_back(kEarlyMark.begin(), kEarlyMark.end());
    marks.back().resize(kEarlyBytes);
    store_big_endian(marks.back().data() + kEarlyMark.size(), child.head);
  }
  std::sort(marks.begin(), marks.end());
  return marks;
}

Bytes rewards_value(const Parents &parents) {
  Bytes value;
  for (const RewardParents::Highest &reward : parents.rewards()) {
    value.insert(value.end(), reward.kind.begin(), reward.kind.end());
    value.resize(value.size() + 4);
    store_big_endian(value.data() + value.size() - 4, reward.height);
  }
  return value;
}

}  // namespace cdb::coin_set
