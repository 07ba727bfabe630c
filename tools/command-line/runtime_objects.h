// Owners for the handles of vx.h, as far as the tools need them.
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

} // namespace vx::tools

#endif
