// How much of a set of cases passes, by ops, modes and targets, as a page.
#ifndef VX_TOOLS_COVERAGE_PAGE_H
#define VX_TOOLS_COVERAGE_PAGE_H

#include "expected_list.h"

#include <string>
#include <vector>

namespace vx::tools {

struct CoveredCase {
  std::string name, op, set;
  bool hasConstants; // there is a model of Mode::Constant
};

// Markdown: a row for each set and each op, with how many of its cases pass in each mode on each target of which the
// list has something. The mode Constant has the cases with constants alone.
std::string coveragePage(const std::vector<CoveredCase> &cases, const ExpectedList &list,
                         const std::vector<std::string> &targets, const std::vector<Mode> &modes);

} // namespace vx::tools

#endif
