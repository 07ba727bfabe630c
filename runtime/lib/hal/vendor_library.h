// A vendor's library, opened at run time: its absence is a stated reason, not a build option.
#ifndef VX_RUNTIME_HAL_VENDOR_LIBRARY_H
#define VX_RUNTIME_HAL_VENDOR_LIBRARY_H

#include "hal/driver.h"

#include <string>
#include <vector>

namespace vx::hal {

struct LibraryNames {
  // Tried in this order.
  std::vector<std::string> names;
  // The environment variable that names another one.
  const char *variable = "";

  // The same with the variable's value alone in `names` where it is set.
  LibraryNames fromEnvironment() const;
};

struct OpenLibrary {
  void *handle = nullptr; // of dlopen
  std::string name;       // the one of the names that was opened
};

// Opens the first library that is there; it stays open until the process ends. The refusal names all that were tried
// and the variable.
Refusal openLibrary(const LibraryNames &names, OpenLibrary &library);

} // namespace vx::hal

#endif
