#include "coin_log/index/run.h"

#include "coin_log/format/failure.h"
#include "common/fault_points.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kHeadBytes = 40;
constexpr uint32_t kRunMagic = 0x33494c43;  // "CLI3"
constexpr uint8_t kLargeCount = 255;
constexpr size_t kLargeCountBytes = 4;  // behind that
constexpr size_t kLineBytes = 64;
constexpr size_t kChunkBytes = 4096, kSumBytes = 8;

RunShape shape_of(const uint8_t *head) {
  return RunShape::of_file(load<uint32_t>(head + 16), load<uint16_t>(head + 12));
}

uint64_t chunks_of(uint64_t entry_bytes) { return (entry_bytes + kChunkBytes - 1) / kChunkBytes; }

uint64_t sum_of(const uint8_t *chunk, size_t n, uint64_t number, uint64_t which) {
  return checksum(chunk, n, number << 32 ^ which);
}

// It vouches for the rest, and for its length: behind a file that was made longer there may be a
// hole of any size, which nobody is to read.
bool has_head(const Mapping &run, const RunName &name) {
  const uint8_t *const head = run.data();
  const uint64_t entry_bytes = kEntryBytes * uint64_t{name.entries};
  const uint64_t least = kHeadBytes + entry_bytes + kSumBytes * chunks_of(entry_bytes);
  if (run.size() < least || load<uint32_t>(head + 8) != kRunMagic ||
      load<uint64_t>(head) != name.checksum ||
      name.checksum != checksum(head + 8, kHeadBytes - 8, name.number) ||
      load<uint64_t>(head + 24) != name.entries || !shape_of(head).is_sound())
    return false;
  const uint64_t large_counts = name.entries / kLargeCount;
  return run.size() - least <= shape_of(head).buckets() + kLargeCountBytes * large_counts;
}

bool has_tail(const Mapping &run, const RunName &name) {
  const uint64_t at = kHeadBytes + kEntryBytes * uint64_t{name.entries};
  run.read_ahead(at, run.size());
  return load<uint64_t>(run.data() + 32) == checksum(run.data() + at, run.size() - at, name.number);
}

std::unique_ptr<Mapping> mapped(const Directory &directory, const RunName &name) {
  const File file(directory, run_file(name.number), Open::kRead);
  auto mapping = std::make_unique<Mapping>(file, file.size());
  if (!has_head(*mapping, name) || !has_tail(*mapping, name))
    throw corrupt_derived(run_file(name.number));
  return mapping;
}

}  // namespace

std::string run_file(uint64_t number) { return numbered_file("run", number); }

Run::Run(const Directory &directory, const RunName &name)
    : name_(name),
      mapping_(mapped(directory, name)),
      shape_(shape_of(mapping_->data())),
      entries_(mapping_->data() + kHeadBytes) {
  const size_t chunks = chunks_of(entry_bytes());
  const uint8_t *const end = mapping_->data() + mapping_->size() - kSumBytes * chunks;
  if (read_counts(place(name.entries), end) != end || starts_.back() != name.entries)
    throw corrupt_derived(run_file(name.number));
  sums_.resize(chunks);
  for (size_t i = 0; i < chunks; ++i) sums_[i] = load<uint64_t>(end + kSumBytes * i);
  checked_.resize(chunks);
}

const uint8_t *Run::read_counts(const uint8_t *from, const uint8_t *end) {
  const auto fail = [this] { throw corrupt_derived(run_file(name_.number)); };
  if (static_cast<size_t>(end - from) < shape_.buckets()) fail();
  starts_.resize(shape_.buckets() + 1);
  uint64_t start = 0;
  for (size_t bucket = 0; bucket < shape_.buckets(); ++bucket) {
    if (from == end) fail();
    uint64_t count = *from++;
    if (count == kLargeCount) {
      if (static_cast<size_t>(end - from) < kLargeCountBytes) fail();
      count = load<uint32_t>(from);
      from += kLargeCountBytes;
    }
    start += count;
    if (start > name_.entries) fail();
    starts_[bucket + 1] = static_cast<uint32_t>(start);
  }
  return from;
}

void Run::check_chunk(size_t chunk) const {
  const uint64_t offset = kChunkBytes * chunk;
  const size_t n = std::min<uint64_t>(kChunkBytes, entry_bytes() - offset);
  if (sum_of(entries_ + offset, n, name_.number, chunk) != sums_[chunk])
    throw corrupt_derived(run_file(name_.number));
  checked_.add(chunk);
}

void Run::check_bucket(size_t bucket) const {
  if (checked_.are_all() || starts_[bucket] == end(bucket)) return;
  const size_t last = (kEntryBytes * uint64_t{end(bucket)} - 1) / kChunkBytes;
  for (size_t chunk = kEntryBytes * uint64_t{starts_[bucket]} / kChunkBytes; chunk <= last; ++chunk)
    if (!checked_.has(chunk)) check_chunk(chunk);
}

void Run::check_all() const {
  mapping_->read_ahead(0, mapping_->size());
  for (size_t chunk = 0; chunk < sums_.size(); ++chunk) check_chunk(chunk);
}

// Where the key would be if keys were spread quite evenly.
size_t Run::guess(uint64_t bits) const {
  const size_t bucket = shape_.bucket(bits);
  const uint64_t n = starts_[bucket + 1] - starts_[bucket];
  return starts_[bucket] + (n * shape_.share(bits) >> 32);
}

void Run::prefetch_guess(uint64_t bits) const {
  const uint8_t *const middle = place(guess(bits));
  prefetch(middle - kLineBytes / 2);
  prefetch(middle + kLineBytes / 2);
}

void Run::announce(const uint64_t *bits, size_t n, ColdReads *cold_reads) const {
  const uint8_t *places[kGroup] = {};
  for (size_t i = 0; i < n; ++i) places[i] = place(guess(bits[i]));
  cold_reads->announce(places, n, kEntryBytes);
}

// From the guess outwards in steps that double: near it at once, and never worse than bisection.
size_t Run::seek(uint64_t bits, uint32_t first_row, uint64_t *probes) const {
  const size_t bucket = shape_.bucket(bits);
  check_bucket(bucket);
  const size_t first = starts_[bucket], last = end(bucket);
  const Entry wanted = shape_.entry(bits, first_row);
  size_t low = guess(bits), high = low;
  for (size_t step = 4; low > first && entry(low) >= wanted; step *= 2, ++*probes)
    low = low - first > step ? low - step : first;
  for (size_t step = 4; high < last && entry(high) < wanted; step *= 2, ++*probes)
    high = last - high > step ? high + step : last;
  for (; low < high; ++*probes) {
    const size_t middle = low + (high - low) / 2;
    if (entry(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <typename Visit>
void Run::visit_rows(uint64_t bits, uint32_t first_row, uint64_t *probes, Visit visit) const {
  const size_t last = end(shape_.bucket(bits));
  const Entry wanted = shape_.entry(bits, first_row);
  for (size_t n = seek(bits, first_row, probes); n < last; ++n, ++*probes)
    if (!shape_.have_same_key(entry(n), wanted) || !visit(shape_.row(entry(n)))) break;
}

uint32_t Run::find(uint64_t bits, uint64_t *probes) const {
  uint32_t found = kNoRow;
  visit_rows(bits, shape_.first_row(), probes, [&](uint32_t row) {
    found = row;
    return true;
  });
  return found;
}

void Run::find_all(uint64_t bits, std::vector<uint32_t> *rows, uint64_t *probes) const {
  find_between(bits, 0, kNoRow, rows, probes);
}

void Run::find_between(uint64_t bits, uint32_t first, uint32_t end, std::vector<uint32_t> *rows,
                       uint64_t *probes) const {
  if (!shape_.reaches(first)) return;
  visit_rows(bits, std::max(first, shape_.first_row()), probes, [&](uint32_t row) {
    if (row < end) rows->push_back(row);
    return row < end;
  });
}

RunBuilder::RunBuilder(const Directory &directory, uint64_t number, IndexOf index,
                       const RunShape &shape)
    : number_(number),
      index_(index),
      shape_(shape),
      buffer_(kBufferBytes + sizeof(Entry)),
      offset_(kHeadBytes),
      file_(directory, run_file(number), Open::kReplace) {
  counts_.reserve(shape.buckets());
}

void RunBuilder::end_bucket() {
  counts_.push_back(static_cast<uint8_t>(std::min<uint64_t>(count_, kLargeCount)));
  if (count_ >= kLargeCount) {
    counts_.resize(counts_.size() + kLargeCountBytes);
    store(counts_.data() + counts_.size() - kLargeCountBytes, static_cast<uint32_t>(count_));
  }
  n_ += count_;
  count_ = 0;
  ++bucket_;
}

void RunBuilder::write_buffer() {
  for (size_t at = 0; at < filled_; at += kChunkBytes) {
    const size_t n = std::min(kChunkBytes, filled_ - at);
    const uint64_t which = sums_.size() / kSumBytes;
    sums_.resize(sums_.size() + kSumBytes);
    store(sums_.data() + sums_.size() - kSumBytes, sum_of(&buffer_[at], n, number_, which));
  }
  write(buffer_.data(), filled_);
  filled_ = 0;
}

void RunBuilder::write(const uint8_t *bytes, size_t n) {
  file_.write(bytes, n, offset_);
  file_.start_writeback(offset_, n);
  offset_ += n;
}

RunName RunBuilder::finish() {
  while (bucket_ < shape_.buckets()) end_bucket();
  write_buffer();
  counts_.insert(counts_.end(), sums_.begin(), sums_.end());
  write(counts_.data(), counts_.size());
  uint8_t head[kHeadBytes] = {};
  store(head + 8, kRunMagic);
  store(head + 12, static_cast<uint16_t>(shape_.bucket_bits()));
  store(head + 16, shape_.first_row());
  store(head + 24, n_);
  store(head + 32, checksum(counts_.data(), counts_.size(), number_));
  const uint64_t sum = checksum(head + 8, kHeadBytes - 8, number_);
  store(head, sum);
  file_.write(head, kHeadBytes, 0);
  if (!CDB_FAULT("run-not-synced")) file_.sync();
  return {number_, static_cast<uint32_t>(n_), index_, sum};
}

}  // namespace cdb::coin_log
