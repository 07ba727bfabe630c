// The CUDA driver behind the interface that all GPU drivers share.
#ifndef VX_DRIVERS_CUDA_CUDA_FUNCTIONS_H
#define VX_DRIVERS_CUDA_CUDA_FUNCTIONS_H

#include "assembled_code.h"
#include "cubin_cache.h"
#include "cuda_driver.h"
#include "cuda_vendor.h"

#include "hal/gpu/vendor_api.h"

namespace vx::cuda {

class CudaFunctions final : public hal::gpu::VendorApi<Vendor> {
public:
  using Library = std::shared_ptr<const hal::gpu::VendorLibrary<Vendor>>;
  using Handle = hal::gpu::Handle;
  using Transfer = hal::gpu::Transfer;

  static Status open(const Library &library, const PhysicalDevice &physical, const hal::DeviceOptions &options,
                     const DriverOptions &driverOptions, std::unique_ptr<hal::gpu::Api> &api);
  ~CudaFunctions() override;

  void enter() override;
  void leave() override;

  Status copy(const Transfer &transfer, Handle stream) override;
  Status addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) override;
  Status setCopy(Handle executable, Handle node, const Transfer &transfer) override;

  Status load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) override;

private:
  CudaFunctions(const Library &library, const PhysicalDevice &physical, const hal::DeviceOptions &options,
                const DriverOptions &driverOptions)
      : VendorApi(library, physical, options), physical(physical), cache(driverOptions.cacheFolder),
        checksCode(driverOptions.checksCode), assemblers(driverOptions.assemblers) {}

  Status initialise();
  // Assembles the part's kernels to one cubin. `log` is what the assembler says of code that is right.
  Status assemble(const hal::CodeImage &image, AssembledPart &part, std::string &log);
  // All kernels of an image, several parts at a time.
  Status assembleAll(const hal::CodeImage &image, std::vector<AssembledPart> &parts);
  // Warns of slow code, or fails.
  Status judge(const hal::CodeImage &image, std::string_view log) const;
  // Adds the modules to the code, and a function for each kernel.
  Status loadParts(const hal::CodeImage &image, std::span<const AssembledPart> parts, hal::gpu::LoadedCode &code);

  const PhysicalDevice physical;
  const CubinCache cache;
  const bool checksCode;
  const uint32_t assemblers;
  api::Context context = nullptr;
};

} // namespace vx::cuda

#endif
