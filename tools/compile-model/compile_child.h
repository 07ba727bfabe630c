// Models that are no module files are compiled by another process, which may take so much time and memory.
#ifndef VX_TOOLS_COMPILE_CHILD_H
#define VX_TOOLS_COMPILE_CHILD_H

#include "sibling_tool.h"

#include "vx/base/temporary_folder.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace vx::tools {

// One at a time.
class CompileChild {
public:
  // `cache` is the folder that module files go to. `warn` is called where they cannot go there.
  CompileChild(std::string cache, std::function<void(const std::string &)> warn);

  // The module file of an .onnx file or a folder for the device: that of before, where neither the model's files nor
  // the compiler have changed. Throws serve::Error with what the compiler said.
  std::string compile(const std::string &model, const std::string &device, bool noFallback, const ToolLimits &limits);

private:
  const std::string cache;
  const std::function<void(const std::string &)> warn;
  std::mutex oneAtATime;
  // Of this process, where the cache cannot be written.
  std::unique_ptr<TemporaryFolder> temporary;
};

} // namespace vx::tools

#endif
