#include "output_rule.h"

#include "npy.h"
#include "tool_error.h"
#include "vx/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace vx::tools {

OutputRule OutputRule::fromJson(const nlohmann::json &entry, const std::string &folder) {
  OutputRule rule;
  const std::string name = entry.value("rule", "");
  // A bound that is no number above 0 would allow everything, or nothing.
  auto number = [&entry, &name](const char *key) {
    const double value = entry.value(key, -1.0);
    if (!std::isfinite(value) || value < 0)
      throw fileError("rule '{}': expected a finite number of 0 or more for '{}', got '{}'", name, key, value);
    return value;
  };
  if (name == "exact") {
    rule.kind = Kind::Exact;
  } else if (name == "ulp") {
    rule.kind = Kind::Ulp;
    rule.units = number("units");
  } else if (name == "limit") {
    rule.kind = Kind::Limit;
    rule.limit = readNpy(folder + "/" + entry.value("limit", ""), VX_F64);
  } else if (name == "relative") {
    rule.kind = Kind::Relative;
    rule.factor = number("factor");
  } else if (name == "close") {
    rule.kind = Kind::Close;
    rule.rms = number("rms");
    rule.largest = number("largest");
  } else {
    throw fileError("expected a rule of exact, ulp, limit, relative and close, got '{}'", name);
  }
  return rule;
}

namespace {

// The rule as vx::compare has it; `limits` gets the bounds of each element.
compare::Tolerance toleranceOf(const OutputRule &rule, vx_element_type type, std::vector<double> &limits) {
  compare::Tolerance tolerance;
  switch (rule.kind) {
  case OutputRule::Kind::Exact:
    tolerance.isExact = true;
    break;
  case OutputRule::Kind::Ulp:
    // Half a unit is none, and still lets a device flush numbers to zero.
    tolerance.units = std::max(rule.units, 0.5);
    break;
  case OutputRule::Kind::Limit:
    for (uint64_t i = 0, count = elementCount(VX_F64, rule.limit.dims).value_or(0); i < count; ++i)
      limits.push_back(elementAsDouble(rule.limit, i));
    tolerance.limits = limits;
    break;
  case OutputRule::Kind::Relative:
    tolerance.relative = rule.factor;
    tolerance.absolute = std::ldexp(1.0, compare::floatSteps(type).leastExponent);
    break;
  case OutputRule::Kind::Close:
    tolerance.ofLargest = rule.largest;
    tolerance.rms = rule.rms;
    break;
  }
  return tolerance;
}

} // namespace

static std::string allowedText(const OutputRule &rule, const compare::Difference &difference, const Tensor &want) {
  if (!isFloat(want.type))
    return "they must be equal";
  switch (rule.kind) {
  case OutputRule::Kind::Exact:
    return "the bits must be equal";
  case OutputRule::Kind::Ulp:
    return fmt::format("allowed are {} units in the last place", rule.units);
  case OutputRule::Kind::Limit: {
    uint64_t number = 0;
    for (size_t i = 0; i < want.dims.size(); ++i)
      number = number * static_cast<uint64_t>(want.dims[i]) + static_cast<uint64_t>(difference.earliest->index[i]);
    return fmt::format("allowed is {:.3g} there", elementAsDouble(rule.limit, number));
  }
  case OutputRule::Kind::Relative:
    return fmt::format("allowed is {:.3g} of it", rule.factor);
  case OutputRule::Kind::Close:
    return fmt::format("the worst is {:.3g} times what is allowed, the mean {:.3g} times", difference.share,
                       difference.rmsShare);
  }
  return "";
}

OutputVerdict judge(const Tensor &got, const Tensor &want, const OutputRule &rule) {
  const std::string type = typeText(want.type, want.dims);
  if (got.type != want.type || got.dims != want.dims)
    return {false, HUGE_VAL, fmt::format("expected {}, got {}", type, typeText(got.type, got.dims)), {}, {}, {}};
  if (rule.kind == OutputRule::Kind::Limit && rule.limit.dims != want.dims)
    return {false, HUGE_VAL, fmt::format("the limits are {}, expected {}", typeText(VX_F64, rule.limit.dims), type),
            {},    {},       {}};
  std::vector<double> limits;
  const compare::Difference difference = compare::tensors(view(got), view(want), toleranceOf(rule, want.type, limits));
  if (const auto &element = difference.earliest) {
    const std::string place = fmt::format("[{}]", fmt::join(element->index, ","));
    return {false,
            difference.share,
            fmt::format("{}: {} of {} elements differ, the first at {}: expected {}, got {}; {}", type,
                        difference.differing, difference.elements, place, element->second, element->first,
                        allowedText(rule, difference, want)),
            place,
            element->second,
            element->first};
  }
  if (difference.rmsShare > 1)
    return {false,
            difference.rmsShare,
            fmt::format("{0}: root mean square of the difference, by that of the expected values: expected at most "
                        "{2:.3g}, got {1:.3g}",
                        type, difference.rms, rule.rms),
            {},
            {},
            {}};
  return {true, std::max(difference.share, difference.rmsShare), type, {}, {}, {}};
}

double relativeDistance(const Tensor &first, const Tensor &second) {
  double squares = 0, all = 0;
  const uint64_t count = elementCount(first.type, first.dims).value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    const double a = elementAsDouble(first, i), b = elementAsDouble(second, i);
    if (!std::isfinite(a) || !std::isfinite(b))
      continue;
    squares += (a - b) * (a - b);
    all += a * a;
  }
  return all > 0 ? std::sqrt(squares / all) : 0;
}

} // namespace vx::tools
