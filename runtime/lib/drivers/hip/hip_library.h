// The HIP runtime's library, opened at run time.
#ifndef VX_DRIVERS_HIP_HIP_LIBRARY_H
#define VX_DRIVERS_HIP_HIP_LIBRARY_H

#include "hip_api.h"

#include "hal/vendor_library.h"

#include <string>

namespace vx::hip {

// HIP 5.5 is the first that loads code objects of version 5, and whose graphs can switch a node off.
inline constexpr int MinVersion = 50500000;

// An error as the runtime names it: "hipErrorOutOfMemory (out of memory)".
std::string describeResult(const api::Functions &functions, api::Result result);

// Lives until the process ends: the runtime's own threads may outlast everything that is destroyed.
class Library {
public:
  // Opens the first of `names` that is there and initialises the runtime. Null with a reason when that fails.
  static Library *open(const hal::LibraryNames &names, hal::Refusal &refusal);

  const api::Functions &functions() const { return table; }
  // 10,000,000 * major + 100,000 * minor + patch of the HIP version.
  int version() const { return runtimeVersion; }

private:
  hal::Refusal load(const hal::LibraryNames &names);

  api::Functions table;
  int runtimeVersion = 0;
};

} // namespace vx::hip

#endif
