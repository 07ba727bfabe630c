// What a function of the runtime answers when it can fail. The C interface hands the same object out as `vx_status`.
#ifndef VX_RUNTIME_BASE_STATUS_H
#define VX_RUNTIME_BASE_STATUS_H

#include "vx/base/printable.h"
#include "vx/runtime/vx.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// What the C handle points to.
struct vx_status_object {
  vx_code code;
  // Innermost message, preceded by its contexts: "outer: inner: message".
  std::string message;
  // Device report of VX_NO_DEVICE, else empty.
  std::string report;
  // JSON: the facts of the message for programs; empty: there are none.
  std::string details;
};

namespace vx {

// Success is a null pointer, so that passing it on costs nothing. It must be looked at.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(vx_code code, std::string message)
      : object(new vx_status_object{code, std::move(message), std::string(), std::string()}) {}

  bool ok() const { return !object; }
  vx_code code() const { return object ? object->code : VX_OK; }
  std::string_view message() const { return object ? std::string_view(object->message) : std::string_view("ok"); }
  std::string_view details() const { return object ? std::string_view(object->details) : std::string_view(); }
  std::string_view report() const { return object ? std::string_view(object->report) : std::string_view(); }

  // Puts "context: " before the message; success stays success.
  Status &&addContext(std::string_view context) && {
    if (object)
      object->message = fmt::format("{}: {}", context, object->message);
    return std::move(*this);
  }
  // Names in a message come from files: what a terminal would obey is escaped, and one line stays one.
  Status &&makePrintable() && {
    if (object)
      object->message = printableLine(object->message);
    return std::move(*this);
  }
  Status &&attachReport(std::string report) && {
    if (object)
      object->report = std::move(report);
    return std::move(*this);
  }

  // See vx_status_details. The first ones stay.
  Status &&attachDetails(std::string json) && {
    if (object && object->details.empty())
      object->details = std::move(json);
    return std::move(*this);
  }

  // Hands the object to the C interface.
  vx_status release() && { return object.release(); }

private:
  std::unique_ptr<vx_status_object> object;
};

inline Status okStatus() { return Status(); }

// The lower-case name of a code, "device_lost".
constexpr std::string_view codeName(vx_code code) {
  constexpr std::string_view names[] = {"ok",        "invalid_argument", "not_found", "invalid_module", "unsupported",
                                        "no_device", "out_of_memory",    "fault",     "io_error",       "device_lost",
                                        "internal",  "cancelled",        "timed_out"};
  static_assert(std::size(names) == VX_TIMED_OUT + 1);
  return code < std::size(names) ? names[code] : "unknown";
}

// failure(VX_NOT_FOUND, "no function '{}'", name)
template <typename... Args>
Status failure(vx_code code, fmt::format_string<Args...> format, Args &&...args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace vx

#define VX_RETURN_IF_ERROR(expression)                                                                                 \
  do {                                                                                                                 \
    if (::vx::Status vxStatus = (expression); !vxStatus.ok())                                                          \
      return vxStatus;                                                                                                 \
  } while (false)

#endif
