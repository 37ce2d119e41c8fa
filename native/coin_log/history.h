// The history file: what each checkpoint adds to the block table and the spent rows.
//
// Sections follow on each other:
//
//     offset       bytes   content, little endian
//     0            8       checksum of all that follows, seeded with the section's offset
//     8            4       magic "CLH1"
//     12           4       zero
//     16           8       first block: the table is cut here before this section is added
//     24           8       count of blocks B
//     32           8       count of spends S
//     40           32·B    block table: offset in the log (8), index (4), first row (4),
//                          counts of spends, explicit parents and coins (4 each), bytes of an
//                          amount (1), bytes of a parent's number (1), zeros (2)
//     40 + 32·B    4·S     the rows that these blocks spend, in their order
#pragma once

#include "file.h"
#include "record.h"

namespace coin_log {

constexpr const char *kHistoryFile = "derived/history";

// One line of the block table.
struct BlockLine {
  uint64_t offset;
  uint32_t index;
  uint32_t first_row;
  Geometry geometry;
};

struct Section {
  uint64_t first_block;
  std::vector<BlockLine> blocks;
  std::vector<uint32_t> spent_rows;
};

// Write a section at offset, durably; returns the offset behind it.
uint64_t write_section(const Directory &directory, const Section &section, uint64_t offset);

// The sections within the first n bytes.
std::vector<Section> read_sections(const Directory &directory, uint64_t n);

}  // namespace coin_log
