// The strings of a run, by number: those of the module first, then those of its inputs and those that the host makes.
#ifndef VX_RUNTIME_EXEC_STRING_POOL_H
#define VX_RUNTIME_EXEC_STRING_POOL_H

#include "exec/host_bytes.h"
#include "module/module.h"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vx {

// Thread-compatible. Equal strings have one number.
class StringPool {
public:
  // Forgets the strings of a run. `module` outlives what follows; `memory` counts what strings take, and may be null.
  void clear(const ModuleData &module, InstanceMemory *memory);
  // Forgets them, where the next run is not yet known.
  void clear();

  // The number of a string, which is UTF-8. VX_OUT_OF_MEMORY when the run has too many or too long ones.
  Status number(std::string_view text, int32_t &number);

  // VX_INVALID_MODULE for a number that nothing has been given.
  Status text(int32_t number, std::string_view &text) const;

private:
  const ModuleData *module = nullptr;
  std::deque<std::string> own; // numbered behind the module's
  std::unordered_map<std::string_view, int32_t> numbers;
  uint64_t bytes = 0;
  HostBytes held;
};

} // namespace vx

#endif
