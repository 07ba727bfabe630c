#include "second_sizes.h"

#include "output_comparison.h"
#include "tensor_difference.h"

#include "vx/abi/module_header.h"

#include <fmt/format.h>

#include <algorithm>

namespace vx::tools {

// The evaluator takes its time: seconds for a network over an image.
static constexpr uint64_t MostElements = 50'000;

Tensor resized(const Tensor &tensor, const std::vector<int64_t> &dims) {
  const uint64_t count = elementCount(tensor.type, dims).value(), own = elementCount(tensor.type, tensor.dims).value();
  Tensor result{tensor.type, dims, std::vector<uint8_t>(byteCount(tensor.type, count))};
  for (uint64_t i = 0; own > 0 && i < count; ++i) {
    // What is drawn depends on the place in the dimensions that change.
    std::vector<int64_t> place = placeOf(i, dims), drawn;
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

namespace {

// Sizes of the case, and what they become.
using Sizes = std::map<int64_t, int64_t>;

class Search {
public:
  Search(const CaseData &data, const CaseData::Set &set, ReferenceModel &reference) : reference(reference) {
    for (const onnx::ValueInfoProto &input : data.graph().input())
      if (std::optional<Value> value = set.input(input.name(), CaseData::kindOf(input)))
        given.emplace(input.name(), std::move(*value));
    for (CaseData::Symbol &symbol : data.symbols())
      if (given.contains(symbol.input)) // not a default of the model
        symbols.push_back(std::move(symbol));
  }

  // Without those that are there twice, in the order of their symbols.
  std::vector<int64_t> sizes() const {
    std::vector<int64_t> found;
    for (const CaseData::Symbol &symbol : symbols)
      if (const int64_t size = sizeOf(symbol); std::find(found.begin(), found.end(), size) == found.end())
        found.push_back(size);
    return found;
  }

  uint64_t elements() const {
    uint64_t count = 0;
    for (const auto &[name, value] : given)
      for (const Tensor &tensor : value.tensors)
        count += elementCount(tensor.type, tensor.dims).value();
    return count;
  }

  // What comes of these sizes, or why the model does not take them.
  SecondSizes tryOut(const Sizes &changed) const {
    SecondSizes tried{SecondSizesResult::Compared, "", given, {}};
    for (auto &[name, value] : tried.inputs) {
      std::vector<int64_t> dims = value.tensors.empty() ? std::vector<int64_t>() : value.tensors.front().dims;
      bool differs = false;
      for (const CaseData::Symbol &symbol : symbols) {
        const auto size = symbol.input == name ? changed.find(sizeOf(symbol)) : changed.end();
        if (size == changed.end())
          continue;
        dims[symbol.dimension] = size->second;
        tried.text += fmt::format("{}{}={}", tried.text.empty() ? "" : ", ", symbol.name(), size->second);
        differs = true;
      }
      if (differs)
        value.tensors.front() = resized(value.tensors.front(), dims);
    }
    std::string refusal;
    if (!reference.call(tried.inputs, tried.outputs, refusal))
      return {SecondSizesResult::Refused, fmt::format("{}: {}", tried.text, refusal), {}, {}};
    return tried;
  }

private:
  int64_t sizeOf(const CaseData::Symbol &symbol) const {
    return given.at(symbol.input).tensors.front().dims.at(symbol.dimension);
  }

  ReferenceModel &reference;
  ReferenceModel::Values given;
  std::vector<CaseData::Symbol> symbols;
};

} // namespace

SecondSizes findSecondSizes(const CaseData &data, const CaseData::Set &set, ReferenceModel &reference) {
  const Search search(data, set, reference);
  const std::vector<int64_t> sizes = search.sizes();
  if (sizes.empty())
    return {SecondSizesResult::NoSymbols, "no size of the inputs is a symbol", {}, {}};
  if (const uint64_t count = search.elements(); count > MostElements)
    return {SecondSizesResult::TooLarge,
            fmt::format("the inputs have {} elements, the reference evaluator gets {} at most", count, MostElements),
            {},
            {}};
  Sizes all;
  for (int64_t size : sizes)
    all[size] = size + 1;
  SecondSizes first = search.tryOut(all);
  if (first.result == SecondSizesResult::Compared)
    return first;
  std::optional<SecondSizes> found;
  for (Sizes taken; int64_t size : sizes)
    for (int64_t other : {size + 1, 2 * size}) {
      Sizes tried = taken;
      tried[size] = other;
      SecondSizes outcome = search.tryOut(tried);
      if (outcome.result != SecondSizesResult::Compared)
        continue;
      taken = std::move(tried);
      found = std::move(outcome);
      break;
    }
  return found ? std::move(*found) : std::move(first);
}

std::optional<std::string> secondDifference(const SecondSizes &second, const std::map<std::string, Value> &got) {
  for (const auto &[name, value] : second.outputs) {
    const auto found = got.find(name);
    if (found == got.end())
      return fmt::format("output '{}' is missing", name);
    Value want = value;
    if (want.kind == VX_SEQUENCE && found->second.kind == VX_OPTIONAL)
      want.kind = VX_OPTIONAL;
    if (std::optional<std::string> difference = outputDifference(found->second, want))
      return fmt::format("output '{}': {}", name, *difference);
  }
  return std::nullopt;
}

} // namespace vx::tools
