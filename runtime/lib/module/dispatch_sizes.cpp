#include "module/dispatch_sizes.h"

#include "vx/abi/kernel.h"

namespace vx {

Status checkDispatchSizes(const Kernel &kernel, std::span<const int64_t> scalars, std::span<const KnownSize> buffers,
                          KnownSize workspace, std::optional<int64_t> workgroups) {
  auto invalid = [&](const Status &status) {
    return failure(VX_INVALID_MODULE, "kernel '{}': {}", kernel.name, status.message());
  };
  if (workgroups && (*workgroups < 0 || *workgroups > VX_MAX_WORKGROUPS))
    return failure(VX_INVALID_MODULE, "kernel '{}' runs with {} workgroups, allowed are 0 to {}", kernel.name,
                   *workgroups, VX_MAX_WORKGROUPS);
  if (workgroups && kernel.workgroups) {
    int64_t wanted = 0;
    if (Status status = kernel.workgroups->evaluate(scalars, wanted); !status.ok())
      return invalid(status);
    if (*workgroups != wanted)
      return failure(VX_INVALID_MODULE, "kernel '{}' runs with {} workgroups, expected {}", kernel.name, *workgroups,
                     wanted);
  }
  if (workspace && kernel.workspace) {
    int64_t needed = 0;
    if (Status status = kernel.workspace->evaluate(scalars, needed); !status.ok())
      return invalid(status);
    if (needed > 0 && static_cast<uint64_t>(needed) > *workspace)
      return failure(VX_INVALID_MODULE, "the workspace of kernel '{}' has {} bytes, it needs {}", kernel.name,
                     *workspace, needed);
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i])
      continue;
    const BufferType &type = kernel.bufferTypes[i];
    dims.clear();
    uint64_t needed = 0;
    for (const Expression &dim : type.dims)
      if (Status status = dim.evaluate(scalars, dims.emplace_back()); !status.ok())
        return invalid(status);
    if (Status status = tensorByteSize(type.elementType, dims, needed); !status.ok())
      return invalid(status);
    if (needed > *buffers[i])
      return failure(VX_INVALID_MODULE, "buffer {} of kernel '{}' has {} bytes, {} needs {}", i, kernel.name,
                     *buffers[i], tensorTypeString(type.elementType, dims), needed);
  }
  return okStatus();
}

} // namespace vx
