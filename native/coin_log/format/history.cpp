#include "coin_log/format/history.h"

#include "common/checksum.h"
#include "common/fault_points.h"
#include "coin_log/format/failure.h"

namespace cdb::coin_log {

namespace {

constexpr size_t kSectionBytes = 40, kLineBytes = 24;
constexpr uint32_t kSectionMagic = 0x33484c43;  // "CLH3"

void write_line(const BlockLine &line, uint8_t *to) {
  store(to, line.index);
  write_geometry(line.geometry, to + 4);
}

// next: where the block begins; then, where the one behind it does.
BlockLine read_line(const uint8_t *from, BlockPlace *next) {
  const Geometry geometry = read_geometry(from + 4);
  const BlockLine line = {next->offset, load<uint32_t>(from), static_cast<uint32_t>(next->row),
                          geometry};
  next->offset += geometry.length();
  next->row += geometry.coins;
  return line;
}

void read_rows(const uint8_t *from, uint64_t n, std::vector<uint32_t> *rows) {
  rows->resize(n);
  if (n > 0) std::memcpy(rows->data(), from, 4 * n);
}

void write_rows(const std::vector<uint32_t> &rows, uint8_t *to) {
  if (!rows.empty()) std::memcpy(to, rows.data(), 4 * rows.size());
}

SectionPlace parse(const std::string &file, const uint8_t *from, uint64_t available,
                   uint64_t offset, uint64_t seed, BlockPlace *next, Section *section) {
  if (available < kSectionBytes || load<uint32_t>(from + 8) != kSectionMagic)
    throw corrupt_derived(file);
  section->first_block = load<uint64_t>(from + 16);
  const uint64_t early = load<uint32_t>(from + 12);
  const uint64_t blocks = load<uint64_t>(from + 24), spends = load<uint64_t>(from + 32);
  if (blocks > available / kLineBytes || spends > available / 4) throw corrupt_derived(file);
  const uint64_t length = kSectionBytes + kLineBytes * blocks + 4 * (spends + early);
  if (length > available || load<uint64_t>(from) != checksum(from + 8, length - 8, seed))
    throw corrupt_derived(file);
  const uint8_t *line = from + kSectionBytes;
  section->blocks.reserve(blocks);
  uint64_t spent_by_blocks = 0;
  for (uint64_t i = 0; i < blocks; ++i, line += kLineBytes) {
    section->blocks.push_back(read_line(line, next));
    spent_by_blocks += section->blocks.back().geometry.spends;
  }
  if (spent_by_blocks != spends) throw corrupt_derived(file);
  read_rows(line, spends, &section->spent_rows);
  read_rows(line + 4 * spends, early, &section->early_rows);
  return {offset, length, section->first_block, seed, load<uint64_t>(from)};
}

}  // namespace

std::string history_file(uint64_t number) { return numbered_file("history", number); }

SectionPlace write_section(const Directory &directory, const std::string &file,
                           const Section &section, uint64_t offset, uint64_t seed) {
  const size_t spent_at = kSectionBytes + kLineBytes * section.blocks.size();
  const size_t early_at = spent_at + 4 * section.spent_rows.size();
  Bytes bytes(early_at + 4 * section.early_rows.size());
  uint8_t *const to = bytes.data();
  store(to + 8, kSectionMagic);
  store(to + 12, static_cast<uint32_t>(section.early_rows.size()));
  store(to + 16, section.first_block);
  store(to + 24, uint64_t{section.blocks.size()});
  store(to + 32, uint64_t{section.spent_rows.size()});
  uint8_t *line = to + kSectionBytes;
  for (const BlockLine &block : section.blocks) {
    write_line(block, line);
    line += kLineBytes;
  }
  write_rows(section.spent_rows, to + spent_at);
  write_rows(section.early_rows, to + early_at);
  const uint64_t sum = checksum(to + 8, bytes.size() - 8, seed);
  store(to, sum);
  File written(directory, file, Open::kCreate);
  written.write(bytes.data(), bytes.size(), offset);
  if (!CDB_FAULT("history-not-synced")) written.sync();
  return {offset, bytes.size(), section.first_block, seed, sum};
}

void read_sections(const Directory &directory, const std::string &file, uint64_t n,
                   BlockPlace *next,
                   const std::function<void(const SectionPlace &, Section)> &each) {
  if (n == 0) return;
  const File sections(directory, file, Open::kRead);
  if (sections.size() < n) throw corrupt_derived(file);
  Bytes bytes(n);
  sections.read(bytes.data(), n, 0);
  uint64_t seed = 0;
  for (uint64_t offset = 0; offset < n;) {
    Section section;
    const SectionPlace place =
        parse(file, bytes.data() + offset, n - offset, offset, seed, next, &section);
    offset += place.length;
    seed = place.checksum;
    each(place, std::move(section));
  }
}

std::vector<uint32_t> read_spent_rows(const Directory &directory, const std::string &file,
                                      const SectionPlace &place) {
  const File sections(directory, file, Open::kRead);
  Bytes bytes(place.length);
  sections.read(bytes.data(), place.length, place.offset);
  BlockPlace first;
  Section section;
  parse(file, bytes.data(), place.length, place.offset, place.seed, &first, &section);
  return section.spent_rows;
}

void erase_behind_sections(const Directory &directory, const std::string &file, uint64_t n) {
  if (!exists(directory, file)) return;
  File(directory, file, Open::kCreate).erase_from(n);
}

}  // namespace cdb::coin_log
