#include "reader.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr const char *kPreservedFile = "derived/preserved";
constexpr uint64_t kCopyBytes = uint64_t{1} << 20;

std::shared_ptr<const Preserved> preserved(const Log &log, uint64_t begin, uint64_t end) {
  auto file = std::make_unique<File>(log.directory(), kPreservedFile, Open::kReplace);
  remove_file(log.directory(), kPreservedFile);
  Bytes piece;
  for (uint64_t at = begin; at < end; at += piece.size()) {
    piece.resize(std::min(kCopyBytes, end - at));
    log.read(piece.data(), piece.size(), at);
    file->write(piece.data(), piece.size(), at - begin);
  }
  return std::make_shared<const Preserved>(Preserved{begin, end, std::move(file)});
}

}  // namespace

void Readers::add(Reader *reader) {
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.insert(reader);
}

void Readers::remove(Reader *reader) {
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.erase(reader);
}

// One copy for all of them.
void Readers::preserve_from(const Log &log, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t first = UINT64_MAX, last = 0;
  for (Reader *reader : readers_) {
    const auto [begin, end] = reader->needed_from(offset);
    if (begin >= end) continue;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  const auto copy = first < last ? preserved(log, first, last) : nullptr;
  for (Reader *reader : readers_) reader->keep(copy, offset);
}

void Readers::release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Reader *reader : readers_) reader->release();
}

bool Readers::await_verified(std::chrono::milliseconds most) {
  std::unique_lock<std::mutex> lock(verified_mutex_);
  if (!is_writing_) return false;
  ++waiting_;
  verified_.wait_for(
      lock, most, [this, now = verifications_] { return verifications_ != now || !is_writing_; });
  --waiting_;
  return true;
}

void Readers::tell_writing(bool is_writing) {
  {
    const std::lock_guard<std::mutex> lock(verified_mutex_);
    is_writing_ = is_writing;
  }
  if (are_waiting()) verified_.notify_all();
}

void Readers::tell_verified() {
  {
    const std::lock_guard<std::mutex> lock(verified_mutex_);
    ++verifications_;
  }
  verified_.notify_all();
}

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
  store.state().log.settle();
  try {
    while (offset_ < end_) {
      read_block(store.state());
      const size_t coins = blocks_.confirm_count() + blocks_.spends.size() / kNameBytes;
      if (coins + blocks_.indices.size() >= max_coins) break;
    }
  } catch (const Failure &) {
    store.check_not_rewound();
    if (blocks_.indices.empty()) throw;
  }
  store.check_not_rewound();
}

void Reader::read_block(const State &state) {
  if (!read_record(state.log, offset_) || !is_current(state) ||
      !append_block(record_.data(), kinds_, &blocks_))
    throw corrupt(kLogFile, "damaged").at(offset_);
  offset_ += read_header(record_.data()).length;
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
