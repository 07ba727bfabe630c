// What a server must know of a module's functions before it runs them for strangers.
#ifndef VX_SERVE_MODULE_FACTS_H
#define VX_SERVE_MODULE_FACTS_H

#include "vx/runtime/vx.hpp"

#include <string>
#include <vector>

namespace vx::serve {

// What is proved of the rows of a function, as vx_module_batch tells it: requests are joined along dimension 0 of some
// inputs.
struct RowFacts {
  enum class Output : uint8_t { rows, same }; // row i depends on row i; or on none of the joined inputs
  bool canJoin = false;
  int64_t most = 0, multiple = 1; // rows of a call
  std::vector<bool> inputs;       // which are joined; all others are equal for the requests of a batch
  std::vector<Output> outputs;
};

struct FunctionFacts {
  const vx_function_info *function = nullptr; // of the module
  std::vector<std::string> stores;            // variables that a call changes: what one client does, another would see
  RowFacts rows;
};

// In the module's order.
std::vector<FunctionFacts> factsOf(const Module &module);

} // namespace vx::serve

#endif
