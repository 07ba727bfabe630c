// What the runtime tells of beside results: which device was taken, what was dropped, what was lost.
#ifndef VX_RUNTIME_BASE_LOG_H
#define VX_RUNTIME_BASE_LOG_H

#include "vx/runtime/vx.h"

#include <fmt/format.h>

#include <string>

namespace vx {

// See vx_set_log.
void setLog(vx_log_fn function, void *user, vx_log_level least);
bool isLogged(vx_log_level level);
void writeLog(vx_log_level level, const std::string &message);

// The text is made where somebody reads it.
template <typename... Args>
void log(vx_log_level level, fmt::format_string<Args...> format, Args &&...args) {
  if (isLogged(level)) [[unlikely]]
    writeLog(level, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace vx

#endif
