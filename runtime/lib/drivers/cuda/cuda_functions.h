// The CUDA driver behind the interface that all GPU drivers share.
#ifndef VX_DRIVERS_CUDA_CUDA_FUNCTIONS_H
#define VX_DRIVERS_CUDA_CUDA_FUNCTIONS_H

#include "cubin_cache.h"
#include "cuda_vendor.h"

#include "hal/gpu/vendor_api.h"

namespace vx::cuda {

class CudaFunctions final : public hal::gpu::VendorApi<Vendor> {
public:
  using Library = std::shared_ptr<const hal::gpu::VendorLibrary<Vendor>>;
  using Handle = hal::gpu::Handle;
  using Transfer = hal::gpu::Transfer;

  static Status open(const Library &library, const PhysicalDevice &physical, const hal::DeviceOptions &options,
                     const std::string &cacheFolder, std::unique_ptr<hal::gpu::Api> &api);
  ~CudaFunctions() override;

  void enter() override;
  void leave() override;

  Status copy(const Transfer &transfer, Handle stream) override;
  Status addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) override;
  Status setCopy(Handle executable, Handle node, const Transfer &transfer) override;

  Status load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) override;

private:
  CudaFunctions(const Library &library, const PhysicalDevice &physical, const hal::DeviceOptions &options,
                const std::string &cacheFolder)
      : VendorApi(library, physical, options), physical(physical), cache(cacheFolder) {}

  Status initialise();
  // Assembles all kernels of an image to one cubin.
  Status assemble(const hal::CodeImage &image, std::vector<uint8_t> &cubin);

  const PhysicalDevice physical;
  const CubinCache cache;
  api::Context context = nullptr;
};

} // namespace vx::cuda

#endif
