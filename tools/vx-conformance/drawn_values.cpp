#include "drawn_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace vx::tools {

namespace pb = vx::onnx;

static constexpr std::string_view RandomOps[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                 "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

// The most standard deviations that a sum may be off by.
static constexpr double MostDeviations = 5;

static bool isRandom(const pb::NodeProto &node) {
  return std::find(std::begin(RandomOps), std::end(RandomOps), node.op_type()) != std::end(RandomOps);
}

static const pb::AttributeProto *find(const pb::NodeProto &node, std::string_view name) {
  for (const pb::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

static double numberOf(const pb::NodeProto &node, std::string_view name, double otherwise) {
  const pb::AttributeProto *attribute = find(node, name);
  return attribute ? static_cast<double>(attribute->f()) : otherwise;
}

static Draw uniform(double low, double high) {
  const double width = high - low;
  // The mean of the fourth power of the distance is width^4 / 80.
  return {low, high, {}, (low + high) / 2, width * width / 12, std::pow(width, 4) * (1. / 80 - 1. / 144)};
}

static Draw normal(double mean, double deviation) {
  return {-INFINITY, INFINITY, {}, mean, deviation * deviation, 2 * std::pow(deviation, 4)};
}

// Value i with the share i.
static Draw choice(const std::vector<double> &shares) {
  Draw draw{INFINITY, -INFINITY, {}, 0, 0, 0};
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0)
      continue;
    const auto value = static_cast<double>(i);
    draw.allowed.push_back(value);
    draw.low = std::min(draw.low, value);
    draw.high = std::max(draw.high, value);
    draw.mean += shares[i] * value;
  }
  double fourth = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double square = std::pow(static_cast<double>(i) - draw.mean, 2);
    draw.variance += shares[i] * square;
    fourth += shares[i] * square * square;
  }
  draw.spread = std::max(0.0, fourth - draw.variance * draw.variance);
  return draw;
}

static Draw truth(double share) { return choice({1 - share, share}); }

static uint64_t countOf(const Tensor &tensor) { return elementCount(tensor.type, tensor.dims).value_or(0); }

// Elements of what Multinomial draws: `samples` of the classes of each row, whose shares are e to the power of the
// scores.
static std::vector<Draw> classes(const Tensor &scores, size_t samples) {
  std::vector<Draw> draws;
  const auto columns = static_cast<uint64_t>(scores.dims[1]);
  for (uint64_t row = 0; row < static_cast<uint64_t>(scores.dims[0]); ++row) {
    std::vector<double> shares;
    double greatest = -INFINITY, sum = 0;
    for (uint64_t i = 0; i < columns; ++i)
      greatest = std::max(greatest, elementAsDouble(scores, row * columns + i));
    for (uint64_t i = 0; i < columns; ++i)
      sum += shares.emplace_back(std::exp(elementAsDouble(scores, row * columns + i) - greatest));
    for (double &share : shares)
      share /= sum;
    draws.insert(draws.end(), samples, choice(shares));
  }
  return draws;
}

// Of a comparison of an element that is uniform with a limit: how often it is above.
static double shareAbove(const Draw &draw, double limit) {
  return draw.high > draw.low ? std::clamp((draw.high - limit) / (draw.high - draw.low), 0.0, 1.0)
                              : static_cast<double>(draw.low > limit);
}

static bool isUniform(const Draw &draw) { return draw.allowed.empty() && std::isfinite(draw.low); }

bool DrawnValues::draws(const CaseData &data) {
  const std::set<std::string> ops = data.ops();
  return std::any_of(std::begin(RandomOps), std::end(RandomOps),
                     [&](std::string_view op) { return ops.contains(std::string(op)); });
}

DrawnValues::DrawnValues(const CaseData &data, const CaseData::Set &set) : set(set) {
  for (const pb::NodeProto &node : data.graph().node()) {
    if (isRandom(node)) {
      hasSeeds &= find(node, "seed") != nullptr;
      hasSeed |= find(node, "seed") != nullptr;
    }
    follow(node);
  }
}

std::optional<Tensor> DrawnValues::known(const std::string &name) const {
  std::optional<Value> value = set.input(name, VX_TENSOR);
  return value ? std::optional(std::move(value->tensors.front())) : std::nullopt;
}

// What the node makes of what is known; nothing is said of the results of other nodes.
void DrawnValues::follow(const pb::NodeProto &node) {
  const std::string &op = node.op_type(), &result = node.output(0);
  const std::optional<Tensor> input = node.input_size() > 0 ? known(node.input(0)) : std::nullopt;
  auto drawn = [&](int index) {
    const auto found = index < node.input_size() ? values.find(node.input(index)) : values.end();
    return found == values.end() ? nullptr : &found->second;
  };
  if (op.starts_with("RandomUniform")) {
    values[result] = {uniform(numberOf(node, "low", 0), numberOf(node, "high", 1))};
  } else if (op.starts_with("RandomNormal")) {
    values[result] = {normal(numberOf(node, "mean", 0), numberOf(node, "scale", 1))};
  } else if (op == "Bernoulli" && input) {
    for (uint64_t i = 0; i < countOf(*input); ++i)
      values[result].push_back(truth(elementAsDouble(*input, i)));
  } else if (op == "Multinomial" && input && input->dims.size() == 2) {
    const pb::AttributeProto *samples = find(node, "sample_size");
    values[result] = classes(*input, samples ? static_cast<size_t>(samples->i()) : 1);
  } else if (const Draws *draws = drawn(0)) {
    const std::optional<Tensor> limit = node.input_size() > 1 ? known(node.input(1)) : std::nullopt;
    const bool isAbove = op.starts_with("Greater"), isBelow = op.starts_with("Less");
    const bool isWhole = !draws->front().allowed.empty();
    if (op == "Identity" || (isWhole && op.starts_with("Cast")))
      values[result] = *draws;
    else if ((isAbove || isBelow) && limit && draws->size() == 1 && isUniform(draws->front()))
      for (uint64_t i = 0; i < countOf(*limit); ++i) {
        const double above = shareAbove(draws->front(), elementAsDouble(*limit, i));
        values[result].push_back(truth(isAbove ? above : 1 - above));
      }
  }
}

std::optional<std::string> DrawnValues::judge(const std::string &name, const Tensor &got) {
  const auto found = values.find(name);
  if (found == values.end())
    return std::nullopt;
  const Draws &draws = found->second;
  const uint64_t count = countOf(got);
  if (draws.size() != 1 && draws.size() != count)
    return fmt::format("{} elements are drawn, expected {}", count, draws.size());
  // The bounds are rounded to the type as the elements are.
  const double rounding = got.type == VX_F32 || got.type == VX_F64 ? 1e-6 : 1e-2;
  Sums &sum = sums[name];
  for (uint64_t i = 0; i < count; ++i) {
    const Draw &draw = draws[draws.size() == 1 ? 0 : i];
    const double value = elementAsDouble(got, i);
    const double slack = draw.allowed.empty() ? rounding * std::max(std::fabs(draw.low), std::fabs(draw.high)) : 0;
    const std::string place = fmt::format("element [{}] is {}", fmt::join(compare::indexOf(i, got.dims), ","), value);
    if (!std::isfinite(value))
      return place + ", expected a number";
    if (!draw.allowed.empty() && std::find(draw.allowed.begin(), draw.allowed.end(), value) == draw.allowed.end())
      return fmt::format("{}, expected one of {}", place, fmt::join(draw.allowed, ", "));
    if (std::isfinite(draw.low) && (value < draw.low - slack || value > draw.high + slack))
      return fmt::format("{}, expected {} to {}", place, draw.low, draw.high);
    const double distance = value - draw.mean;
    sum.count += 1;
    sum.distance += distance;
    sum.variance += draw.variance;
    sum.squares += distance * distance;
    sum.spread += draw.spread;
  }
  return std::nullopt;
}

static bool areEqual(const std::map<std::string, Value> &left, const std::map<std::string, Value> &right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const auto &a, const auto &b) {
    return a.first == b.first && a.second.tensors.size() == b.second.tensors.size() &&
           std::equal(a.second.tensors.begin(), a.second.tensors.end(), b.second.tensors.begin(),
                      [](const Tensor &x, const Tensor &y) {
                        return x.dims == y.dims && x.bytes == y.bytes && x.strings == y.strings;
                      });
  });
}

std::optional<std::string> DrawnValues::add(size_t instance, size_t call, const std::map<std::string, Value> &outputs) {
  if (instance > 0) {
    if (call < first.size() && !areEqual(outputs, first[call]))
      return fmt::format("call {} of another instance gives other values", call);
    return std::nullopt;
  }
  if (call < callsAgain)
    first.push_back(outputs);
  if (call > 0 && !areEqual(outputs, first.front())) {
    if (hasSeeds)
      return fmt::format("call {} gives other values, and each node that draws has a seed", call);
    hasChanged = true;
  }
  // What is drawn once more with the same seeds says nothing new.
  if (call > 0 && hasSeeds)
    return std::nullopt;
  for (const auto &[name, value] : outputs)
    if (value.kind == VX_TENSOR)
      if (std::optional<std::string> difference = judge(name, value.tensors.front()))
        return fmt::format("output '{}': {}", name, *difference);
  return std::nullopt;
}

std::optional<std::string> DrawnValues::difference() const {
  for (const auto &[name, sum] : sums) {
    auto check = [&, &name = name, &sum = sum](double got, double want, double variance,
                                               std::string_view what) -> std::optional<std::string> {
      // A sum of numbers that do not vary is off by roundings alone.
      const double allowed = MostDeviations * std::sqrt(variance) + 1e-6 * sum.count;
      if (std::fabs(got - want) <= allowed)
        return std::nullopt;
      return fmt::format(
          "output '{}': {} of {} draws is off by {}, expected at most {}, which is {} standard deviations", name, what,
          sum.count, std::fabs(got - want), allowed, MostDeviations);
    };
    if (auto difference = check(sum.distance, 0, sum.variance, "the sum"))
      return difference;
    if (auto difference =
            check(sum.squares, sum.variance, sum.spread, "the sum of the squared distances from the mean"))
      return difference;
  }
  const bool varies = std::any_of(sums.begin(), sums.end(), [](const auto &one) { return one.second.variance > 0; });
  if (!hasSeed && varies && !hasChanged)
    return fmt::format("{} calls give the same values, and no node that draws has a seed", calls);
  return std::nullopt;
}

} // namespace vx::tools
