// One case in this process: compiled to bytes, loaded from them, run, compared.
#ifndef VX_TOOLS_CASE_RUN_H
#define VX_TOOLS_CASE_RUN_H

#include "case_folder.h"

#include <functional>
#include <string>
#include <vector>

namespace vx::tools {

struct CaseRequest {
  CaseFolder folder;
  Mode mode = Mode::Static;
  std::vector<std::string> targets;
  std::vector<std::string> variants; // "cpu=avx512"
  std::string packInto;              // a folder for modules, in place of a run
  bool isPacked = false;             // its modules are there
};

// Calls `tell` once for each target, as soon as it is known what came of it.
void runCase(const CaseRequest &request, const std::function<void(const TargetOutcome &)> &tell);

} // namespace vx::tools

#endif
