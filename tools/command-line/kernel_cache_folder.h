// Where compiled kernels are kept from one compilation to the next.
#ifndef VX_TOOLS_KERNEL_CACHE_FOLDER_H
#define VX_TOOLS_KERNEL_CACHE_FOLDER_H

#include <string>

namespace vx::tools {

// VX_CACHE, or a folder of the user's; empty where there is none.
std::string defaultKernelCache();

} // namespace vx::tools

#endif
