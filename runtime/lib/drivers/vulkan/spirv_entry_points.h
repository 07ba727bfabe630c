// Looks into SPIR-V code just enough to know what it offers.
#ifndef VX_DRIVERS_VULKAN_SPIRV_ENTRY_POINTS_H
#define VX_DRIVERS_VULKAN_SPIRV_ENTRY_POINTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace vx::vulkan {

// Fills in the names of the compute entry points. False when the words are not a well-formed stream of SPIR-V
// instructions.
bool findComputeEntryPoints(const std::vector<uint32_t> &words, std::vector<std::string> &names);

} // namespace vx::vulkan

#endif
