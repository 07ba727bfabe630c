// What bash completes behind the names of the tools.
#ifndef VX_TOOLS_HELP_PAGES_COMPLETION_H
#define VX_TOOLS_HELP_PAGES_COMPLETION_H

#include "help_text.h"

#include <utility>

namespace vx::tools {

// One script for all of them, `vx` with its verbs among them.
std::string bashCompletion(const std::vector<std::pair<std::string, HelpText>> &tools);

} // namespace vx::tools

#endif
