#include "format1.h"

#include "common/checksum.h"
#include "failure.h"
#include "log.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr uint32_t kMagic = 0x31524c43;  // "CLR1"
constexpr uint16_t kVersion = 1;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

RecordHeader header_of(const uint8_t *bytes) {
  RecordHeader header = read_header(bytes);  // up to the timestamp they are alike
  header.first_row = load<uint32_t>(bytes + 40);
  header.durable_upto = load<uint64_t>(bytes + 48);
  header.geometry = {load<uint32_t>(bytes + 56),
                     load<uint32_t>(bytes + 60),
                     /*rewards=*/0,
                     load<uint32_t>(bytes + 64),
                     bytes[70],
                     bytes[71],
                     /*age_bytes=*/0};
  return header;
}

}  // namespace

Format1::Format1(const Directory &directory)
    : log_(directory, kLogFile, Open::kRead), file_bytes_(log_.size()) {
  const Acked acked(directory, /*read_only=*/true);
  if (acked.is_lost())
    throw Failure(CDB_CORRUPT, kAckedFile, "damaged or missing",
                  "repair it with the cdb that wrote it");
  acked_bytes_ = acked.length(0);
  epoch_ = acked.epoch();
}

void Format1::next(uint64_t max_coins) {
  blocks_.clear();
  while (read_record()) {
    const size_t coins = blocks_.confirm_count() + blocks_.spends.size() / kNameBytes;
    if (coins + blocks_.indices.size() >= max_coins) return;
  }
  check_end();
}

bool Format1::read_record() {
  if (file_bytes_ - offset_ < kHeaderBytes) return false;
  record_.resize(kHeaderBytes);
  log_.read(record_.data(), kHeaderBytes, offset_);
  const RecordHeader header = header_of(record_.data());
  if (!may_follow(header)) return false;
  record_.resize(header.length);
  log_.read(record_.data(), header.length, offset_);
  if (header.checksum != checksum(record_.data() + 8, header.length - 8, offset_) ||
      !append_block(header, record_.data(), {}, &blocks_))
    return false;
  offset_ += header.length;
  rows_ += header.geometry.coins;
  last_checksum_ = header.checksum;
  return true;
}

bool Format1::may_follow(const RecordHeader &header) const {
  const bool was_rewound = offset_ >= acked_bytes_ && header.epoch < epoch_;
  return header.magic == kMagic && load<uint16_t>(record_.data() + 68) == kVersion &&
         header.geometry.is_sound() && header.geometry.length() == header.length &&
         header.length <= file_bytes_ - offset_ && header.previous_checksum == last_checksum_ &&
         header.first_row == rows_ && !was_rewound;
}

// A log that was closed has zeros behind its last record.
void Format1::check_end() const {
  if (offset_ < acked_bytes_) throw corrupt(kLogFile, "damaged").at(offset_);
  Bytes piece;
  for (uint64_t from = offset_; from < file_bytes_; from += piece.size()) {
    piece.resize(std::min(kPieceBytes, file_bytes_ - from));
    log_.read(piece.data(), piece.size(), from);
    if (std::any_of(piece.begin(), piece.end(), [](uint8_t byte) { return byte != 0; }))
      throw Failure(CDB_CORRUPT, kLogFile, "torn or damaged",
                    "open it once with the cdb that wrote it, which mends what a crash has left")
          .at(offset_);
  }
}

}  // namespace cdb::coin_log
