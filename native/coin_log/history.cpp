#include "history.h"

#include "checksum.h"
#include "failure.h"

namespace coin_log {

namespace {

constexpr size_t kSectionBytes = 40, kLineBytes = 32;
constexpr uint32_t kSectionMagic = 0x31484c43;  // "CLH1"

void write_line(const BlockLine &line, uint8_t *to) {
  store(to, line.offset);
  store(to + 8, line.index);
  store(to + 12, line.first_row);
  store(to + 16, line.geometry.spends);
  store(to + 20, line.geometry.explicit_parents);
  store(to + 24, line.geometry.coins);
  to[28] = line.geometry.amount_bytes;
  to[29] = line.geometry.parent_bytes;
}

BlockLine read_line(const uint8_t *from) {
  return {load<uint64_t>(from), load<uint32_t>(from + 8), load<uint32_t>(from + 12),
          {load<uint32_t>(from + 16), load<uint32_t>(from + 20), load<uint32_t>(from + 24),
           from[28], from[29]}};
}

// Returns the bytes that the section takes.
uint64_t read_section(const uint8_t *from, uint64_t available, uint64_t offset, Section *section) {
  if (available < kSectionBytes || load<uint32_t>(from + 8) != kSectionMagic)
    throw corrupt_derived(kHistoryFile);
  section->first_block = load<uint64_t>(from + 16);
  const uint64_t blocks = load<uint64_t>(from + 24), spends = load<uint64_t>(from + 32);
  if (blocks > available / kLineBytes || spends > available / 4)
    throw corrupt_derived(kHistoryFile);
  const uint64_t length = kSectionBytes + kLineBytes * blocks + 4 * spends;
  if (length > available || load<uint64_t>(from) != checksum(from + 8, length - 8, offset))
    throw corrupt_derived(kHistoryFile);
  const uint8_t *line = from + kSectionBytes;
  for (uint64_t i = 0; i < blocks; ++i, line += kLineBytes)
    section->blocks.push_back(read_line(line));
  section->spent_rows.resize(spends);
  if (spends > 0) std::memcpy(section->spent_rows.data(), line, 4 * spends);
  return length;
}

}  // namespace

uint64_t write_section(const Directory &directory, const Section &section, uint64_t offset) {
  const size_t rows_at = kSectionBytes + kLineBytes * section.blocks.size();
  Bytes bytes(rows_at + 4 * section.spent_rows.size());
  uint8_t *const to = bytes.data();
  store(to + 8, kSectionMagic);
  store(to + 16, section.first_block);
  store(to + 24, uint64_t{section.blocks.size()});
  store(to + 32, uint64_t{section.spent_rows.size()});
  uint8_t *line = to + kSectionBytes;
  for (const BlockLine &block : section.blocks) {
    write_line(block, line);
    line += kLineBytes;
  }
  if (!section.spent_rows.empty())
    std::memcpy(to + rows_at, section.spent_rows.data(), 4 * section.spent_rows.size());
  store(to, checksum(to + 8, bytes.size() - 8, offset));
  File file(directory, kHistoryFile, Open::kCreate);
  file.write(bytes.data(), bytes.size(), offset);
  file.sync();
  return offset + bytes.size();
}

std::vector<Section> read_sections(const Directory &directory, uint64_t n) {
  if (n == 0) return {};
  const File file(directory, kHistoryFile, Open::kRead);
  if (file.size() < n) throw corrupt_derived(kHistoryFile);
  Bytes bytes(n);
  file.read(bytes.data(), n, 0);
  std::vector<Section> sections;
  for (uint64_t offset = 0; offset < n;) {
    sections.emplace_back();
    offset += read_section(bytes.data() + offset, n - offset, offset, &sections.back());
  }
  return sections;
}

}  // namespace coin_log
