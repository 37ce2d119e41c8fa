// The layouts that there are, by name.
#pragma once

#include "dual_timeline.h"
#include "interval.h"
#include "issue_196.h"
#include "mono_space.h"
#include "option_1.h"
#include "options.h"

#include <memory>

namespace cdb::layouts {

using Make = std::unique_ptr<Layout> (*)(const Options &);

template <typename Made>
std::unique_ptr<Layout> make(const Options &options) {
  return std::make_unique<Made>(options);
}

struct Named {
  std::string_view name;
  Make make;
};

constexpr Named kLayouts[] = {
    {"interval", make<Interval>},          {"mono_space", make<MonoSpace>},
    {"dual_timeline", make<DualTimeline>}, {"option_1", make<Option1>},
    {"issue_196", make<Issue196>},
};

inline std::unique_ptr<Layout> layout_of(const Options &options) {
  for (const Named &each : kLayouts)
    if (each.name == options.layout()) return each.make(options);
  throw cdb::Failure(CDB_INVALID, "", "no layout " + std::string(options.layout()));
}

}  // namespace cdb::layouts
