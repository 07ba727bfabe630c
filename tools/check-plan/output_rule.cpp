#include "output_rule.h"

#include "npy.h"
#include "tool_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
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

static std::string placeText(uint64_t index, const std::vector<int64_t> &dims) {
  std::vector<int64_t> place(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    place[i] = static_cast<int64_t>(index % static_cast<uint64_t>(dims[i]));
    index /= static_cast<uint64_t>(dims[i]);
  }
  return fmt::format("[{}]", fmt::join(place, ","));
}

// Bits of mantissa and the least normal number's exponent.
struct FloatFacts {
  int mantissa, least;
};

static FloatFacts factsOf(vx_element_type type) {
  switch (type) {
  case VX_F64:
    return {52, -1022};
  case VX_F32:
    return {23, -126};
  case VX_F16:
    return {10, -14};
  case VX_BF16:
    return {7, -126};
  default:
    return {2, -14};
  }
}

// The bits of an f64 as a number that counts places; those of all others are exact in an f64.
static int64_t orderedBits(double value) {
  const int64_t magnitude = std::bit_cast<int64_t>(std::fabs(value));
  return value < 0 ? -magnitude : magnitude;
}

// How many numbers of the type lie between two finite ones.
static double placesApart(double a, double b, FloatFacts facts) {
  if (facts.mantissa == 52) {
    const int64_t first = orderedBits(a), second = orderedBits(b);
    return static_cast<double>(first > second ? uint64_t(first) - uint64_t(second)
                                              : uint64_t(second) - uint64_t(first));
  }
  auto ordered = [facts](double value) {
    const double magnitude = std::fabs(value);
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), facts.least) : facts.least;
    // Numbers of one exponent stand at equal distances; below the least exponent as at it.
    const double place = std::ldexp(magnitude, facts.mantissa - exponent) +
                         std::ldexp(static_cast<double>(exponent - facts.least), facts.mantissa);
    return value < 0 ? -place : place;
  };
  return std::fabs(ordered(a) - ordered(b));
}

namespace {

class Judge {
public:
  Judge(const Tensor &got, const Tensor &want, const OutputRule &rule)
      : got(got), want(want), rule(rule), facts(factsOf(want.type)),
        count(elementCount(want.type, want.dims).value_or(0)) {}

  OutputVerdict verdict() {
    const std::string type = typeText(want.type, want.dims);
    if (got.type != want.type || got.dims != want.dims)
      return {false, HUGE_VAL, fmt::format("expected {}, got {}", type, typeText(got.type, got.dims)), {}, {}, {}};
    if (rule.kind == OutputRule::Kind::Limit && rule.limit.dims != want.dims)
      return {false, HUGE_VAL, fmt::format("the limits are {}, expected {}", typeText(VX_F64, rule.limit.dims), type),
              {},    {},       {}};
    if (!isFloat(want.type) || rule.kind == OutputRule::Kind::Exact)
      compareBits();
    else
      compareFloats();
    if (differing) {
      const std::string place = placeText(first, want.dims), expected = elementText(want, first),
                        found = elementText(got, first);
      return {false,
              worst,
              fmt::format("{}: {} of {} elements differ, the first at {}: expected {}, got {}; {}", type, differing,
                          count, place, expected, found, allowedText()),
              place,
              expected,
              found};
    }
    if (meanShare > 1)
      return {false,
              meanShare,
              fmt::format(
                  "{}: the root mean square of the difference is {:.3g} of that of what is wanted, allowed is {:.3g}",
                  type, meanShare * rule.rms, rule.rms),
              {},
              {},
              {}};
    return {true, std::max(worst, meanShare), type, {}, {}, {}};
  }

private:
  void differs(uint64_t index) {
    if (differing++ == 0)
      first = index;
  }

  void compareBits() {
    const uint64_t size = vx_element_type_bits(want.type) / 8;
    for (uint64_t i = 0; i < count; ++i) {
      const bool same = size == 0 ? elementText(got, i) == elementText(want, i)
                                  : std::equal(got.bytes.begin() + static_cast<ptrdiff_t>(i * size),
                                               got.bytes.begin() + static_cast<ptrdiff_t>((i + 1) * size),
                                               want.bytes.begin() + static_cast<ptrdiff_t>(i * size));
      if (!same && !(isFloat(want.type) && std::isnan(elementAsDouble(got, i)) && std::isnan(elementAsDouble(want, i))))
        differs(i);
    }
    worst = differing ? HUGE_VAL : 0;
  }

  double largestWanted() const {
    double largest = 0;
    for (uint64_t i = 0; i < count; ++i)
      if (const double value = std::fabs(elementAsDouble(want, i)); std::isfinite(value))
        largest = std::max(largest, value);
    return largest;
  }

  void compareFloats() {
    const double most = rule.kind == OutputRule::Kind::Close ? rule.largest * largestWanted() : 0;
    const double tiny = std::ldexp(1.0, facts.least);
    double squares = 0, wantedSquares = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const double a = elementAsDouble(got, i), b = elementAsDouble(want, i);
      if (!std::isfinite(a) || !std::isfinite(b)) {
        if (!(a == b || (std::isnan(a) && std::isnan(b)))) {
          worst = HUGE_VAL;
          differs(i);
        }
        continue;
      }
      const double distance = std::fabs(a - b);
      double share = 0; // of what is allowed
      // A bound that is not a number allows nothing.
      auto of = [distance](double allowed) { return distance == 0 && allowed >= 0 ? 0 : distance / allowed; };
      switch (rule.kind) {
      case OutputRule::Kind::Exact:
        break;
      case OutputRule::Kind::Ulp: {
        const bool flushed = want.type != VX_F16 && std::fabs(a) <= tiny && std::fabs(b) <= tiny && (a == 0 || b == 0);
        const double places = flushed ? 0 : placesApart(a, b, facts);
        share = places == 0 ? 0 : places / rule.units;
        break;
      }
      case OutputRule::Kind::Limit:
        share = of(elementAsDouble(rule.limit, i));
        break;
      case OutputRule::Kind::Relative:
        share = of(rule.factor * std::fabs(b) + tiny);
        break;
      case OutputRule::Kind::Close:
        squares += distance * distance;
        wantedSquares += b * b;
        share = of(most);
        break;
      }
      worst = std::max(worst, share);
      if (!(share <= 1))
        differs(i);
    }
    if (rule.kind == OutputRule::Kind::Close && squares > 0)
      meanShare = std::sqrt(squares / wantedSquares) / rule.rms;
  }

  std::string allowedText() const {
    if (!isFloat(want.type))
      return "they must be equal";
    switch (rule.kind) {
    case OutputRule::Kind::Exact:
      return "the bits must be equal";
    case OutputRule::Kind::Ulp:
      return fmt::format("allowed are {} units in the last place", rule.units);
    case OutputRule::Kind::Limit:
      return fmt::format("allowed is {:.3g} there", elementAsDouble(rule.limit, first));
    case OutputRule::Kind::Relative:
      return fmt::format("allowed is {:.3g} of it", rule.factor);
    case OutputRule::Kind::Close:
      return fmt::format("the worst is {:.3g} times what is allowed, the mean {:.3g} times", worst, meanShare);
    }
    return "";
  }

  const Tensor &got, &want;
  const OutputRule &rule;
  const FloatFacts facts;
  const uint64_t count;
  uint64_t differing = 0, first = 0;
  double worst = 0, meanShare = 0;
};

} // namespace

OutputVerdict judge(const Tensor &got, const Tensor &want, const OutputRule &rule) {
  return Judge(got, want, rule).verdict();
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
