#include "run.h"

#include "failure.h"

#include <algorithm>
#include <cstdio>

namespace cdb::coin_log {

namespace {

constexpr size_t kRunHeaderBytes = 32;
constexpr size_t kBufferEntries = size_t{1} << 17;
constexpr uint32_t kRunMagic = 0x31494c43;  // "CLI1"
constexpr size_t kLineEntries = 64 / sizeof(Entry);

size_t entries_at(const NameBits &bits) { return kRunHeaderBytes + 4 * bits.buckets(); }

void check(const uint8_t *bytes, uint64_t size, const RunName &name, const NameBits &bits) {
  const std::string file = run_file(name.number);
  if (name.entries > UINT32_MAX || size != entries_at(bits) + 8 * name.entries)
    throw corrupt_derived(file);
  const size_t head = entries_at(bits);
  if (load<uint64_t>(bytes) != name.checksum ||
      name.checksum != checksum(bytes + 8, head - 8, name.number) ||
      load<uint64_t>(bytes + 24) != checksum(bytes + head, size - head, name.number))
    throw corrupt_derived(file);
  if (load<uint32_t>(bytes + 8) != kRunMagic || load<uint16_t>(bytes + 12) != bits.bucket_bits() ||
      load<uint16_t>(bytes + 14) != bits.name_bits() || load<uint64_t>(bytes + 16) != name.entries)
    throw corrupt_derived(file);
}

}  // namespace

std::string run_file(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "derived/run-%08llu", static_cast<unsigned long long>(number));
  return name;
}

Run::Run(const Directory &directory, const RunName &name, const NameBits &bits)
    : name_(name), bits_(bits) {
  const File file(directory, run_file(name.number), Open::kRead);
  const uint64_t size = file.size();
  mapping_ = std::make_unique<Mapping>(file, size);
  mapping_->read_ahead(0, size);
  const uint8_t *const bytes = mapping_->data();
  check(bytes, size, name, bits);
  starts_.resize(bits.buckets() + 1);
  uint64_t start = 0;
  for (size_t bucket = 0; bucket < bits.buckets(); ++bucket) {
    starts_[bucket] = static_cast<uint32_t>(start);
    start += load<uint32_t>(bytes + kRunHeaderBytes + 4 * bucket);
  }
  if (start != name.entries) throw corrupt_derived(file.name());
  starts_.back() = static_cast<uint32_t>(start);
  entries_ = reinterpret_cast<const Entry *>(bytes + entries_at(bits));
}

// Where the key would be if keys were spread quite evenly.
const Entry *Run::guess(uint64_t bits) const {
  const size_t bucket = bits_.bucket(bits);
  const uint64_t n = starts_[bucket + 1] - starts_[bucket];
  return entries_ + starts_[bucket] + (n * bits_.key(bits) >> 32);
}

void Run::prefetch_guess(uint64_t bits) const {
  const Entry *const middle = guess(bits);
  prefetch(middle - kLineEntries / 2);
  prefetch(middle + kLineEntries / 2);
}

void Run::announce(const uint64_t *bits, size_t n, ColdReads *cold_reads) const {
  const uint8_t *places[kGroup] = {};
  for (size_t i = 0; i < n; ++i) places[i] = reinterpret_cast<const uint8_t *>(guess(bits[i]));
  cold_reads->announce(places, n, sizeof(Entry));
}

// From the guess outwards in steps that double: near it at once, and never worse than bisection.
const Entry *Run::seek(uint64_t bits, uint64_t *probes) const {
  const size_t bucket = bits_.bucket(bits);
  const Entry *const first = begin(bucket), *const last = end(bucket);
  const Entry wanted = entry_of(bits_.key(bits), 0);
  const Entry *low = guess(bits), *high = low;
  for (ptrdiff_t step = 4; low > first && *low >= wanted; step *= 2, ++*probes)
    low = low - first > step ? low - step : first;
  for (ptrdiff_t step = 4; high < last && *high < wanted; step *= 2, ++*probes)
    high = last - high > step ? high + step : last;
  for (ptrdiff_t n = high - low; n > 0; n /= 2) ++*probes;
  return std::lower_bound(low, high, wanted);
}

uint32_t Run::find(uint64_t bits, uint64_t *probes) const {
  const Entry *const last = end(bits_.bucket(bits));
  uint32_t row = kNoRow;
  const Entry *entry = seek(bits, probes);
  for (; entry < last && key_of(*entry) == bits_.key(bits); ++entry, ++*probes)
    row = row_of(*entry);
  return row;
}

void Run::find_all(uint64_t bits, std::vector<uint32_t> *rows, uint64_t *probes) const {
  const Entry *const last = end(bits_.bucket(bits));
  const Entry *entry = seek(bits, probes);
  for (; entry < last && key_of(*entry) == bits_.key(bits); ++entry, ++*probes)
    rows->push_back(row_of(*entry));
}

RunBuilder::RunBuilder(const Directory &directory, uint64_t number, const NameBits &bits)
    : bits_(bits),
      number_(number),
      offset_(entries_at(bits)),
      counts_(bits.buckets()),
      entries_checksum_(number),
      file_(directory, run_file(number), Open::kReplace) {
  buffer_.reserve(kBufferEntries);
}

void RunBuilder::add(size_t bucket, Entry entry) {
  ++counts_[bucket];
  buffer_.push_back(entry);
  if (buffer_.size() == kBufferEntries) write_buffer();
}

void RunBuilder::write_buffer() {
  const uint8_t *const bytes = reinterpret_cast<const uint8_t *>(buffer_.data());
  const size_t n = sizeof(Entry) * buffer_.size();
  entries_checksum_.add(bytes, n);
  file_.write(bytes, n, offset_);
  file_.start_writeback(offset_, n);
  n_ += buffer_.size();
  offset_ += n;
  buffer_.clear();
}

RunName RunBuilder::finish() {
  write_buffer();
  Bytes head(entries_at(bits_));
  store(head.data() + 8, kRunMagic);
  store(head.data() + 12, static_cast<uint16_t>(bits_.bucket_bits()));
  store(head.data() + 14, static_cast<uint16_t>(bits_.name_bits()));
  store(head.data() + 16, n_);
  store(head.data() + 24, entries_checksum_.value());
  std::memcpy(head.data() + kRunHeaderBytes, counts_.data(), 4 * counts_.size());
  const uint64_t sum = checksum(head.data() + 8, head.size() - 8, number_);
  store(head.data(), sum);
  file_.write(head.data(), head.size(), 0);
  file_.sync();
  return {number_, n_, sum};
}

}  // namespace cdb::coin_log
