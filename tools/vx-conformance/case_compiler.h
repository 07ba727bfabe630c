// What the tool asks of the compiler. A build without it runs what another has compiled.
#ifndef VX_TOOLS_CASE_COMPILER_H
#define VX_TOOLS_CASE_COMPILER_H

#include "case_run.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vx::tools {

struct CompiledCase {
  enum class Result { Done, Unsupported, Failed };
  Result result = Result::Done;
  std::string errors; // "; " between them
  // The module: bytes, which `owner` keeps, or a file.
  std::shared_ptr<void> owner;
  std::span<const std::byte> bytes;
  std::string file;
};

// The targets that it has code for; none without a compiler.
std::vector<std::string> compilerTargets();

// What --version prints.
std::string compilerVersion();

// The path of the file that the compiler's code is in; empty without a compiler.
std::string compilerFile();

// Has the process end with a message where the compiler cannot go on.
void endOnCompilerFailure();

// Compiles `model`, of the request's folder, for `targets`; up to `stopAfter` where that is not null. Throws a
// ToolError (exit 1) without a compiler.
CompiledCase compileCase(const CaseRequest &request, const std::string &model, const std::vector<std::string> &targets,
                         const char *stopAfter);

} // namespace vx::tools

#endif
