#include "hal/vendor_library.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <dlfcn.h>

namespace vx::hal {

LibraryNames LibraryNames::fromEnvironment() const {
  const char *name = std::getenv(variable);
  return name && *name ? LibraryNames{{name}, variable} : *this;
}

Refusal openLibrary(const LibraryNames &names, OpenLibrary &library) {
  std::vector<std::string> tried;
  std::string reason;
  for (const std::string &name : names.names) {
    library = {dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL), name};
    if (library.handle)
      return {};
    const std::string error = dlerror();
    // One that is there but lacks something says more than one that is not there.
    if (reason.empty() || !error.starts_with(name + ": cannot open"))
      reason = error;
    tried.push_back(fmt::format("'{}'", name));
  }
  return {RefusalCode::NoLibrary, fmt::format("{} could not be opened: {}; {} names another one",
                                              fmt::join(tried, ", "), reason, names.variable)};
}

} // namespace vx::hal
