// The replay scanner: what it gives is whole, in order and within its arrays, doesn't depend on how
// the text is cut, stops where it is told to, and is read back from canonical text.
//
// The input is replay text. tests/fuzz/ holds the same inputs against cdb/text/replay.py.

#include "scan/cdb_scan_api.h"

#include "common/bytes.h"
#include "scratch.h"

#include <cstring>
#include <string>
#include <vector>

namespace {

using Text = std::vector<uint8_t>;

struct Scan {
  std::vector<uint64_t> indices, timestamps, spend_ends, confirm_ends;
  std::vector<cdb_hash> spends, names;
  std::vector<cdb_coin> confirms;
  size_t text_bytes = 0, lines = 0;
  cdb_scan_status status = CDB_SCAN_MORE;

  int64_t newest_index(int64_t before) const {
    return indices.empty() ? before : static_cast<int64_t>(indices.back());
  }
};

template <typename Entry>
void require_sorted(const std::vector<Entry> &entries, size_t begin, size_t end) {
  for (size_t i = begin + 1; i < end; ++i)
    require(std::memcmp(&entries[i - 1], &entries[i], sizeof(Entry)) <= 0, "entries are sorted");
}

void check(const Scan &found, size_t text_bytes, int64_t newest_index) {
  require(found.text_bytes <= text_bytes, "no more text is scanned than there is");
  require(found.status != CDB_SCAN_END || found.text_bytes == text_bytes, "the end is the end");
  size_t spends = 0, confirms = 0;
  for (size_t i = 0; i < found.indices.size(); ++i) {
    require(static_cast<int64_t>(found.indices[i]) > newest_index, "indices rise");
    newest_index = static_cast<int64_t>(found.indices[i]);
    require(found.spend_ends[i] >= spends && found.confirm_ends[i] >= confirms, "ends rise");
    require_sorted(found.spends, spends, static_cast<size_t>(found.spend_ends[i]));
    require_sorted(found.confirms, confirms, static_cast<size_t>(found.confirm_ends[i]));
    spends = static_cast<size_t>(found.spend_ends[i]);
    confirms = static_cast<size_t>(found.confirm_ends[i]);
  }
}

// `text` and all arrays are as long as they must be, for AddressSanitizer to see a step beyond.
Scan scan(const Text &text, bool last, int64_t newest_index, uint64_t max_blocks) {
  Scan found;
  const size_t blocks = text.size() / CDB_BLOCK_LINE_BYTES + 1;
  const size_t spends = text.size() / CDB_SPEND_LINE_BYTES + 1;
  const size_t confirms = text.size() / CDB_CONFIRM_LINE_BYTES + 1;
  for (auto *array : {&found.indices, &found.timestamps, &found.spend_ends, &found.confirm_ends})
    array->resize(blocks);
  found.spends.resize(spends);
  found.confirms.resize(confirms);
  found.names.resize(confirms);

  const cdb_scan_input input{text.data(), text.size(), last ? 1 : 0, newest_index, max_blocks};
  cdb_scan_output output{found.indices.data(),
                         found.timestamps.data(),
                         found.spend_ends.data(),
                         found.confirm_ends.data(),
                         found.spends.data(),
                         found.confirms.data(),
                         found.names.data(),
                         0,
                         0,
                         0};
  found.status = cdb_scan(&input, &output);
  found.text_bytes = output.text_bytes;
  found.lines = output.lines;

  require(output.blocks <= blocks, "blocks fit");
  const size_t n = output.blocks;
  for (auto *array : {&found.indices, &found.timestamps, &found.spend_ends, &found.confirm_ends})
    array->resize(n);
  require(n == 0 || found.spend_ends.back() <= spends, "spends fit");
  require(n == 0 || found.confirm_ends.back() <= confirms, "confirms fit");
  found.spends.resize(n == 0 ? 0 : static_cast<size_t>(found.spend_ends.back()));
  found.confirms.resize(n == 0 ? 0 : static_cast<size_t>(found.confirm_ends.back()));
  found.names.resize(found.confirms.size());
  check(found, text.size(), newest_index);
  return found;
}

Text part(const Text &text, size_t begin, size_t end) {
  return {text.begin() + static_cast<ptrdiff_t>(begin), text.begin() + static_cast<ptrdiff_t>(end)};
}

template <typename Entry>
void append(std::vector<Entry> *entries, const std::vector<Entry> &more) {
  entries->insert(entries->end(), more.begin(), more.end());
}

// The text in two pieces, as a caller scans it.
Scan scan_in_two(const Text &text, size_t cut) {
  Scan found = scan(part(text, 0, cut), /*last=*/false, -1, UINT64_MAX);
  require(found.status == CDB_SCAN_MORE || found.status == CDB_SCAN_UNCLEAN, "more is to come");
  if (found.status == CDB_SCAN_UNCLEAN) return found;
  const Scan rest = scan(part(text, found.text_bytes, text.size()), /*last=*/true,
                         found.newest_index(-1), UINT64_MAX);
  append(&found.indices, rest.indices);
  append(&found.timestamps, rest.timestamps);
  for (const uint64_t end : rest.spend_ends) found.spend_ends.push_back(found.spends.size() + end);
  for (const uint64_t end : rest.confirm_ends)
    found.confirm_ends.push_back(found.confirms.size() + end);
  append(&found.spends, rest.spends);
  append(&found.confirms, rest.confirms);
  append(&found.names, rest.names);
  found.text_bytes += rest.text_bytes;
  found.lines += rest.lines;
  found.status = rest.status;
  return found;
}

template <typename Entry>
bool equal(const std::vector<Entry> &a, const std::vector<Entry> &b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Entry)) == 0);
}

void require_same_blocks(const Scan &a, const Scan &b) {
  require(a.indices == b.indices && a.timestamps == b.timestamps, "blocks are the same");
  require(a.spend_ends == b.spend_ends && equal(a.spends, b.spends), "spends are the same");
  require(a.confirm_ends == b.confirm_ends && equal(a.confirms, b.confirms),
          "confirms are the same");
  require(equal(a.names, b.names), "names are the same");
}

void require_same(const Scan &a, const Scan &b) {
  require_same_blocks(a, b);
  require(a.text_bytes == b.text_bytes && a.lines == b.lines, "places are the same");
  require(a.status == b.status, "statuses are the same");
}

void append_hex(std::string *text, const cdb_hash &hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const uint8_t byte : hash.bytes) {
    text->push_back(kDigits[byte >> 4]);
    text->push_back(kDigits[byte & 15]);
  }
}

Text canonical(const Scan &found) {
  std::string text;
  size_t spend = 0, confirm = 0;
  for (size_t i = 0; i < found.indices.size(); ++i) {
    text += "B " + std::to_string(found.indices[i]) + " " + std::to_string(found.timestamps[i]) +
            " " + std::to_string(found.spend_ends[i] - spend) + " " +
            std::to_string(found.confirm_ends[i] - confirm) + "\n";
    for (; spend < found.spend_ends[i]; ++spend) {
      text += "S ";
      append_hex(&text, found.spends[spend]);
      text += "\n";
    }
    for (; confirm < found.confirm_ends[i]; ++confirm) {
      text += "C ";
      append_hex(&text, found.confirms[confirm].parent);
      text += " ";
      append_hex(&text, found.confirms[confirm].puzzle_hash);
      text += " " + std::to_string(cdb::load_big_endian(found.confirms[confirm].amount)) + "\n";
    }
  }
  return {text.begin(), text.end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  const Text text(data, data + bytes);
  const Scan whole = scan(text, /*last=*/true, -1, UINT64_MAX);
  require(whole.status == CDB_SCAN_END || whole.status == CDB_SCAN_UNCLEAN, "nothing is to come");

  for (const size_t cut : {bytes / 3, bytes / 2, bytes - bytes / 8})
    require_same(scan_in_two(text, cut), whole);

  if (!whole.indices.empty()) {
    const size_t half = whole.indices.size() / 2;
    const Scan limited = scan(text, /*last=*/true, -1, whole.indices[half]);
    require(limited.status == CDB_SCAN_LIMIT && limited.indices.size() == half,
            "the limit is kept");
    const Scan late = scan(text, /*last=*/true, static_cast<int64_t>(whole.indices[0]), UINT64_MAX);
    require(late.status == CDB_SCAN_UNCLEAN && late.indices.empty(), "an old block is unclean");
  }

  const Text written = canonical(whole);
  const Scan again = scan(written, /*last=*/true, -1, UINT64_MAX);
  require(again.status == CDB_SCAN_END, "canonical text is of the language");
  require_same_blocks(again, whole);
  return 0;
}
