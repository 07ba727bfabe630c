// The log of the server, on stderr as it comes: lines of text, or JSON objects.
#ifndef VX_SERVE_SERVER_LOG_H
#define VX_SERVE_SERVER_LOG_H

#include "configuration.h"
#include "service.h"

#include <fmt/format.h>

#include <string_view>

namespace vx::serve {

// The least level, the format, and whether requests are logged. May be called again at any time.
void setLog(const Configuration &configuration);

// Thread-safe, as all of these. A level is a value of the configuration's key `log`.
void logLine(std::string_view level, std::string_view text);
// Written with others within 10 ms.
void logAccess(const AccessRecord &record);
// Before the process ends without its destructors.
void flushLog();

// What the server says when it starts: a line on stdout; in JSON a line of the log, so that all lines are objects.
void tellLine(std::string_view text);

template <typename... Args>
void tell(fmt::format_string<Args...> format, Args &&...args) {
  tellLine(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace vx::serve

#endif
