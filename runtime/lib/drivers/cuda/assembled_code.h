// PTX that the driver assembles in several parts at a time, and its assembler's remarks on the result.
#ifndef VX_DRIVERS_CUDA_ASSEMBLED_CODE_H
#define VX_DRIVERS_CUDA_ASSEMBLED_CODE_H

#include "hal/device.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cuda {

// One cubin, with the numbers of its kernels in the image.
struct AssembledPart {
  std::vector<uint32_t> kernels;
  std::vector<uint8_t> cubin;
};

// Shares kernels out to `count` parts at most, so that the longest texts come first and parts are about equally long.
// The same for the same kernels and count; each part's kernels are in the order of the image.
std::vector<std::vector<uint32_t>> shareKernels(std::span<const hal::KernelImage> kernels, uint32_t count);

// Parts as the bytes of one file, and back. None where the bytes do not have each of `kernels` kernels once.
std::vector<uint8_t> packParts(std::span<const AssembledPart> parts);
std::optional<std::vector<AssembledPart>> unpackParts(std::span<const uint8_t> bytes, size_t kernels);

// A reason why code is slow: registers that are spilled to memory, and the assembler's advice C75xx that asynchronous
// work has to wait. `entry` is empty where the log does not say whose it is.
struct CodeFinding {
  std::string entry;
  std::string text;
};
std::vector<CodeFinding> findingsOf(std::string_view log);

} // namespace vx::cuda

#endif
