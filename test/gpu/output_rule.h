// What makes a tensor a right result: a rule that travels with the check.
#ifndef VX_TEST_GPU_OUTPUT_RULE_H
#define VX_TEST_GPU_OUTPUT_RULE_H

#include "tensor.h"

#include <nlohmann/json.hpp>

#include <string>

namespace vx::tools {

// How far a float may be from what is wanted; every other type is equal. What is not finite is equal in all rules, NaN
// to NaN.
//
//   {"rule": "exact"}                       the same bits
//   {"rule": "ulp", "units": N}             at most N places apart; numbers below the least normal one may be flushed
//   to
//                                           zero, in f16 not
//   {"rule": "limit", "limit": "F.npy"}     an absolute bound in f64 for each element
//   {"rule": "relative", "factor": R}       R times the wanted element
//   {"rule": "close", "rms": R,             the root mean square of the difference is at most R times that of what is
//    "largest": M}                          wanted, and each difference M times the largest wanted one
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
  // The worst element, or mean, as a share of what is allowed; 0 where nothing may differ.
  double worst = 0;
  // "f32[2,3]: 4 of 6 elements differ, the first at [1,0]: expected 0, got 2.5, allowed is ..."
  std::string text;
};

OutputVerdict judge(const Tensor &got, const Tensor &want, const OutputRule &rule);

// The root mean square of the difference as a share of that of `first`; finite elements only.
double relativeDistance(const Tensor &first, const Tensor &second);

} // namespace vx::tools

#endif
