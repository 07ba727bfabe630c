// One call on two devices: do the results agree, and which source nodes differ first.
#ifndef VX_RUN_DEVICE_COMPARISON_H
#define VX_RUN_DEVICE_COMPARISON_H

#include "signature.h"
#include "tensor_difference.h"

#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

struct ComparisonRequest {
  vx::Module module;
  const vx_function_info *function = nullptr; // of the module
  std::vector<vx::Value> inputs;
  std::array<std::string, 2> devices;
  uint32_t threads = 0;
  std::optional<double> tolerance;
  SymbolValues symbols;     // what is bound by the inputs or by --dim
  uint64_t seed = 0;        // of variables that start with random values
  uint64_t memoryLimit = 0; // of each instance
};

// A tensor result, an element of one, or a variable after the call.
struct ComparedResult {
  std::string name; // "output 'y'", "element 2 of output 'list'", "variable 'sum'"
  TensorDifference difference;
};

struct ComparedKernel {
  std::string kernel; // on the first device
  std::vector<std::string> nodes;
  TensorDifference difference;
};

struct DeviceComparison {
  std::array<std::string, 2> devices; // that were taken, "vulkan:0"
  std::vector<ComparedResult> results;
  // Looked for only when results differ: the first kernel, in the order of the first device, whose results differ.
  std::optional<ComparedKernel> firstKernel;
  uint64_t kernels = 0;         // dispatches of the first device
  uint64_t kernelsCompared = 0; // that the second device has as well, with the same nodes and the same results

  bool agrees() const;
  // What differs, and where first, in one line.
  std::string message() const;
  nlohmann::ordered_json json() const;
};

// Runs the function once on a fresh instance for each device, and once more with every kernel observed when results
// differ. Throws when a device is refused or a call fails.
DeviceComparison compareDevices(const ComparisonRequest &request);

} // namespace vx::tools

#endif
