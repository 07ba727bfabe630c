// Failures of vx.h as exceptions. Part of vx.hpp.
#ifndef VX_RUNTIME_ERROR_HPP
#define VX_RUNTIME_ERROR_HPP

#include "vx/runtime/vx.h"

#include <stdexcept>
#include <string>

namespace vx {
// Inline, so that users write vx::Module, and the runtime's own classes stay apart.
inline namespace api {

// A failed status. `report` is the device report of VX_NO_DEVICE, else empty.
class Error : public std::runtime_error {
public:
  explicit Error(vx_status status)
      : std::runtime_error(vx_status_message(status)), statusCode(vx_status_code(status)),
        deviceReport(vx_status_report(status) ? vx_status_report(status) : ""),
        facts(vx_status_details(status) ? vx_status_details(status) : "") {
    vx_status_release(status);
  }
  // A failure of a library over this one.
  Error(vx_code code, const std::string &message) : std::runtime_error(message), statusCode(code) {}
  vx_code code() const { return statusCode; }
  const std::string &report() const { return deviceReport; }
  // See vx_status_details; empty: none.
  const std::string &details() const { return facts; }

private:
  vx_code statusCode;
  std::string deviceReport, facts;
};

// Throws an Error for a failed status, which it releases.
inline void check(vx_status status) {
  if (status)
    throw Error(status);
}

} // namespace api
} // namespace vx

#endif
