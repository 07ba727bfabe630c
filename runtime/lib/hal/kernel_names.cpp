#include "hal/kernel_names.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace vx::hal {

// Kernels named in a message.
static constexpr size_t MaxNamed = 8;

std::string describeKernel(const KernelImage &kernel) {
  if (kernel.nodes.empty())
    return fmt::format("'{}'", kernel.name);
  return fmt::format("'{}' ({})", kernel.name, fmt::join(kernel.nodes, ", "));
}

Status nameKernels(Status status, std::span<const std::string_view> descriptions) {
  std::vector<std::string_view> named;
  for (std::string_view description : descriptions)
    if (std::find(named.begin(), named.end(), description) == named.end())
      named.push_back(description);
  if (status.code() != VX_DEVICE_LOST || named.empty())
    return status;
  const size_t shown = std::min(named.size(), MaxNamed);
  return failure(VX_DEVICE_LOST, "{}; running since the last wait: {}{}", status.message(),
                 fmt::join(named.begin(), named.begin() + static_cast<ptrdiff_t>(shown), ", "),
                 named.size() > shown ? fmt::format(" and {} more", named.size() - shown) : "");
}

} // namespace vx::hal
