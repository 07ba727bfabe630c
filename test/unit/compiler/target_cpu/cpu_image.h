// Compiles kernels of the memref form with the CPU target and loads the image with the system's loader, to run them in
// this process.
#ifndef VX_TEST_UNIT_COMPILER_TARGET_CPU_CPU_IMAGE_H
#define VX_TEST_UNIT_COMPILER_TARGET_CPU_CPU_IMAGE_H

#include "vx/Target/TargetBackend.h"
#include "vx/abi/kernel.h"
#include <string>
#include <vector>

namespace vx::test {

/// The best variant that this processor can run.
TargetSpec hostSpec();
TargetSpec namedSpec(const std::string &variant);
/// The known variants that this processor can run, best first.
std::vector<TargetSpec> runnableSpecs();

/// One kernel from text, through the pass pipeline and `serialize`. On failure `error` has the first diagnostics.
mlir::FailureOr<KernelBinary> compileKernel(const std::string &text, const TargetSpec &spec, std::string &error);

/// The target's `link`.
mlir::FailureOr<LinkedImage> linkKernels(const std::vector<KernelBinary> &kernels, const TargetSpec &spec,
                                         std::string &error);

/// A linked image in this process.
class Image {
public:
  Image() = default;
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;
  ~Image();

  /// Compiles each text, links all, and loads the image. False with `error` set on failure.
  bool build(const std::vector<std::string> &kernels, const TargetSpec &spec);
  bool load(const LinkedImage &linked);
  vx_cpu_kernel find(const std::string &entry) const;

  std::string error;
  LinkedImage linked;

private:
  void *handle = nullptr;
};

/// A parameter block and the call of a kernel for each workgroup.
struct Dispatch {
  std::vector<void *> buffers;
  std::vector<int64_t> scalars;
  void *workspace = nullptr;
  uint64_t workgroups = 1;
  uint64_t faultSite = 0;
  vx_fault_record fault = {};

  void run(vx_cpu_kernel kernel);
};

} // namespace vx::test

#endif
