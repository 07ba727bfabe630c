#include "tensor_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vx::tools {

static double defaultTolerance(vx_element_type type) {
  switch (type) {
  case VX_F64:
    return 1e-10;
  case VX_F32:
    return 1e-4;
  case VX_F16:
    return 4e-3;
  case VX_BF16:
    return 3e-2;
  default:
    return 0.25; // of two or three bits of mantissa
  }
}

std::vector<int64_t> placeOf(uint64_t index, const std::vector<int64_t> &dims) {
  std::vector<int64_t> place(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    place[i] = static_cast<int64_t>(index % static_cast<uint64_t>(dims[i]));
    index /= static_cast<uint64_t>(dims[i]);
  }
  return place;
}

double largestMagnitude(const Tensor &tensor) {
  double largest = 0;
  for (uint64_t i = 0, count = elementCount(tensor.type, tensor.dims).value_or(0); i < count; ++i)
    if (const double value = std::fabs(elementAsDouble(tensor, i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

TensorDifference compareTensors(const Tensor &first, const Tensor &second, std::optional<double> tolerance) {
  TensorDifference result;
  result.type = typeText(first.type, first.dims);
  if (first.type != second.type || first.dims != second.dims) {
    result.type += " and " + typeText(second.type, second.dims);
    result.isComparable = false;
    return result;
  }
  result.elements = elementCount(first.type, first.dims).value_or(0);
  // The same bytes, as most integers are, need no second look.
  const bool isReal = isFloat(first.type);
  if (first.bytes == second.bytes && first.strings == second.strings && !isReal)
    return result;
  if (isReal)
    result.allowed =
        tolerance.value_or(defaultTolerance(first.type)) * std::max(largestMagnitude(first), largestMagnitude(second));

  std::optional<uint64_t> furthest, earliest;
  double most = 0; // an infinity against a number is further than any number
  for (uint64_t i = 0; i < result.elements; ++i) {
    const double a = elementAsDouble(first, i), b = elementAsDouble(second, i);
    double distance = std::fabs(a - b);
    bool differs = distance > result.allowed;
    if (std::isfinite(a) && std::isfinite(b)) {
      // 64-bit integers above 2^53 are no exact doubles.
      if (!isReal && distance == 0)
        differs = elementText(first, i) != elementText(second, i);
      result.largest = std::max(result.largest, distance);
      if (distance > 0)
        result.largestRelative = std::max(result.largestRelative, distance / std::max(std::fabs(a), std::fabs(b)));
    } else {
      differs = !(a == b || (std::isnan(a) && std::isnan(b)));
      distance = differs ? INFINITY : 0;
    }
    result.differing += differs;
    if (differs && !earliest)
      earliest = i;
    if ((differs && !furthest) || distance > most) {
      furthest = i;
      most = std::max(most, distance);
    }
  }
  if (furthest) {
    result.place = placeOf(*furthest, first.dims);
    result.first = elementText(first, *furthest);
    result.second = elementText(second, *furthest);
  }
  if (earliest) {
    result.firstPlace = placeOf(*earliest, first.dims);
    result.firstValues = {elementText(first, *earliest), elementText(second, *earliest)};
  }
  return result;
}

std::string TensorDifference::text() const {
  if (!isComparable)
    return type + " do not compare";
  if (differing == 0)
    return fmt::format("{}: largest difference {:.3g}, allowed {:.3g}", type, largest, allowed);
  std::string text = fmt::format("{}: {} of {} elements differ, the most at [{}]: {} and {}", type, differing, elements,
                                 fmt::join(place, ","), first, second);
  if (firstPlace != place)
    text += fmt::format(", the first at [{}]: {} and {}", fmt::join(firstPlace, ","), firstValues[0], firstValues[1]);
  return text + fmt::format(", allowed is a difference of {:.3g}", allowed);
}

} // namespace vx::tools
