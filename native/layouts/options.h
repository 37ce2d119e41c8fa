// A layout with its options, as text: "mono_space,payload=inline".
#pragma once

#include <string>
#include <string_view>

namespace cdb::layouts {

class Options {
 public:
  explicit Options(std::string_view text) : text_(text) {}

  std::string_view layout() const { return text_.substr(0, text_.find(',')); }
  // What an option says.
  std::string_view value(std::string_view option, std::string_view otherwise) const {
    const std::string lead = "," + std::string(option) + "=";
    const size_t at = text_.find(lead);
    if (at == std::string_view::npos) return otherwise;
    const std::string_view rest = text_.substr(at + lead.size());
    return rest.substr(0, rest.find(','));
  }

 private:
  std::string_view text_;
};

}  // namespace cdb::layouts
