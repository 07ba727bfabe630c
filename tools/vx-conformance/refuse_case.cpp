// In a build without the compiler.
#include "case_compiler.h"

#include "command_line.h"
#include "reference_model.h"

namespace vx::tools {

std::vector<std::string> compilerTargets() { return {}; }

std::string compilerVersion() { return versionText(); }

std::string compilerFile() { return ""; }

void endOnCompilerFailure() {}

CompiledCase compileCase(const CaseRequest &, const std::string &, const std::vector<std::string> &, const char *) {
  throw workError("nothing is compiled in a build without the compiler");
}

std::unique_ptr<ReferenceModel> importReference(const std::string &, const std::string &, std::string &) {
  throw workError("nothing is imported in a build without the compiler");
}

} // namespace vx::tools
