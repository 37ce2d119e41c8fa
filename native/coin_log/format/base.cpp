#include "coin_log/format/base.h"

#include "coin_log/format/failure.h"
#include "common/checksum.h"
#include "common/fault_points.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kHeadBytes = 48, kPageEntryBytes = 24, kSegmentEntryBytes = 16;
constexpr uint32_t kBaseMagic = 0x31424c43;  // "CLB1"
constexpr size_t kGroups = Base::kSegmentRows / Base::kGroupRows;
constexpr size_t kIndicesAt = kGroups * Base::kGroupBytes;
constexpr size_t kSlackBytes = 8;
constexpr size_t kBufferBytes = size_t{1} << 20;

uint64_t seed(uint64_t number, uint64_t offset) { return number << 40 ^ offset; }

uint64_t parts(uint64_t n, uint64_t of) { return (n + of - 1) / of; }

// Where the block table begins: so long is its head.
struct Layout {
  uint64_t hints, pages, segments, pages_at;

  Layout(uint64_t blocks, uint64_t rows, uint64_t early)
      : hints(parts(rows, kHintRows)),
        pages(parts(blocks, Base::kPageLines)),
        segments(parts(rows, Base::kSegmentRows)),
        pages_at(parts(kHeadBytes + 4 * (early + hints) + kPageEntryBytes * pages +
                           kSegmentEntryBytes * segments,
                       Base::kPageBytes) *
                 Base::kPageBytes) {}
};

uint64_t segment_bytes(uint64_t index_bits) {
  return kIndicesAt + parts(parts(index_bits, 8) + kSlackBytes, 8) * 8;
}

// first: the line's page.
BlockLine read_line(const Base::Page &first, const uint8_t *from) {
  return {first.offset + load_narrow(from + 23, 5), load<uint32_t>(from),
          first.first_row + load<uint32_t>(from + 28), read_geometry(from + 4)};
}

void write_line(const Base::Page &first, const BlockLine &line, uint8_t *to) {
  const uint64_t behind = line.offset - first.offset;
  store(to, line.index);
  write_geometry(line.geometry, to + 4);
  std::memcpy(to + 23, &behind, 5);
  store(to + 28, line.first_row - first.first_row);
}

// 64 rows of a segment.
struct Group {
  uint64_t flags;
  uint32_t least, first_bit;
  unsigned width;

  size_t count() const { return static_cast<size_t>(__builtin_popcountll(flags)); }
  // Where the index of its n-th row is, which is spent.
  size_t bit_of(size_t n) const {
    const uint64_t before = flags & ((uint64_t{1} << n) - 1);
    return first_bit + static_cast<size_t>(__builtin_popcountll(before)) * width;
  }
};

Group read_group(const uint8_t *from) {
  const uint32_t bits = load<uint32_t>(from + 12);
  return {load<uint64_t>(from), load<uint32_t>(from + 8), bits & 0xffffff, bits >> 24};
}

void write_group(const Group &group, uint8_t *to) {
  store(to, group.flags);
  store(to + 8, group.least);
  store(to + 12, group.first_bit | group.width << 24);
}

unsigned bits_needed(uint32_t value) {
  return value == 0 ? 0 : 32U - static_cast<unsigned>(__builtin_clz(value));
}

// `at` goes on behind them.
void read_numbers(const uint8_t **at, uint64_t n, std::vector<uint32_t> *numbers) {
  numbers->resize(n);
  if (n > 0) std::memcpy(numbers->data(), *at, 4 * n);
  *at += 4 * n;
}

void write_numbers(const std::vector<uint32_t> &numbers, uint8_t **at) {
  if (!numbers.empty()) std::memcpy(*at, numbers.data(), 4 * numbers.size());
  *at += 4 * numbers.size();
}

Failure damaged(const BaseName &name) { return corrupt_derived(base_file(name.number)); }

}  // namespace

std::string base_file(uint64_t number) { return numbered_file("base", number); }

Base::Base(const Directory &directory, const BaseName &name, BaseLists *lists) : name_(name) {
  const File file(directory, base_file(name.number), Open::kRead);
  file_ = std::make_unique<Mapping>(file, file.size());
  BaseLists unwanted;
  read_head(lists == nullptr ? &unwanted : lists);
  check_places();
  checked_pages_.resize(pages_.size());
  checked_segments_.resize(segments_.size());
}

// The counts may be anything until the checksum has held. How much it is of, the manifest says:
// behind damaged counts there may be a hole of any size.
void Base::read_head(BaseLists *lists) {
  const uint8_t *at = file_->data();
  if (file_->size() < kHeadBytes || load<uint32_t>(at + 8) != kBaseMagic) throw damaged(name_);
  const uint64_t early = load<uint32_t>(at + 12);
  const uint64_t blocks = load<uint64_t>(at + 16), rows = load<uint64_t>(at + 24);
  if (blocks > file_->size() || rows > UINT32_MAX) throw damaged(name_);
  const Layout layout(blocks, rows, early);
  if (layout.pages_at != name_.head_bytes || layout.pages_at > file_->size() ||
      load<uint64_t>(at) != name_.checksum ||
      name_.checksum != checksum(at + 8, layout.pages_at - 8, name_.number))
    throw damaged(name_);
  blocks_ = blocks;
  rows_ = static_cast<uint32_t>(rows);
  spends_ = load<uint64_t>(at + 32);
  end_ = load<uint64_t>(at + 40);
  pages_at_ = layout.pages_at;
  at += kHeadBytes;
  read_numbers(&at, early, &lists->early_rows);
  read_numbers(&at, layout.hints, &lists->block_hints);
  for (const uint32_t block : lists->block_hints)
    if (block >= blocks_) throw damaged(name_);
  for (uint64_t i = 0; i < layout.pages; ++i, at += kPageEntryBytes)
    pages_.push_back({load<uint64_t>(at), load<uint32_t>(at + 8), load<uint32_t>(at + 12),
                      load<uint64_t>(at + 16)});
  for (uint64_t i = 0; i < layout.segments; ++i, at += kSegmentEntryBytes)
    segments_.push_back({load<uint64_t>(at), load<uint64_t>(at + 8)});
}

// They are within the file and in their order, so that nothing is read that is not there.
void Base::check_places() const {
  bool is_sound = blocks_ > 0 && pages_.front().offset == kLogHeadBytes;
  for (size_t page = 0; page < pages_.size(); ++page) {
    const Page &first = pages_[page], &next = behind(page);
    is_sound = is_sound && first.offset < next.offset && first.first_row <= next.first_row;
  }
  uint64_t end = page_at(pages_.size());
  for (const Segment &segment : segments_) {
    is_sound = is_sound && segment.end <= file_->size() && segment.end % 8 == 0 &&
               segment.end >= end + segment_bytes(0);
    end = segment.end;
  }
  if (!is_sound || end != file_->size()) throw damaged(name_);
}

const uint8_t *Base::page_of(size_t block) const {
  const size_t number = block / kPageLines;
  if (!checked_pages_.has(number)) check_page(number);
  return file_->data() + page_at(number);
}

// Of the last one: where the blocks end.
Base::Page Base::behind(size_t page) const {
  return page + 1 < pages_.size() ? pages_[page + 1] : Page{end_, rows_, UINT32_MAX, 0};
}

// Its lines follow on each other, and lead to the next page.
void Base::check_page(size_t number) const {
  const uint8_t *const page = file_->data() + page_at(number);
  const Page &first = pages_[number], &next = behind(number);
  bool is_sound = checksum(page, kPageBytes, seed(name_.number, page_at(number))) == first.checksum;
  uint64_t record = first.offset, row = first.first_row;
  int64_t newest = int64_t{first.index} - 1;
  const size_t lines = std::min(kPageLines, blocks_ - number * kPageLines);
  for (size_t i = 0; i < lines && is_sound; ++i) {
    const BlockLine line = read_line(first, page + line_at(i));
    is_sound = line.index > newest && line.index <= next.index && line.geometry.is_sound() &&
               line.offset == record && line.first_row == row;
    newest = line.index;
    record += line.geometry.length();
    row += line.geometry.coins;
  }
  if (!is_sound || record != next.offset || row != next.first_row) throw damaged(name_);
  checked_pages_.add(number);
}

BlockLine Base::line(size_t block) const {
  return read_line(pages_[block / kPageLines], page_of(block) + line_at(block));
}

uint32_t Base::first_row(size_t block) const {
  return pages_[block / kPageLines].first_row +
         load<uint32_t>(page_of(block) + line_at(block) + 28);
}

template <typename IsBehind>
size_t Base::count_before(IsBehind is_behind) const {
  const auto page = std::partition_point(pages_.begin(), pages_.end(),
                                         [&](const Page &each) { return !is_behind(each); });
  if (page == pages_.begin()) return 0;
  size_t low = static_cast<size_t>(page - pages_.begin() - 1) * kPageLines + 1;
  size_t high = std::min(low - 1 + kPageLines, blocks_);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (is_behind(line(middle)))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

size_t Base::before(uint64_t offset) const {
  return count_before([offset](const auto &each) { return each.offset >= offset; });
}

size_t Base::up_to(int64_t block_index) const {
  return count_before([block_index](const auto &each) { return each.index > block_index; });
}

const uint8_t *Base::segment(size_t number) const {
  if (!checked_segments_.has(number)) check_segment(number);
  return file_->data() + begin_of(number);
}

void Base::check_segment(size_t number) const {
  const uint64_t offset = begin_of(number), bytes = segments_[number].end - offset;
  const uint8_t *const segment = file_->data() + offset;
  bool is_sound =
      checksum(segment, bytes, seed(name_.number, offset)) == segments_[number].checksum;
  size_t bit = 0;
  for (size_t i = 0; i < kGroups; ++i) {
    const Group group = read_group(segment + kGroupBytes * i);
    is_sound = is_sound && group.first_bit == bit && group.width <= 32;
    bit += group.count() * group.width;
  }
  if (!is_sound || bytes != segment_bytes(bit)) throw damaged(name_);
  checked_segments_.add(number);
}

void Base::prefetch_spent(uint32_t row) const {
  const Group its = read_group(group(row));
  prefetch(file_->data() + begin_of(row / kSegmentRows) + kIndicesAt +
           its.bit_of(row % kGroupRows) / 8);
}

uint32_t Base::spent(uint32_t row) const {
  const uint8_t *const from = segment(row / kSegmentRows);
  const Group its = read_group(group(row));
  if ((its.flags >> row % kGroupRows & 1) == 0) return 0;
  const size_t bit = its.bit_of(row % kGroupRows);
  const uint64_t word = load<uint64_t>(from + kIndicesAt + bit / 8) >> bit % 8;
  return its.least + static_cast<uint32_t>(word & ((uint64_t{1} << its.width) - 1));
}

void Base::check_all() const {
  file_->read_ahead(0, file_->size());
  for (size_t page = 0; page < pages_.size(); ++page) check_page(page);
  for (size_t segment = 0; segment < segments_.size(); ++segment) check_segment(segment);
}

namespace {

// Behind its head, in order; the head last.
class BaseWriter {
 public:
  BaseWriter(const Directory &directory, uint64_t number, const BaseContent &content)
      : number_(number),
        content_(content),
        layout_(content.blocks, content.rows, content.early_rows.size()),
        at_(layout_.pages_at),
        file_(directory, base_file(number), Open::kReplace) {
    buffer_.reserve(kBufferBytes);
  }

  BaseName write() {
    for (size_t first = 0; first < content_.blocks; first += Base::kPageLines) add_page(first);
    for (uint64_t row = 0; row < content_.rows; row += Base::kSegmentRows)
      add_segment(static_cast<uint32_t>(row));
    write_out();
    const uint64_t sum = write_head();
    if (!CDB_FAULT("base-not-synced")) file_.sync();
    return {number_, sum, layout_.pages_at};
  }

 private:
  // n zeros, to be filled before the next ones are asked for.
  uint8_t *more(size_t n) {
    if (buffer_.size() + n > kBufferBytes) write_out();
    buffer_.resize(buffer_.size() + n);
    return buffer_.data() + buffer_.size() - n;
  }
  void write_out() {
    file_.write(buffer_.data(), buffer_.size(), at_);
    file_.start_writeback(at_, buffer_.size());
    at_ += buffer_.size();
    buffer_.clear();
  }
  // Of the last n bytes.
  uint64_t sum(const uint8_t *from, size_t n) const {
    return checksum(from, n, seed(number_, at_ + buffer_.size() - n));
  }

  void add_page(size_t first_block) {
    uint8_t *const page = more(Base::kPageBytes);
    const BlockLine line = content_.line(first_block);
    Base::Page first{line.offset, line.first_row, line.index, 0};
    const size_t end = std::min(first_block + Base::kPageLines, content_.blocks);
    for (size_t block = first_block; block < end; ++block)
      write_line(first, content_.line(block), page + Base::kLineBytes * (block - first_block));
    first.checksum = sum(page, Base::kPageBytes);
    pages_.push_back(first);
  }

  void add_segment(uint32_t first) {
    uint32_t indices[Base::kSegmentRows] = {};
    const size_t n = std::min<size_t>(Base::kSegmentRows, content_.rows - first);
    content_.spent(first, n, indices);
    Group groups[kGroups];
    uint32_t bit = 0;
    for (size_t i = 0; i < kGroups; ++i) {
      groups[i] = group_of(indices + Base::kGroupRows * i, bit);
      bit += static_cast<uint32_t>(groups[i].count() * groups[i].width);
    }
    const size_t bytes = segment_bytes(bit);
    uint8_t *const to = more(bytes);
    for (size_t i = 0; i < kGroups; ++i) {
      write_group(groups[i], to + Base::kGroupBytes * i);
      write_indices(groups[i], indices + Base::kGroupRows * i, to + kIndicesAt);
    }
    segments_.push_back({at_ + buffer_.size(), sum(to, bytes)});
  }

  static Group group_of(const uint32_t *indices, uint32_t first_bit) {
    uint64_t flags = 0;
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < Base::kGroupRows; ++i) {
      if (indices[i] == 0) continue;
      flags |= uint64_t{1} << i;
      least = std::min(least, indices[i]);
      most = std::max(most, indices[i]);
    }
    if (flags == 0) least = 0;
    return {flags, least, first_bit, bits_needed(most - least)};
  }

  static void write_indices(const Group &group, const uint32_t *indices, uint8_t *to) {
    size_t bit = group.first_bit;
    for (size_t i = 0; i < Base::kGroupRows; ++i) {
      if (indices[i] == 0) continue;
      uint8_t *const place = to + bit / 8;
      store(place, load<uint64_t>(place) | uint64_t{indices[i] - group.least} << bit % 8);
      bit += group.width;
    }
  }

  uint64_t write_head() {
    Bytes head(layout_.pages_at);
    uint8_t *at = head.data();
    store(at + 8, kBaseMagic);
    store(at + 12, static_cast<uint32_t>(content_.early_rows.size()));
    store(at + 16, uint64_t{content_.blocks});
    store(at + 24, uint64_t{content_.rows});
    store(at + 32, content_.spends);
    store(at + 40, content_.end);
    at += kHeadBytes;
    write_numbers(content_.early_rows, &at);
    for (uint64_t i = 0; i < layout_.hints; ++i, at += 4) store(at, content_.block_hints[i]);
    for (const Base::Page &page : pages_) {
      store(at, page.offset);
      store(at + 8, page.first_row);
      store(at + 12, page.index);
      store(at + 16, page.checksum);
      at += kPageEntryBytes;
    }
    for (const Base::Segment &segment : segments_) {
      store(at, segment.end);
      store(at + 8, segment.checksum);
      at += kSegmentEntryBytes;
    }
    const uint64_t sum = checksum(head.data() + 8, head.size() - 8, number_);
    store(head.data(), sum);
    file_.write(head.data(), head.size(), 0);
    return sum;
  }

  const uint64_t number_;
  const BaseContent &content_;
  const Layout layout_;
  uint64_t at_;  // in the file: where the buffer goes
  Bytes buffer_;
  std::vector<Base::Page> pages_;
  std::vector<Base::Segment> segments_;
  File file_;
};

}  // namespace

BaseName write_base(const Directory &directory, uint64_t number, const BaseContent &content) {
  return BaseWriter(directory, number, content).write();
}

}  // namespace cdb::coin_log
