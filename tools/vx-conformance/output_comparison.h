// Whether an output is what a case wants.
#ifndef VX_TOOLS_OUTPUT_COMPARISON_H
#define VX_TOOLS_OUTPUT_COMPARISON_H

#include "tensor.h"

#include <optional>
#include <string>

namespace vx::tools {

// What differs first, or nothing. Kinds, types, sizes, integers and booleans must be equal; floats may differ by a
// share of the wanted element and of the largest one, and NaN is equal to NaN. Integers of up to 53 bits may differ by
// `units`.
std::optional<std::string> outputDifference(const Value &got, const Value &want, double units = 0);

// The same beside the reference evaluator, whose values have all their digits: floats may differ by what rounding may,
// as in the tests of ops (test/e2e/tolerance.py, sum_of), of a sum of as many terms as the inputs have elements,
// `given`, for each one of the output, whose magnitudes are at most the largest wanted element. What is narrower than
// f16 is equal.
std::optional<std::string> evaluatorDifference(const Value &got, const Value &want, uint64_t given);

// The same for a tensor whose elements are random: types and sizes alone.
std::optional<std::string> typeDifference(const Value &got, const Value &want);

// Of the results of a Dropout that drops, as what it drops is random. Each element of the result is 0 or the input's by
// 1 / (1 - ratio), and the share of those that are 0, or false in a mask, is near the ratio.
std::optional<std::string> dropoutDifference(const Value &got, const Value &want, const Tensor &input, double ratio);

} // namespace vx::tools

#endif
