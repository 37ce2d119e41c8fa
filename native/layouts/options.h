// A layout with its options, as text: "mono_space,name32=yes".
#pragma once

#include "common/option_text.h"

namespace cdb::layouts {

class Options : public OptionText {
 public:
  using OptionText::OptionText;
  std::string_view layout() const { return lead(); }
};

}  // namespace cdb::layouts
