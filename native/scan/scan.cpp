// Replay text to packed blocks, behind cdb_scan.h.

#include "cdb_scan_api.h"

#include "common/bytes.h"
#include "common/coin_name.h"
#include "replay_text.h"

#include <algorithm>

using namespace cdb;

namespace {

struct Header {
  uint64_t index, timestamp, spends, confirms;
};

// By all bytes, eight at a time. (memcmp would be a call, and 5 % of the time of a scan.)
template <typename Entry>
bool less(const Entry &a, const Entry &b) {
  static_assert(sizeof(Entry) % 8 == 0);
  const auto *a_bytes = reinterpret_cast<const uint8_t *>(&a);
  const auto *b_bytes = reinterpret_cast<const uint8_t *>(&b);
  for (size_t i = 0; i < sizeof(Entry); i += 8) {
    const uint64_t a_number = load_big_endian(a_bytes + i);
    const uint64_t b_number = load_big_endian(b_bytes + i);
    if (a_number != b_number) return a_number < b_number;
  }
  return false;
}

class Scanner {
 public:
  Scanner(const cdb_scan_input &input, cdb_scan_output *output)
      : input_(input),
        output_(*output),
        text_(input.text, input.text_bytes, input.last != 0),
        newest_index_(input.newest_index) {
    output_.blocks = 0;
  }

  cdb_scan_status scan_blocks();
  void name_confirms() {
    name_coins(reinterpret_cast<const uint8_t *>(output_.confirms), confirms_,
               reinterpret_cast<uint8_t *>(output_.names));
  }

 private:
  cdb_scan_status stuck() const;
  bool take(Header *header);
  bool take(cdb_hash *spend);
  bool take(cdb_coin *confirm);
  template <typename Entry>
  bool take_sorted(uint64_t n, Entry *entries);
  void append(const Header &header);

  const cdb_scan_input &input_;
  cdb_scan_output &output_;
  ReplayText text_;
  int64_t newest_index_;
  uint64_t spends_ = 0;  // of whole blocks
  uint64_t confirms_ = 0;
};

cdb_scan_status Scanner::scan_blocks() {
  for (;;) {
    output_.text_bytes = text_.bytes();
    output_.lines = text_.lines();
    if (text_.at_end()) return input_.last != 0 ? CDB_SCAN_END : CDB_SCAN_MORE;
    if (!text_.sees('B')) {
      if (!text_.take_blank_or_comment()) return stuck();
      continue;
    }
    Header header{};
    if (!take(&header)) return stuck();
    if (header.index >= input_.max_blocks) return CDB_SCAN_LIMIT;
    if (!take_sorted(header.spends, output_.spends + spends_)) return stuck();
    if (!take_sorted(header.confirms, output_.confirms + confirms_)) return stuck();
    append(header);
  }
}

cdb_scan_status Scanner::stuck() const {
  return text_.at_end() && input_.last == 0 ? CDB_SCAN_MORE : CDB_SCAN_UNCLEAN;
}

// A line of code for each piece of a line of text.
// clang-format off
bool Scanner::take(Header *header) {
  return text_.take('B') &&
         text_.take(' ') && text_.take_number(UINT32_MAX, &header->index) &&
         text_.take(' ') && text_.take_number(UINT64_MAX, &header->timestamp) &&
         text_.take(' ') && text_.take_number(UINT32_MAX, &header->spends) &&
         text_.take(' ') && text_.take_number(UINT32_MAX, &header->confirms) &&
         text_.take_eol() && static_cast<int64_t>(header->index) > newest_index_;
}

bool Scanner::take(cdb_hash *spend) {
  return text_.take('S') && text_.take(' ') && text_.take_hash(spend) && text_.take_eol();
}

bool Scanner::take(cdb_coin *confirm) {
  uint64_t amount = 0;
  const bool taken = text_.take('C') &&
                     text_.take(' ') && text_.take_hash(&confirm->parent) &&
                     text_.take(' ') && text_.take_hash(&confirm->puzzle_hash) &&
                     text_.take(' ') && text_.take_number(UINT64_MAX, &amount) &&
                     text_.take_eol();
  store_big_endian(confirm->amount, amount);
  return taken;
}
// clang-format on

template <typename Entry>
bool Scanner::take_sorted(uint64_t n, Entry *entries) {
  bool sorted = true;
  for (uint64_t i = 0; i < n; ++i) {
    if (!take(&entries[i])) return false;
    if (i > 0 && less(entries[i], entries[i - 1])) sorted = false;
  }
  if (!sorted) std::sort(entries, entries + n, less<Entry>);
  return true;
}

void Scanner::append(const Header &header) {
  spends_ += header.spends;
  confirms_ += header.confirms;
  newest_index_ = static_cast<int64_t>(header.index);
  const size_t block = output_.blocks++;
  output_.indices[block] = header.index;
  output_.timestamps[block] = header.timestamp;
  output_.spend_ends[block] = spends_;
  output_.confirm_ends[block] = confirms_;
}

}  // namespace

cdb_scan_status cdb_scan(const cdb_scan_input *input, cdb_scan_output *output) {
  Scanner scanner(*input, output);
  const cdb_scan_status status = scanner.scan_blocks();
  scanner.name_confirms();
  return status;
}
