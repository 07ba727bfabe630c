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

} // namespace vx::tools
