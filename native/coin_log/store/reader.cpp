#include "coin_log/store/reader.h"

#include <algorithm>

namespace cdb::coin_log {

Reader::Reader(Readers &readers, const State &state, std::pair<uint64_t, uint64_t> range)
    : readers_(readers),
      kinds_(state.kinds),
      offset_(range.first),
      end_(range.second),
      live_end_(range.second) {
  readers_.add(this);
}

Reader::~Reader() { readers_.remove(this); }

void Reader::next(const Store &store, uint64_t max_coins) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_.clear();
  first_rows_.clear();
  store.state().log.drain();
  try {
    while (offset_ < end_) {
      read_block(store.state());
      const size_t coins = blocks_.confirm_count() + blocks_.spends.size() / kNameBytes;
      if (coins + blocks_.indices.size() >= max_coins) break;
    }
  } catch (const Failure &) {
    if (blocks_.indices.empty()) throw;
  }
  store.check_not_rewound();
}

void Reader::read_block(const State &state) {
  if (!read_record(state.log, offset_) || !is_current(state) ||
      !append_block(record_.data(), kinds_, &blocks_))
    throw corrupt(kLogFile, "damaged").at(offset_);
  const RecordHeader header = read_header(record_.data());
  first_rows_.push_back(header.first_row);
  offset_ += header.length;
}

size_t Reader::states(const State &state, int64_t height, bool only_unspent, uint8_t *names,
                      cdb_coin_info *infos) const {
  const Blocks blocks = blocks_.view();
  size_t n = 0;
  for (size_t block = 0; block < blocks.n; ++block) {
    const size_t begin = blocks.confirm_begin(block), end = blocks.confirm_ends[block];
    for (size_t i = begin; i < end; ++i) {
      const size_t row = first_rows_[block] + (i - begin);
      const uint32_t spent = row < state.row_count ? state.spent[row] : 0;
      const bool is_spent = spent != 0 && int64_t{spent} <= height;
      if (is_spent && only_unspent) continue;
      const uint8_t *const confirm = blocks.confirm(i);
      std::memcpy(names + n * kNameBytes, blocks.name(i), kNameBytes);
      std::memcpy(infos[n].parent, confirm, kNameBytes);
      std::memcpy(infos[n].puzzle_hash, confirm + kNameBytes, kNameBytes);
      infos[n].amount = load_big_endian(confirm + kAmountAt);
      infos[n].confirmed_index = static_cast<uint32_t>(blocks.indices[block]);
      infos[n].spent_index = is_spent ? spent : 0;
      ++n;
    }
  }
  return n;
}

bool Reader::read_record(const Log &log, uint64_t offset) {
  if (offset < live_end_) return log.read_record(offset, live_end_ - offset, &record_, &ahead_);
  const auto piece = std::find_if(preserved_.begin(), preserved_.end(), [offset](const auto &p) {
    return p->begin <= offset && offset < p->end;
  });
  const Preserved &copy = **piece;
  const uint64_t place = offset - copy.begin, available = copy.end - offset;
  record_.resize(std::min<uint64_t>(available, kHeaderBytes));
  copy.file->read(record_.data(), record_.size(), place);
  if (available < kHeaderBytes) return false;
  record_.resize(std::min<uint64_t>(available, read_header(record_.data()).length));
  copy.file->read(record_.data(), record_.size(), place);
  return is_intact(record_.data(), record_.size(), log.seed(offset));
}

// Of what the log has no more, there is just the copy.
bool Reader::is_current(const State &state) const {
  return offset_ >= live_end_ || state.is_current(state.block_at(offset_), record_.data());
}

std::pair<uint64_t, uint64_t> Reader::needed_from(uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {std::max(offset, offset_), live_end_};
}

void Reader::keep(const std::shared_ptr<const Preserved> &copy, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::max(offset, offset_) < live_end_) preserved_.push_back(copy);
  live_end_ = std::min(live_end_, offset);
}

void Reader::release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  preserved_.clear();
}

}  // namespace cdb::coin_log
