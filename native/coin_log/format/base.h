// The base: the block table and the spent heights of all blocks but the newest, in a file that
// never changes, mapped. The history's sections tell what came since (history.h).
//
//     offset  bytes   content, little endian
//     0       8       checksum of all that follows up to the block table, seeded with the number
//     8       4       magic "CLB1"
//     12      4       count of early children E
//     16      8       count of blocks B
//     24      8       count of their coins R
//     32      8       count of their spends
//     40      8       where the log goes on behind them
//     48      4·E     rows of their early children (rules/parents.h), ascending
//             4·⌈R/64⌉       the block of each 64th row (kHintRows)
//             24·⌈B/128⌉     of each page of the block table: where its first record begins (8),
//                            its first row (4) and block index (4); its checksum (8)
//             16·⌈R/1024⌉    of each segment: where it ends in the file (8); its checksum (8)
//             zeros up to a multiple of 4096; what follows is mapped:
//             4096·⌈B/128⌉   the block table
//             …              the segments
//
// A page of the block table has 128 lines, the last one zeros behind its lines: block index (4),
// the record's geometry (19), and how far behind the page's first ones the record (5) and its first
// row (4) are.
//
// A segment is of 1,024 rows, or fewer in the last one:
//
//     0       16·16   of each group of 64 rows: a bit for each, whether it is spent (8); the least
//                     index that spends one of them (4); the first bit of what follows (3); W (1)
//     256     …       of each spent row, W bits: the index that spends it, less the least; then 8
//                     bytes of zeros, and those up to a multiple of 8
//
// Pages and segments are checked when they are first read. The head vouches for all of them.
#pragma once

#include "coin_log/format/checked.h"
#include "coin_log/format/history.h"

namespace cdb::coin_log {

// As the manifest names it; number 0: there is none. checksum: its first 8 bytes. head_bytes: up to
// the block table.
struct BaseName {
  uint64_t number = 0, checksum = 0, head_bytes = 0;
};

std::string base_file(uint64_t number);

// Where to look for a row's block: of each so many rows the first one's is known.
constexpr uint32_t kHintRows = 64;

// What it has beside blocks and spends.
struct BaseLists {
  std::vector<uint32_t> early_rows, block_hints;  // block_hints: of each kHintRows-th row
};

class Base {
 public:
  static constexpr size_t kPageBytes = 4096, kLineBytes = 32, kPageLines = 128;
  static constexpr size_t kSegmentRows = 1024, kGroupRows = 64, kGroupBytes = 16;
  // Of a page of the block table: its first block, and the page's checksum.
  struct Page {
    uint64_t offset;
    uint32_t first_row, index;
    uint64_t checksum;
  };
  struct Segment {
    uint64_t end;  // in the file
    uint64_t checksum;
  };

  // lists: is set, unless it is null.
  Base(const Directory &directory, const BaseName &name, BaseLists *lists = nullptr);

  const BaseName &name() const { return name_; }
  size_t blocks() const { return blocks_; }
  uint32_t rows() const { return rows_; }
  uint64_t spends() const { return spends_; }
  uint64_t end() const { return end_; }  // where the log goes on behind its blocks

  BlockLine line(size_t block) const;
  uint32_t first_row(size_t block) const;
  uint32_t index(size_t block) const { return load<uint32_t>(page_of(block) + line_at(block)); }
  void prefetch_line(size_t block) const {
    const uint8_t *const line = file_->data() + page_at(block / kPageLines) + line_at(block);
    prefetch(line);
    prefetch(line + 64);  // the row may be of one of the next blocks
  }
  // How many blocks begin before an offset of the log; how many have an index up to this one.
  size_t before(uint64_t offset) const;
  size_t up_to(int64_t block_index) const;

  // The index of the block that spends the row's coin; 0: none of these does.
  uint32_t spent(uint32_t row) const;
  // First the one, and some time later the other.
  void prefetch_group(uint32_t row) const { prefetch(group(row)); }
  void prefetch_spent(uint32_t row) const;

  // Read all of it, also what was checked.
  void check_all() const;

 private:
  static size_t line_at(size_t block) { return kLineBytes * (block % kPageLines); }
  const uint8_t *group(uint32_t row) const {
    return file_->data() + begin_of(row / kSegmentRows) +
           kGroupBytes * (row % kSegmentRows / kGroupRows);
  }
  uint64_t page_at(size_t number) const { return pages_at_ + kPageBytes * number; }
  uint64_t begin_of(size_t segment) const {
    return segment == 0 ? page_at(pages_.size()) : segments_[segment - 1].end;
  }
  // The page with the block's line, and the segment, once they are checked.
  const uint8_t *page_of(size_t block) const;
  const uint8_t *segment(size_t number) const;
  void check_page(size_t number) const;
  void check_segment(size_t number) const;
  void read_head(BaseLists *lists);
  void check_places() const;
  Page behind(size_t page) const;
  // How many blocks come before the first that is_behind: given its line, or the page that it
  // begins.
  template <typename IsBehind>
  size_t count_before(IsBehind is_behind) const;

  BaseName name_;
  std::unique_ptr<Mapping> file_;
  size_t blocks_ = 0;
  uint32_t rows_ = 0;
  uint64_t spends_ = 0, end_ = 0, pages_at_ = 0;
  std::vector<Page> pages_;
  std::vector<Segment> segments_;
  mutable Checked checked_pages_, checked_segments_;
};

// What a base is made of. blocks: how many. rows: of their coins. line: of a block. spent: sets
// the indices that spend n rows, from first on; those of later blocks count as 0.
struct BaseContent {
  size_t blocks;
  uint32_t rows;
  uint64_t spends, end;
  std::vector<uint32_t> early_rows;
  const std::vector<uint32_t> &block_hints;
  std::function<BlockLine(size_t block)> line;
  std::function<void(uint32_t first, size_t n, uint32_t *indices)> spent;
};

// Write a base, durably.
BaseName write_base(const Directory &directory, uint64_t number, const BaseContent &content);

}  // namespace cdb::coin_log
