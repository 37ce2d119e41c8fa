#include "reader.h"

#include "failure.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
constexpr const char *kPreservedFile = "derived/preserved";
constexpr uint64_t kCopyBytes = uint64_t{1} << 20;
}  // namespace

Reader::Reader(Store &store, std::pair<uint64_t, uint64_t> range)
    : store_(store), offset_(range.first), end_(range.second), live_end_(range.second) {
  store_.readers().insert(this);
}

Reader::~Reader() { store_.readers().erase(this); }

void Reader::next(uint64_t max_coins) {
  blocks_.clear();
  store_.settle_log();
  try {
    while (offset_ < end_) {
      read_block();
      const size_t coins = blocks_.confirm_count() + blocks_.spends.size() / kNameBytes;
      if (coins + blocks_.indices.size() >= max_coins) break;
    }
  } catch (const Failure &) {
    store_.check_not_rewound();
    if (blocks_.indices.empty()) throw;
  }
  store_.check_not_rewound();
}

void Reader::read_block() {
  if (!read_record(offset_) || !is_current() || !append_block(record_.data(), &blocks_))
    throw corrupt(kLogFile, "damaged at byte " + std::to_string(offset_));
  offset_ += read_header(record_.data()).length;
}

bool Reader::read_record(uint64_t offset) {
  if (offset < live_end_) return store_.log().read_record(offset, live_end_ - offset, &record_);
  const auto piece =
      std::find_if(preserved_.begin(), preserved_.end(),
                   [offset](const Preserved &p) { return p.begin <= offset && offset < p.end; });
  const uint64_t place = offset - piece->begin, available = piece->end - offset;
  record_.resize(std::min<uint64_t>(available, kHeaderBytes));
  piece->file->read(record_.data(), record_.size(), place);
  if (available < kHeaderBytes) return false;
  record_.resize(std::min<uint64_t>(available, read_header(record_.data()).length));
  piece->file->read(record_.data(), record_.size(), place);
  return is_intact(record_.data(), record_.size(), offset);
}

// Of what the log has no more, there is just the copy.
bool Reader::is_current() const {
  return offset_ >= live_end_ || store_.is_current(store_.block_at(offset_), record_.data());
}

void Reader::preserve_from(uint64_t offset) {
  const uint64_t begin = std::max(offset, offset_);
  if (begin < live_end_) {
    const Directory &directory = store_.directory();
    auto file = std::make_unique<File>(directory, kPreservedFile, Open::kReplace);
    remove_file(directory, kPreservedFile);
    copy_log(begin, live_end_, file.get());
    preserved_.push_back({begin, live_end_, std::move(file)});
  }
  live_end_ = std::min(live_end_, offset);
}

void Reader::copy_log(uint64_t begin, uint64_t end, File *file) const {
  Bytes piece;
  for (uint64_t at = begin; at < end; at += piece.size()) {
    piece.resize(std::min(kCopyBytes, end - at));
    store_.log().read(piece.data(), piece.size(), at);
    file->write(piece.data(), piece.size(), at - begin);
  }
}

}  // namespace cdb::coin_log
