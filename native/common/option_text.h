// Options as text behind what they are of: "mono_space,name32=yes".
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace cdb {

class OptionText {
 public:
  explicit OptionText(std::string_view text) : text_(text) {}

  // What stands before them.
  std::string_view lead() const { return text_.substr(0, text_.find(',')); }
  // What an option says.
  std::string_view value(std::string_view option, std::string_view otherwise) const {
    const std::string lead = "," + std::string(option) + "=";
    const size_t at = text_.find(lead);
    if (at == std::string_view::npos) return otherwise;
    const std::string_view rest = text_.substr(at + lead.size());
    return rest.substr(0, rest.find(','));
  }
  bool is_set(std::string_view option, bool otherwise) const {
    return value(option, otherwise ? "yes" : "no") == "yes";
  }
  uint64_t number(std::string_view option, uint64_t otherwise) const {
    const std::string_view text = value(option, "");
    std::from_chars(text.data(), text.data() + text.size(), otherwise);
    return otherwise;
  }

 private:
  std::string_view text_;
};

}  // namespace cdb
