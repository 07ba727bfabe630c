// The verbs of `vx`, each of which is a tool.
#ifndef VX_TOOLS_VX_VERBS_H
#define VX_TOOLS_VX_VERBS_H

#include <span>
#include <string_view>

namespace vx::tools {

struct Verb {
  std::string_view words;    // "detect hardware"
  std::string_view tool;     // "vx-info"
  std::string_view argument; // before the user's own; empty: none
  std::string_view help;
};

std::span<const Verb> verbs();

} // namespace vx::tools

#endif
