// When a tensor is a right result: a rule that travels with the check.
#ifndef VX_TOOLS_OUTPUT_RULE_H
#define VX_TOOLS_OUTPUT_RULE_H

#include "tensor.h"

#include <nlohmann/json.hpp>

#include <string>

namespace vx::tools {

// How far a float may be from the expected one; elements of every other type are equal. Elements that are not finite
// are equal in all rules, NaN to NaN.
//
//   {"rule": "exact"}                       the same bits
//   {"rule": "ulp", "units": N}             at most N units in the last place apart; numbers below the least normal one
//                                           may be flushed to zero, in f16 not
//   {"rule": "limit", "limit": "F.npy"}     an absolute bound in f64 for each element
//   {"rule": "relative", "factor": R}       R times the expected element
//   {"rule": "close", "rms": R,             the root mean square of the difference is at most R times that of the
//    "largest": M}                          expected tensor, and each difference M times its largest element
struct OutputRule {
  enum class Kind { Exact, Ulp, Limit, Relative, Close };

  // Files are relative to `folder`. Throws a ToolError (exit 3) for an entry that is none of the above.
  static OutputRule fromJson(const nlohmann::json &entry, const std::string &folder);

  Kind kind = Kind::Exact;
  double units = 0, factor = 0, rms = 0, largest = 0;
  Tensor limit; // f64
};

struct OutputVerdict {
  bool right = false;
  // The worst element, or mean, as a share of the allowed difference; 0 where nothing may differ.
  double worst = 0;
  // "f32[2,3]: 4 of 6 elements differ, the first at [1,0]: expected 0, got 2.5, allowed is ..."
  std::string text;
  // The first wrong element, "[1,0]", and its two values; empty where no single element is wrong.
  std::string element, expected, got;
};

OutputVerdict judge(const Tensor &got, const Tensor &want, const OutputRule &rule);

// The root mean square of the difference as a share of that of `first`; finite elements only.
double relativeDistance(const Tensor &first, const Tensor &second);

} // namespace vx::tools

#endif
