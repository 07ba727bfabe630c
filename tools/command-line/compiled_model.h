// A model where a tool wants a module: vx-compile makes the module, and it is kept for the next time.
#ifndef VX_TOOLS_COMPILED_MODEL_H
#define VX_TOOLS_COMPILED_MODEL_H

#include "temporary_folder.h"

#include <memory>
#include <string>
#include <vector>

namespace vx::tools {

// Whether the file of a command line is a model that vx-compile takes, by its name: .onnx or .mlir.
bool isModelFile(const std::string &path);

// The targets of devices ("auto", "cpu", "vulkan:1", ...), once each: of "auto" that of the first device of the usual
// order that is there, and of the null device, which runs any code, the CPU. With `fallsBack` the CPU is one of them.
std::vector<std::string> targetsOf(const std::vector<std::string> &devices, bool fallsBack);

// A module file, and the folder that it ends with where no cache keeps it.
struct ModuleFile {
  std::string path;
  std::shared_ptr<TemporaryFolder> folder;
};

// Whether a module has a copy of the model's weights, or refers to the files of a language model.
enum class WeightsOfModule { copied, referred };

// The module that `compiler`, a path or the name of a tool beside this one, makes of a model for `targets`: that of an
// earlier use from the cache, where neither the model's files nor the compiler have changed since. Throws a ToolError
// as vx-compile ends, and one with exit code 3 where there is no compiler. A module that refers to files finds links to
// them in its folder; on a file system without links it has a copy.
ModuleFile compileModelFile(const char *tool, const std::string &model, const std::vector<std::string> &targets,
                            const std::string &compiler = "vx-compile",
                            WeightsOfModule weights = WeightsOfModule::copied);

} // namespace vx::tools

#endif
