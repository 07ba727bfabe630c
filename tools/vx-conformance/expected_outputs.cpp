#include "expected_outputs.h"

#include "output_comparison.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <algorithm>

namespace vx::tools {

namespace pb = vx::onnx;

// Ops that draw numbers, which no other implementation draws alike. The files hold what NumPy drew.
static constexpr std::string_view RandomOps[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                 "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

namespace {

// A value that the text of an operator gives, and the file of the case does not.
struct TextValue {
  std::string_view name, output;
  std::vector<double> elements;
};

} // namespace

// Resize has, for align_corners, x_original = x_resized * (length_original - 1) / (length_resized - 1), where
// length_resized is "the length of the resized tensor", floor(0.6 * 4) = 2: corners meet, and the last element is 4.
// The file's values divide by 0.6 * 4 - 1, the length before it is rounded down, and end with 3.142857. So it is with
// three of four places, 0, 1.5 and 3, between which a cubic gives the middle of what rises evenly.
static const std::vector<TextValue> &textValues() {
  static const std::vector<TextValue> values = {
      {"resize_downsample_scales_linear_align_corners", "Y", {1, 4}},
      {"resize_downsample_scales_cubic_align_corners", "Y", {1, 2.5, 4, 7, 8.5, 10, 13, 14.5, 16}}};
  return values;
}

ExpectedOutputs::ExpectedOutputs(const CaseData &data, std::string name) : data(data), name(std::move(name)) {
  const std::set<std::string> ops = data.ops();
  isRandom = std::any_of(std::begin(RandomOps), std::end(RandomOps),
                         [&](std::string_view op) { return ops.contains(std::string(op)); });
  if (ops.contains("Dropout") && data.graph().node_size() == 1)
    dropout = &data.graph().node(0);
}

// What the node drops of, and how much, where it trains. Its inputs may be constants of the model, so the files say it.
std::optional<ExpectedOutputs::Drops> ExpectedOutputs::drops(const CaseData::Set &set) const {
  auto input = [&](int index) -> std::optional<Tensor> {
    const auto file = index < dropout->input_size() ? set.inputs.find(dropout->input(index)) : set.inputs.end();
    if (file == set.inputs.end())
      return std::nullopt;
    return readTensorFile(file->second, VX_TENSOR).tensors.front();
  };
  auto scalar = [&](int index, double otherwise) {
    const std::optional<Tensor> tensor = input(index);
    return tensor && !tensor->bytes.empty() ? elementAsDouble(*tensor, 0) : otherwise;
  };
  if (!dropout || scalar(2, 0) == 0)
    return std::nullopt;
  std::optional<Tensor> from = input(0);
  return from ? std::optional(Drops{std::move(*from), scalar(1, 0.5)}) : std::nullopt;
}

std::optional<std::string> ExpectedOutputs::difference(const CaseData::Set &set,
                                                       const std::map<std::string, Value> &got) const {
  const std::optional<Drops> dropped = drops(set);
  for (const pb::ValueInfoProto &output : data.graph().output()) {
    const auto found = got.find(output.name());
    if (found == got.end())
      return fmt::format("output '{}' is missing", output.name());
    Value want = readTensorFile(set.outputs.at(output.name()), CaseData::kindOf(output));
    for (const TextValue &value : textValues())
      if (value.name == name && value.output == output.name() && want.kind == VX_TENSOR &&
          elementCount(want.type, want.tensors.front().dims) == value.elements.size())
        for (size_t i = 0; i < value.elements.size(); ++i)
          setElement(want.tensors.front(), i, value.elements[i]);
    std::optional<std::string> difference;
    if (isRandom)
      difference = typeDifference(found->second, want);
    else if (dropped)
      difference = dropoutDifference(found->second, want, dropped->input, dropped->ratio);
    else
      difference = outputDifference(found->second, want);
    if (difference)
      return fmt::format("output '{}': {}", output.name(), *difference);
  }
  return std::nullopt;
}

} // namespace vx::tools
