// Variables of the environment that other parts of vx read: they are no mistakes of who configures a server.
#ifndef VX_SERVE_KNOWN_VARIABLES_H
#define VX_SERVE_KNOWN_VARIABLES_H

#include <span>
#include <string_view>

namespace vx::serve {

inline std::span<const std::string_view> otherVariables() {
  static constexpr std::string_view names[] = {
      "VX_API_KEY",          "VX_CHECK_ARENA",    "VX_CHECK_CODE",       "VX_CHECK_PAGES",   "VX_CHECK_SCHEDULE",
      "VX_COMPILER_LIBRARY", "VX_CUDA_LIBRARY",   "VX_CURL_LIBRARY",     "VX_HUB_URL",       "VX_DEVICE",
      "VX_HIP_LIBRARY",      "VX_GRPC_LIBRARY",   "VX_IMAGE_LIBRARY",    "VX_PCRE2_LIBRARY", "VX_PROBE",
      "VX_PROBE_SECONDS",    "VX_VULKAN_LIBRARY", "VX_VULKAN_VALIDATION"};
  return names;
}

} // namespace vx::serve

#endif
