// One call on a device and by the reference evaluator: which kernel is wrong, given what it should read, and which op
// of it.
#ifndef VX_RUN_REFERENCE_COMPARISON_H
#define VX_RUN_REFERENCE_COMPARISON_H

#include "device_comparison.h"

#include <string>

namespace vx::tools {

struct ReferenceRequest {
  ComparisonRequest call; // one of its devices is "reference"
  std::string model;      // ONNX or vx text, what the module was made of
  std::string compiler;   // vx-compile's path, or its name where it stands beside this tool
  bool bisects = false;   // looks into the kernel that is found
};

// Makes the model's kernels for the device's target once more and evaluates them with `vx-interpret`; where the results
// differ, every kernel on the device is shown, gets what the reference has in the place of what it wrote, and is thus
// compared on equal inputs. Needs the compiler's tools beside this one. Throws a ToolError.
DeviceComparison compareWithReference(const ReferenceRequest &request);

// The target of a device's name: "cuda" of "cuda:1". The null device has none of its own and takes the CPU's.
std::string targetOf(const std::string &device);

} // namespace vx::tools

#endif
