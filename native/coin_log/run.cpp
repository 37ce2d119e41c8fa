#include "run.h"

#include "failure.h"

#include <algorithm>
#include <cstdio>

namespace coin_log {

namespace {

constexpr size_t kRunHeaderBytes = 32;
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr uint32_t kRunMagic = 0x31494c43;  // "CLI1"
constexpr size_t kLineEntries = 64 / sizeof(Entry);

size_t entries_at(const NameBits &bits) { return kRunHeaderBytes + 4 * bits.buckets(); }

void check(const uint8_t *bytes, uint64_t size, const RunName &name, const NameBits &bits) {
  const std::string file = run_file(name.number);
  if (size != entries_at(bits) + 8 * name.entries) throw corrupt_derived(file);
  const size_t head = entries_at(bits);
  if (load<uint64_t>(bytes) != checksum(bytes + 8, head - 8, name.number) ||
      load<uint64_t>(bytes + 24) != checksum(bytes + head, size - head, name.number))
    throw corrupt_derived(file);
  if (load<uint32_t>(bytes + 8) != kRunMagic || load<uint16_t>(bytes + 12) != bits.bucket_bits ||
      load<uint16_t>(bytes + 14) != bits.name_bits || load<uint64_t>(bytes + 16) != name.entries)
    throw corrupt_derived(file);
}

}  // namespace

std::string run_file(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "derived/run-%08llu", static_cast<unsigned long long>(number));
  return name;
}

Run::Run(const Directory &directory, const RunName &name, const NameBits &bits) : name_(name) {
  const File file(directory, run_file(name.number), Open::kRead);
  const uint64_t size = file.size();
  mapping_ = std::make_unique<Mapping>(file, size, true);
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
const Entry *Run::guess(const Slot &slot) const {
  const uint64_t start = starts_[slot.bucket];
  const uint64_t n = starts_[slot.bucket + 1] - start;
  return entries_ + start + (n * slot.key >> 32);
}

void Run::prefetch_guess(const Slot &slot) const {
  const Entry *const middle = guess(slot);
  prefetch(middle - kLineEntries / 2);
  prefetch(middle + kLineEntries / 2);
}

// From the guess outwards in steps that double: near it at once, and never worse than bisection.
void Run::find(const Slot &slot, uint32_t query, std::vector<Hit> *hits) const {
  const Entry *const first = begin(slot.bucket), *const last = end(slot.bucket);
  const Entry wanted = entry_of(slot.key, 0);
  const Entry *low = guess(slot), *high = low;
  for (ptrdiff_t step = 4; low > first && *low >= wanted; step *= 2)
    low = low - first > step ? low - step : first;
  for (ptrdiff_t step = 4; high < last && *high < wanted; step *= 2)
    high = last - high > step ? high + step : last;
  const Entry *found = std::lower_bound(low, high, wanted);
  for (; found < last && key_of(*found) == slot.key; ++found)
    hits->push_back({query, row_of(*found)});
}

RunBuilder::RunBuilder(const Directory &directory, uint64_t number, const NameBits &bits)
    : bits_(bits),
      number_(number),
      offset_(entries_at(bits)),
      head_(entries_at(bits)),
      entries_checksum_(number),
      file_(directory, run_file(number), Open::kReplace) {}

void RunBuilder::add_bucket(std::vector<Entry> *entries) {
  std::sort(entries->begin(), entries->end());
  store(head_.data() + kRunHeaderBytes + 4 * next_bucket_++,
        static_cast<uint32_t>(entries->size()));
  n_ += entries->size();
  const uint8_t *const bytes = reinterpret_cast<const uint8_t *>(entries->data());
  buffer_.insert(buffer_.end(), bytes, bytes + sizeof(Entry) * entries->size());
  if (buffer_.size() >= kBufferBytes) write_buffer();
}

void RunBuilder::write_buffer() {
  entries_checksum_.add(buffer_.data(), buffer_.size());
  file_.write(buffer_.data(), buffer_.size(), offset_);
  file_.start_writeback(offset_, buffer_.size());
  offset_ += buffer_.size();
  buffer_.clear();
}

RunName RunBuilder::finish() {
  write_buffer();
  store(head_.data() + 8, kRunMagic);
  store(head_.data() + 12, static_cast<uint16_t>(bits_.bucket_bits));
  store(head_.data() + 14, static_cast<uint16_t>(bits_.name_bits));
  store(head_.data() + 16, n_);
  store(head_.data() + 24, entries_checksum_.value());
  store(head_.data(), checksum(head_.data() + 8, head_.size() - 8, number_));
  file_.write(head_.data(), head_.size(), 0);
  file_.sync();
  return {number_, n_};
}

}  // namespace coin_log
