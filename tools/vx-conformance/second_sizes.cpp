#include "second_sizes.h"

#include "output_comparison.h"

#include "vx/abi/module_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace vx::tools {

// The evaluator takes its time: seconds for a network over an image.
static constexpr uint64_t MostElements = 50'000;

Tensor resized(const Tensor &tensor, const std::vector<int64_t> &dims) {
  const uint64_t count = elementCount(tensor.type, dims).value(), own = elementCount(tensor.type, tensor.dims).value();
  Tensor result{tensor.type, dims, std::vector<uint8_t>(byteCount(tensor.type, count))};
  for (uint64_t i = 0; own > 0 && i < count; ++i) {
    // What is drawn depends on the place in the dimensions that change.
    std::vector<int64_t> place = compare::indexOf(i, dims), drawn;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] != tensor.dims[d])
        drawn.push_back(place[d]);
    uint64_t index = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != tensor.dims[d]) {
        drawn.push_back(static_cast<int64_t>(d));
        place[d] = static_cast<int64_t>(vx_hash64(drawn.data(), drawn.size() * sizeof(int64_t)) %
                                        static_cast<uint64_t>(tensor.dims[d]));
      }
      index = index * static_cast<uint64_t>(tensor.dims[d]) + static_cast<uint64_t>(place[d]);
    }
    copyElement(tensor, index, result, i);
  }
  return result;
}

size_t countSets(const CaseData &data, Mode mode) { return mode == Mode::Constant ? 1 : data.sets().size(); }

ReferenceModel::Values inputsOf(const CaseData &data, const CaseData::Set &set) {
  ReferenceModel::Values inputs;
  for (const onnx::ValueInfoProto &input : data.graph().input())
    if (std::optional<Value> value = set.input(input.name(), CaseData::kindOf(input)))
      inputs.emplace(input.name(), std::move(*value));
  return inputs;
}

static uint64_t countElements(const ReferenceModel::Values &values) {
  uint64_t count = 0;
  for (const auto &[name, value] : values)
    for (const Tensor &tensor : value.tensors)
      count += elementCount(tensor.type, tensor.dims).value_or(0);
  return count;
}

std::vector<SizedCall> callOwnSizes(const CaseData &data, Mode mode, ReferenceModel &reference) {
  std::vector<SizedCall> calls;
  for (size_t i = 0; i < countSets(data, mode); ++i) {
    SizedCall call{"", inputsOf(data, data.sets()[i]), {}, ""};
    if (countElements(call.inputs) > MostElements)
      return {};
    (void)reference.call(call.inputs, call.outputs, call.refusal);
    calls.push_back(std::move(call));
  }
  return calls;
}

namespace {

// The sizes of a case that are symbols, and what the model makes of others in their places.
class Sizes {
public:
  using List = std::vector<int64_t>; // of all symbols

  Sizes(const CaseData &data, Mode mode, const CaseData::Set &set, ReferenceModel &reference)
      : reference(reference), given(inputsOf(data, set)) {
    for (CaseData::Symbol &symbol : data.symbols(mode)) {
      const auto value = given.find(symbol.input);
      if (value == given.end()) // the model has a default
        continue;
      own.push_back(value->second.tensors.front().dims.at(symbol.dimension));
      symbols.push_back(std::move(symbol));
    }
  }

  const List &ofFiles() const { return own; }
  const std::string &inputOf(size_t symbol) const { return symbols[symbol].input; }

  uint64_t elements() const { return countElements(given); }

  SizedCall call(const List &sizes) const {
    SizedCall made{"", given, {}, ""};
    std::map<std::string, List> dims;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (sizes[i] == own[i])
        continue;
      List &ofInput = dims.try_emplace(symbols[i].input, given.at(symbols[i].input).tensors.front().dims).first->second;
      ofInput[symbols[i].dimension] = sizes[i];
      made.sizes += fmt::format("{}{}={}", made.sizes.empty() ? "" : ", ", symbols[i].name(), sizes[i]);
    }
    for (const auto &[input, ofInput] : dims) {
      Tensor &tensor = made.inputs.at(input).tensors.front();
      tensor = resized(tensor, ofInput);
    }
    (void)reference.call(made.inputs, made.outputs, made.refusal);
    return made;
  }

private:
  ReferenceModel &reference;
  const ReferenceModel::Values given;
  std::vector<CaseData::Symbol> symbols;
  List own;
};

using Group = std::vector<size_t>; // numbers of symbols

// Enlarges one group of symbols after another.
class Enlarger {
public:
  explicit Enlarger(const Sizes &sizes) : sizes(sizes), taken(sizes.ofFiles()) {}

  bool enlarge(const Group &group) {
    for (int64_t factor : {1, 2}) {
      Sizes::List tried = taken;
      for (size_t symbol : group)
        tried[symbol] = factor == 1 ? tried[symbol] + 1 : tried[symbol] * factor;
      SizedCall call = sizes.call(tried);
      if (!call.refusal.empty())
        continue;
      taken = std::move(tried);
      found = std::move(call);
      return true;
    }
    return false;
  }

  // The whole group, or what of it the model takes without one of its inputs, or one by one.
  void enlargePartOf(const Group &group) {
    if (enlarge(group) || group.size() == 1)
      return;
    std::set<std::string> inputs;
    for (size_t symbol : group)
      inputs.insert(sizes.inputOf(symbol));
    for (const std::string &left : inputs) {
      Group others;
      for (size_t symbol : group)
        if (sizes.inputOf(symbol) != left)
          others.push_back(symbol);
      if (others.size() > 1 && enlarge(others))
        return;
    }
    for (size_t symbol : group)
      (void)enlarge({symbol});
  }

  const Sizes::List &largest() const { return taken; }

  std::optional<SizedCall> found;

private:
  const Sizes &sizes;
  Sizes::List taken;
};

} // namespace

// Symbols of one size.
static std::vector<Group> groupsOf(const Sizes::List &sizes) {
  std::vector<Group> groups;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group &other) { return sizes[other.front()] == sizes[i]; });
    if (group == groups.end())
      groups.push_back({i});
    else
      group->push_back(i);
  }
  return groups;
}

// Each group and each symbol alone is 0, 1 and one more, without the second sizes.
static std::vector<Sizes::List> edgesOf(const Sizes &sizes, std::vector<Group> groups, const Sizes::List &second) {
  const Sizes::List &own = sizes.ofFiles();
  std::map<std::string, Group> inputs;
  for (size_t i = 0; i < own.size(); ++i) {
    groups.push_back({i});
    inputs[sizes.inputOf(i)].push_back(i);
  }
  for (auto &[name, group] : inputs)
    groups.push_back(std::move(group));
  std::set<Sizes::List> seen{own, second};
  std::vector<Sizes::List> edges;
  for (const Group &group : groups)
    for (int edge = 0; edge < 3; ++edge) {
      Sizes::List tried = own;
      for (size_t symbol : group)
        tried[symbol] = edge < 2 ? edge : own[symbol] + 1;
      if (seen.insert(tried).second)
        edges.push_back(std::move(tried));
    }
  return edges;
}

SecondSizes findSecondSizes(const CaseData &data, Mode mode, const CaseData::Set &set, ReferenceModel &reference,
                            bool withOthers) {
  const Sizes sizes(data, mode, set, reference);
  const Sizes::List &own = sizes.ofFiles();
  if (own.empty())
    return {SecondSizesResult::NoSymbols, "no size of the inputs is a symbol"};
  if (const uint64_t count = sizes.elements(); count > MostElements)
    return {SecondSizesResult::TooLarge,
            fmt::format("the inputs have {} elements, the reference evaluator gets {} at most", count, MostElements)};
  const std::vector<Group> groups = groupsOf(own);
  Sizes::List other = own;
  for (int64_t &size : other)
    ++size;
  SizedCall second = sizes.call(other);
  if (!second.refusal.empty()) {
    Enlarger enlarger(sizes);
    for (const Group &group : groups)
      enlarger.enlargePartOf(group);
    if (enlarger.found) {
      second = std::move(*enlarger.found);
      other = enlarger.largest();
    }
  }
  SecondSizes result;
  result.message = second.sizes;
  if (!second.refusal.empty()) {
    result.result = SecondSizesResult::Refused;
    result.message += ": " + second.refusal;
  }
  result.calls.push_back(std::move(second));
  if (!withOthers)
    return result;
  for (const Sizes::List &edge : edgesOf(sizes, groups, other))
    result.calls.push_back(sizes.call(edge));
  return result;
}

std::optional<std::string> outputsDifference(const SizedCall &call, const std::map<std::string, Value> &got) {
  const uint64_t given = countElements(call.inputs);
  for (const auto &[name, value] : call.outputs) {
    const auto found = got.find(name);
    if (found == got.end())
      return fmt::format("output '{}' is missing", name);
    Value want = value;
    if (want.kind == VX_SEQUENCE && found->second.kind == VX_OPTIONAL)
      want.kind = VX_OPTIONAL;
    if (std::optional<std::string> difference = evaluatorDifference(found->second, want, given))
      return fmt::format("output '{}': {}", name, *difference);
  }
  return std::nullopt;
}

} // namespace vx::tools
