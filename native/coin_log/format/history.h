// The history file: what each checkpoint adds to the block table and the spent rows of the base
// (base.h).
//
// Sections follow on each other:
//
//     offset       bytes   content, little endian
//     0            8       checksum of all that follows, seeded with that of the section before; 0
//     8            4       magic "CLH3"
//     12           4       count of early children E
//     16           8       first block: so many are in the sections before
//     24           8       count of blocks B
//     32           8       count of spends S
//     40           24·B    block table: index (4), counts of spends, explicit parents that stand
//                          whole, rewards' parents and coins (4 each), bytes of an amount (1), of
//                          a parent's number (1) and of a reward's age (1), zero (1)
//     40 + 24·B    4·S     the rows that these blocks spend, in their order
//     … + 4·S      4·E     the rows of their early children (rules/parents.h), ascending
//
// So the last section's checksum, which is in the manifest, vouches for all of them, and for their
// order.
#pragma once

#include "coin_log/format/file.h"
#include "coin_log/format/record.h"

#include <functional>

namespace cdb::coin_log {

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
  std::vector<uint32_t> early_rows;
};

// Where a block begins: its record in the log, and its coins.
struct BlockPlace {
  uint64_t offset = kLogHeadBytes;
  uint64_t row = 0;
};

std::string history_file(uint64_t number);

// Where the file has it. seed: the checksum of the section before.
struct SectionPlace {
  uint64_t offset, length;
  uint64_t first_block;
  uint64_t seed, checksum;
};

// Write a section at offset of a file, durably.
SectionPlace write_section(const Directory &directory, const std::string &file,
                           const Section &section, uint64_t offset, uint64_t seed);

// Calls each(place, section) for the sections within the first n bytes. next: where their blocks
// begin, and then where they end.
void read_sections(const Directory &directory, const std::string &file, uint64_t n,
                   BlockPlace *next,
                   const std::function<void(const SectionPlace &, Section)> &each);

// Those of one section.
std::vector<uint32_t> read_spent_rows(const Directory &directory, const std::string &file,
                                      const SectionPlace &place);

// What rewinds and crashes have left behind the first n bytes. Nobody would see damage there.
void erase_behind_sections(const Directory &directory, const std::string &file, uint64_t n);

}  // namespace cdb::coin_log
