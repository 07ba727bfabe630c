#include "runtime_objects.h"

#include "tool_error.h"

namespace vx::tools {

static ExitCode exitCodeOf(vx_code code) {
  switch (code) {
  case VX_OK:
    return ExitCode::Done;
  case VX_INVALID_ARGUMENT:
    return ExitCode::Usage;
  case VX_NOT_FOUND:
  case VX_INVALID_MODULE:
  case VX_UNSUPPORTED:
    return ExitCode::BadInput;
  case VX_NO_DEVICE:
    return ExitCode::NoDevice;
  case VX_OUT_OF_MEMORY:
  case VX_FAULT:
  case VX_IO_ERROR:
  case VX_DEVICE_LOST:
  case VX_INTERNAL:
    break;
  }
  return ExitCode::Failed;
}

void check(vx_status status) {
  if (!status)
    return;
  const vx_code code = vx_status_code(status);
  const std::string message = vx_status_message(status);
  vx_status_release(status);
  throw ToolError(exitCodeOf(code), message);
}

ModuleOwner loadModule(const std::string &path) {
  vx_module *module = nullptr;
  vx_status status = vx_module_load(path.c_str(), &module);
  // A folder, or a file that may not be read, is a wrong file and no failure of the work.
  if (vx_status_code(status) == VX_IO_ERROR) {
    const std::string message = vx_status_message(status);
    vx_status_release(status);
    throw ToolError(ExitCode::BadInput, message);
  }
  check(status);
  return ModuleOwner(module);
}

} // namespace vx::tools
