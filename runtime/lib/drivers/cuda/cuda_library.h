// The CUDA driver's library, opened at run time.
#ifndef VX_DRIVERS_CUDA_CUDA_LIBRARY_H
#define VX_DRIVERS_CUDA_CUDA_LIBRARY_H

#include "cuda_api.h"

#include "hal/vendor_library.h"

#include <string>

namespace vx::cuda {

// CUDA 11.6 is the first whose graphs can switch a node off (cuGraphNodeSetEnabled).
inline constexpr int MinDriverVersion = 11060;

// An error as the driver names it: "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string describeResult(const api::Functions &functions, api::Result result);

// Lives until the process ends: the driver's own threads may outlast everything that is destroyed.
class Library {
public:
  // Opens the library and initialises the driver. Null with a reason when that fails.
  static Library *open(const hal::LibraryNames &names, hal::Refusal &refusal);

  const api::Functions &functions() const { return table; }
  // 1000 * major + 10 * minor of the CUDA version that the driver is of.
  int version() const { return driverVersion; }

private:
  hal::Refusal load(const hal::LibraryNames &names);

  api::Functions table;
  int driverVersion = 0;
};

} // namespace vx::cuda

#endif
