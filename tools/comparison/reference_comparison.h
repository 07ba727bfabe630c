// One call on a device and by the reference evaluator: which kernel is wrong on the right inputs, and which op of
// it.
#ifndef VX_TOOLS_REFERENCE_COMPARISON_H
#define VX_TOOLS_REFERENCE_COMPARISON_H

#include "comparison_report.h"
#include "signature.h"

#include <string>

namespace vx::tools {

struct ReferenceRequest {
  compare::Request call; // one of its devices is "reference"
  SymbolValues symbols;  // that the inputs or --dim have bound
  std::string model;     // ONNX or vx text, that the module was made of
  std::string compiler;  // vx-compile's path, or its name where it stands beside this tool
  bool bisects = false;  // looks into the kernel that is found
};

// Makes the model's kernels for the device's target once more and evaluates them with `vx-interpret`; where the results
// differ, every kernel on the device is shown, has its results replaced by the reference's, and is thus
// compared on equal inputs. Needs the compiler's tools beside this one. Throws a ToolError.
DeviceComparison compareWithReference(const ReferenceRequest &request);

// The target of a device's name: "cuda" of "cuda:1". The null device has none of its own and takes the CPU's.
std::string targetOf(const std::string &device);

} // namespace vx::tools

#endif
