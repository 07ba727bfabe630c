// A vendor's library with its functions, opened at run time and initialised.
//
// `Vendor` is what a driver of this kind knows of its vendor:
//   Functions, Result          the table (vendor_function.h) and what its functions answer
//   text                       what messages call the library, "the CUDA driver"
//   VersionFunction            a VendorFunction, the one that tells the version
//   minVersion, versionText(int) the oldest version, and one as text, "11.6"
//   describe(functions, result) an error in the library's own words, "CUDA_ERROR_UNKNOWN (unknown error)"
//   isFatal(result)            whether the device can do nothing more after it
#ifndef VX_RUNTIME_HAL_GPU_VENDOR_LIBRARY_H
#define VX_RUNTIME_HAL_GPU_VENDOR_LIBRARY_H

#include "hal/gpu/vendor_function.h"
#include "hal/vendor_library.h"

#include <memory>

namespace vx::hal::gpu {

// The library stays open until the process ends: its own threads may outlast everything that is destroyed.
template <typename Vendor>
class VendorLibrary {
public:
  // Null with a reason when that fails.
  static std::shared_ptr<const VendorLibrary> open(const LibraryNames &names, Refusal &refusal) {
    auto library = std::make_shared<VendorLibrary>();
    refusal = library->load(names);
    return refusal.code == RefusalCode::None ? library : nullptr;
  }

  const typename Vendor::Functions &functions() const { return table; }
  // As the library tells it.
  int version() const { return libraryVersion; }

  // "cuInit failed with CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
  std::string failed(const char *call, typename Vendor::Result result) const {
    return fmt::format("{} failed with {}", call, Vendor::describe(table, result));
  }

private:
  Refusal load(const LibraryNames &names) {
    OpenLibrary library;
    if (Refusal refusal = openLibrary(names, library); refusal.code != RefusalCode::None)
      return refusal;
    // An old library is told by its version, not by the first function that it lacks.
    typename Vendor::VersionFunction getVersion;
    if (!getVersion.load(library.handle))
      return {RefusalCode::NoLibrary, fmt::format("'{}' has no function '{}'", library.name, getVersion.symbol)};
    if (auto result = getVersion(&libraryVersion); result != Vendor::Result::Success)
      return {RefusalCode::NoLibrary, failed(getVersion.name, result)};
    if (libraryVersion < Vendor::minVersion)
      return {RefusalCode::NoLibrary,
              fmt::format("{} is of version {}, expected {}", Vendor::text, Vendor::versionText(libraryVersion),
                          Vendor::versionText(Vendor::minVersion))};
    if (const char *missing = table.load(library.handle))
      return {RefusalCode::NoLibrary, fmt::format("'{}' has no function '{}'", library.name, missing)};
    if (auto result = table.Init(0); result != Vendor::Result::Success)
      return {RefusalCode::NoDevice, failed(table.Init.name, result)};
    return {};
  }

  typename Vendor::Functions table;
  int libraryVersion = 0;
};

} // namespace vx::hal::gpu

#endif
