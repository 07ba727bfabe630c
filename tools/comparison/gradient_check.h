// A function `gradient` on a device against differences of the function that it was made of.
#ifndef VX_TOOLS_GRADIENT_CHECK_H
#define VX_TOOLS_GRADIENT_CHECK_H

#include "signature.h"

#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// The result of `vx-compile --grad` for a function: `gradient`, with the inputs of that function.
struct GradientPair {
  const vx_function_info *function = nullptr, *gradient = nullptr; // of the module
  size_t output = 0;                                               // that is differentiated
};

// Finds the two. The names choose where several fit; empty, they leave it to the module. Throws a file error (exit 3)
// where the module has none that fit, and a usage error for names that are none of it, or where several fit.
GradientPair findGradient(const vx::Module &module, const std::string &function, const std::string &output);

struct GradientCheckRequest {
  vx::Module module;
  GradientPair pair;
  std::vector<vx::Value> inputs;
  vx::InstanceOptions instance;
  uint64_t directions = 1;
  std::optional<double> tolerance; // relative; without it the fourth root of the type's epsilon
  uint64_t seed = 0;               // of the directions
};

// Along one direction of an input or a variable: the derivative of the sum of the output's elements.
struct GradientDifference {
  std::string name; // "input 'x'", "variable 'w'"
  uint64_t direction = 0;
  double analytic = 0, numeric = 0;
  double relative = 0; // of the larger of the two
  double allowed = 0;  // a difference, not relative
  bool agrees = false;
};

struct GradientCheck {
  std::string device; // that was taken
  double tolerance = 0;
  std::vector<GradientDifference> differences;
  std::vector<std::string> constants; // with respect to which there are gradients, and which no call can move

  bool agrees() const;
  // The first derivative that is off and how many there are, in one line.
  std::string message(const GradientPair &pair) const;
  nlohmann::ordered_json json() const;
};

// Runs `gradient` once, and the function four times for each direction and size of the step. Before each run all
// variables are as the instance began with them. Throws when a device is refused, a call fails or all that the
// gradients are of is constant.
GradientCheck checkGradient(const GradientCheckRequest &request);

} // namespace vx::tools

#endif
