// A page of the manual, from a tool's --help.
#ifndef VX_TOOLS_HELP_PAGES_MAN_PAGE_H
#define VX_TOOLS_HELP_PAGES_MAN_PAGE_H

#include "help_text.h"

namespace vx::tools {

// Of section 1. `others` are the tools that it points to.
std::string manPage(const std::string &tool, const HelpText &help, const std::string &version,
                    const std::vector<std::string> &others);

} // namespace vx::tools

#endif
