#include "output_comparison.h"

#include "vx/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace vx::tools {

namespace {

// What a float may differ by: of the wanted element, which the tests of ONNX give to four digits here and there, and of
// the largest one, and besides.
struct Tolerance {
  double ofElement, ofLargest, least = 0;
};

} // namespace

// What graphs round beside their sums is as much as a sum of so many terms does: of 50,000 calls of ONNX's cases all
// but those that sum thousands of terms stay within.
static constexpr double LeastTerms = 31;

namespace {

struct Rounding {
  vx_element_type type;
  double epsilon, least;
  vx_element_type accumulator;
};

constexpr Rounding Roundings[] = {
#define VX_ROUNDING(TYPE, TEXT, EPSILON, LEAST, ACCUMULATOR) {VX_##TYPE, EPSILON, LEAST, VX_##ACCUMULATOR},
#include "roundings.inc"
#undef VX_ROUNDING
};

} // namespace

static const Rounding *findRounding(vx_element_type type) {
  const auto found = std::find_if(std::begin(Roundings), std::end(Roundings),
                                  [&](const Rounding &rounding) { return rounding.type == type; });
  return found == std::end(Roundings) ? nullptr : found;
}

static Tolerance toleranceOf(vx_element_type type) {
  switch (type) {
  case VX_F64:
    return {1e-3, 1e-7};
  case VX_F32:
    return {1e-3, 2e-6};
  case VX_F16:
    return {4e-3, 1e-3};
  default: // of few bits of mantissa
    return {2e-2, 4e-3};
  }
}

// Never more than beside a file's values.
static Tolerance roundingOf(vx_element_type type, double terms) {
  const Rounding *rounding = findRounding(type);
  if (!rounding)
    return {0, 0};
  const Tolerance ofFiles = toleranceOf(type);
  const double ofSum = (terms + 1) * findRounding(rounding->accumulator)->epsilon;
  return {std::min(rounding->epsilon, ofFiles.ofElement), std::min(ofSum, ofFiles.ofElement + ofFiles.ofLargest),
          rounding->least};
}

static uint64_t sizeOf(const Tensor &tensor) { return elementCount(tensor.type, tensor.dims).value_or(0); }

static std::optional<std::string> tensorTypeDifference(const Tensor &got, const Tensor &want) {
  if (got.type == want.type && got.dims == want.dims)
    return std::nullopt;
  return fmt::format("got {}, expected {}", typeText(got.type, got.dims), typeText(want.type, want.dims));
}

static std::optional<std::string> tensorDifference(const Tensor &got, const Tensor &want, const Tolerance &tolerance,
                                                   double units) {
  if (std::optional<std::string> difference = tensorTypeDifference(got, want))
    return difference;
  const compare::Difference difference = compare::tensors(view(got), view(want),
                                                          compare::Tolerance{.absolute = tolerance.least,
                                                                             .relative = tolerance.ofElement,
                                                                             .ofLargest = tolerance.ofLargest,
                                                                             .ofIntegers = units});
  if (difference.agrees())
    return std::nullopt;
  const compare::Element &first = *difference.earliest;
  return fmt::format("{} of {} elements differ, the first at [{}]: got {}, expected {}", difference.differing,
                     difference.elements, fmt::join(first.index, ","), first.first, first.second);
}

template <typename Compare>
static std::optional<std::string> valueDifference(const Value &got, const Value &want, Compare compare) {
  static constexpr std::string_view kinds[] = {"a tensor", "a sequence", "an optional", "an optional sequence"};
  if (got.kind != want.kind)
    return fmt::format("got {}, expected {}", kinds[got.kind], kinds[want.kind]);
  if (got.isNone != want.isNone)
    return fmt::format("got {}, expected {}", got.isNone ? "none" : kinds[VX_SEQUENCE],
                       want.isNone ? "none" : kinds[VX_SEQUENCE]);
  if (got.tensors.size() != want.tensors.size())
    return fmt::format("got {} elements, expected {}", got.tensors.size(), want.tensors.size());
  for (size_t i = 0; i < want.tensors.size(); ++i)
    if (std::optional<std::string> difference = compare(got.tensors[i], want.tensors[i]))
      return want.kind == VX_TENSOR ? *difference : fmt::format("element {}: {}", i, *difference);
  return std::nullopt;
}

std::optional<std::string> outputDifference(const Value &got, const Value &want, double units) {
  return valueDifference(got, want, [units](const Tensor &a, const Tensor &b) {
    return tensorDifference(a, b, toleranceOf(b.type), units);
  });
}

std::optional<std::string> evaluatorDifference(const Value &got, const Value &want, uint64_t given) {
  return valueDifference(got, want, [given](const Tensor &a, const Tensor &b) {
    const double perElement = static_cast<double>(given) / static_cast<double>(std::max<uint64_t>(sizeOf(b), 1));
    return tensorDifference(a, b, roundingOf(b.type, std::max(LeastTerms, perElement)), 0);
  });
}

std::optional<std::string> typeDifference(const Value &got, const Value &want) {
  return valueDifference(got, want, tensorTypeDifference);
}

std::optional<std::string> dropoutDifference(const Value &got, const Value &want, const Tensor &input, double ratio) {
  if (std::optional<std::string> difference = typeDifference(got, want))
    return difference;
  if (got.kind != VX_TENSOR || want.tensors.front().dims != input.dims)
    return fmt::format("expected the sizes of the input, {}", typeText(input.type, input.dims));
  const Tensor &result = got.tensors.front();
  const double count = static_cast<double>(sizeOf(result));
  const bool isWide = result.type == VX_F32 || result.type == VX_F64;
  const double nearness = (isWide ? 1e-6 : toleranceOf(result.type).ofLargest) * compare::largestMagnitude(view(input));
  const bool isMask = result.type == VX_BOOL;
  double dropped = 0;
  for (uint64_t i = 0; i < sizeOf(result); ++i) {
    const double element = elementAsDouble(result, i);
    dropped += element == 0;
    if (isMask || element == 0)
      continue;
    const double kept = elementAsDouble(input, i) / (1 - ratio);
    if (!(std::fabs(element - kept) <= nearness))
      return fmt::format("element [{}] is {}, expected 0 or {}", fmt::join(compare::indexOf(i, result.dims), ","),
                         element, kept);
  }
  // Five standard deviations.
  if (std::fabs(dropped - count * ratio) > 5 * std::sqrt(count * ratio * (1 - ratio)))
    return fmt::format("{} of {} elements are dropped, with the ratio {}", dropped, count, ratio);
  return std::nullopt;
}

} // namespace vx::tools
