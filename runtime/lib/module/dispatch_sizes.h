// What a kernel asks of each dispatch: buffers as large as its types say, and its number of workgroups.
#ifndef VX_RUNTIME_MODULE_DISPATCH_SIZES_H
#define VX_RUNTIME_MODULE_DISPATCH_SIZES_H

#include "module/module.h"

namespace vx {

// A buffer that is given to a kernel, in bytes; none: not known yet, and not checked.
using KnownSize = std::optional<uint64_t>;

// `scalars` are the kernel's, all of them. `workspace`, `workgroups`: none when it is not known yet.
Status checkDispatchSizes(const Kernel &kernel, std::span<const int64_t> scalars, std::span<const KnownSize> buffers,
                          KnownSize workspace, std::optional<int64_t> workgroups);

} // namespace vx

#endif
