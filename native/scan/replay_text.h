// The pieces that the lines of replay text are made of.
#pragma once

#include "cdb_scan_api.h"
#include "hex.h"

#include <algorithm>

// A place in replay text. The functions take_* move it behind a piece, or give false where there is
// no such piece; when the place is at the end then, that may be for want of text. None goes further
// than the longest piece of its kind is long.
class ReplayText {
 public:
  // last: nothing follows the text, so its last line needs no EOL.
  ReplayText(const uint8_t *text, size_t bytes, bool last)
      : begin_(text), at_(text), end_(text + bytes), last_(last) {}

  bool at_end() const { return at_ == end_; }
  bool sees(char byte) const { return at_ != end_ && *at_ == static_cast<uint8_t>(byte); }
  size_t bytes() const { return static_cast<size_t>(at_ - begin_); }  // before this place
  size_t lines() const { return lines_; }

  bool take(char byte) {
    if (!sees(byte)) return false;
    ++at_;
    return true;
  }

  bool take_hash(cdb_hash *hash) {
    if (end_ - at_ < kHashDigits) {
      at_ = end_;
      return false;
    }
    if (!decode_hex64(at_, hash)) return false;
    at_ += kHashDigits;
    return true;
  }

  // A decimal number of at most `limit`.
  bool take_number(uint64_t limit, uint64_t *number) {
    const uint8_t *at = at_;
    uint64_t value = 0;
    if (sees('0')) {
      ++at;
    } else {
      for (; at != end_ && *at >= '0' && *at <= '9'; ++at) {
        if (__builtin_mul_overflow(value, 10, &value)) return false;
        if (__builtin_add_overflow(value, *at - '0', &value)) return false;
      }
    }
    if (at == at_) return false;
    at_ = at;
    *number = value;
    return value <= limit;
  }

  // LF, CRLF, or the end of all text.
  bool take_eol() {
    if (!(last_ && at_end())) {
      take('\r');
      if (!take('\n')) return false;
    }
    ++lines_;
    return true;
  }

  bool take_blank_or_comment() {
    const uint8_t *const first = at_;
    if (sees('#')) take_printable();
    return at_ - first < kMaxLineBytes && take_eol() && at_ - first <= kMaxLineBytes;
  }

 private:
  static constexpr ptrdiff_t kHashDigits = 64;
  static constexpr ptrdiff_t kMaxLineBytes = 65'536;  // with its EOL, as in cdb/text/replay.py

  void take_printable() {
    const uint8_t *const stop = at_ + std::min(end_ - at_, kMaxLineBytes);
    while (at_ != stop && *at_ >= ' ' && *at_ <= '~') ++at_;
  }

  const uint8_t *const begin_;
  const uint8_t *at_;
  const uint8_t *const end_;
  const bool last_;
  size_t lines_ = 0;
};
