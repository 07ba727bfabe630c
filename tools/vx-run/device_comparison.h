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

// An op inside of a kernel.
struct ComparedOp {
  std::string op; // "vx.exp"
  std::vector<std::string> nodes;
  TensorDifference difference;
};

struct ComparedKernel {
  std::string kernel; // on the first device
  std::vector<std::string> nodes;
  TensorDifference difference;
  // Where the kernel was looked into: the first op that differs when the ops up to it are compiled, or how it is that
  // none does.
  std::optional<ComparedOp> op;
  std::string noOp;
};

struct DeviceComparison {
  std::array<std::string, 2> devices; // that were taken, "vulkan:0"
  std::vector<ComparedResult> results;
  // Looked for only when results differ: the first kernel, in the order of the first device, whose results differ.
  std::optional<ComparedKernel> firstKernel;
  uint64_t kernels = 0;          // dispatches of the first device
  uint64_t kernelsCompared = 0;  // that the second device has as well, with the same nodes and the same results
  uint64_t kernelsDiffering = 0; // of these
  bool onEqualInputs = false;    // each kernel that was compared read what the other side has
  // Of two devices that differ, each beside the reference, where that was asked for.
  std::vector<DeviceComparison> againstReference;

  bool agrees() const;
  // What differs, and where first, in one line.
  std::string message() const;
  nlohmann::ordered_json json() const;

private:
  std::string ownMessage() const;
};

// What a run leaves.
struct RunOutcome {
  std::string device;
  std::vector<std::pair<std::string, Tensor>> results; // outputs, elements of outputs and variables, by their names
};

// Runs the function on a fresh instance of one of the request's devices; an observer sees each dispatch.
RunOutcome runOn(const ComparisonRequest &request, size_t device, vx_dispatch_observer observer = nullptr,
                 void *user = nullptr);

// Has a run go on with `value` in the place of what a dispatch wrote; for its observer.
void replaceOutput(const vx_dispatch_info &info, size_t output, const Value &value);

// Of the results of two runs.
std::vector<ComparedResult> compareResults(const RunOutcome &first, const RunOutcome &second,
                                           std::optional<double> tolerance);

// The names of an output, or of an element of it, and of a variable.
std::string outputName(const std::string &name);
std::string elementName(size_t element, const std::string &output);
std::string variableName(const std::string &name);

// Runs the function once on a fresh instance for each device, and once more with every kernel observed when results
// differ. Throws when a device is refused or a call fails.
DeviceComparison compareDevices(const ComparisonRequest &request);

} // namespace vx::tools

#endif
