// The kernels that the stand-ins run: those of ../test_kernels.c, on the CPU.
#ifndef VX_TEST_UNIT_RUNTIME_GPU_CPU_KERNELS_H
#define VX_TEST_UNIT_RUNTIME_GPU_CPU_KERNELS_H

#include <cstdint>
#include <cstring>

extern "C" {
void scale_add(const uint64_t *block, uint32_t wx, uint32_t wy);
void gather(const uint64_t *block, uint32_t wx, uint32_t wy);
}

namespace vx::test {

using Kernel = void (*)(const uint64_t *, uint32_t, uint32_t);

inline Kernel findKernel(const char *name) {
  if (std::strcmp(name, "scale_add") == 0)
    return scale_add;
  return std::strcmp(name, "gather") == 0 ? gather : nullptr;
}

// The buffers in a kernel's parameter block.
inline unsigned bufferCountOf(Kernel kernel) { return kernel == scale_add ? 2 : 3; }

inline void runKernel(Kernel kernel, uint64_t block, uint32_t gridX, uint32_t gridY) {
  for (uint32_t y = 0; y < gridY; ++y)
    for (uint32_t x = 0; x < gridX; ++x)
      kernel(reinterpret_cast<const uint64_t *>(block), x, y);
}

} // namespace vx::test

#endif
