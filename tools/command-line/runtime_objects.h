// Owners for the handles of vx.h, as far as the tools need them, and what a failed status means to a tool.
#ifndef VX_TOOLS_RUNTIME_OBJECTS_H
#define VX_TOOLS_RUNTIME_OBJECTS_H

#include "vx/runtime/vx.h"

#include <memory>
#include <string>

namespace vx::tools {

template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T *object) const {
    Release(object);
  }
};

using ModuleOwner = std::unique_ptr<vx_module, Releaser<vx_module_release>>;
using InstanceOwner = std::unique_ptr<vx_instance, Releaser<vx_instance_release>>;
using CallOwner = std::unique_ptr<vx_call, Releaser<vx_call_release>>;
using ValueOwner = std::unique_ptr<vx_value, Releaser<vx_value_release>>;

// Takes over a string of the runtime.
inline std::string takeString(char *text) {
  std::unique_ptr<char, Releaser<vx_string_release>> owner(text);
  return text ? std::string(text) : std::string();
}

// Throws what a failed status says, and releases it.
void check(vx_status status);

// Maps a module file. Throws a ToolError (exit 3) that names the file when it is not there, no module, or damaged.
ModuleOwner loadModule(const std::string &path);

} // namespace vx::tools

#endif
