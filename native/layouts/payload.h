// The option `payload`: what a row that says where a coin is holds of the coin itself.
//
//   place    nothing: its position leads to it, in its block
//   inline   its confirm, behind the row's numbers: parent (32), puzzle hash (32), amount (8)
//
// Spaces with rows of the one kind have other names than those with rows of the other.
#pragma once

#include "common/bytes.h"
#include "options.h"

namespace cdb::layouts {

class Payload {
 public:
  Payload() = default;  // place
  explicit Payload(const Options &options)
      : is_inline_(options.value("payload", "place") == "inline") {}

  bool is_inline() const { return is_inline_; }
  size_t n_bytes() const { return is_inline_ ? kConfirmBytes : 0; }
  // A space's name.
  const char *choose(const char *of_places, const char *of_confirms) const {
    return is_inline_ ? of_confirms : of_places;
  }

 private:
  bool is_inline_ = false;
};

}  // namespace cdb::layouts
