#include "expected_outputs.h"

#include "drawn_values.h"
#include "lossy_image.h"
#include "output_comparison.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <algorithm>

namespace vx::tools {

namespace pb = vx::onnx;

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
//
// MaxUnpool has places "computed considering the tensor as flattened 1-D tensor", up to the product of the result's
// sizes. The file counts them in a tensor of 4 x 4, which no input tells, and puts that into the result of 5 x 5.
//
// RoiAlign computes "the value of the sampled locations ... directly through bilinear interpolation", of which `max`
// takes the greatest. The file has the greatest of the four products of a neighbour with its weight.
// scripts/roialign-maximum computes what the text gives.
static const std::vector<TextValue> &textValues() {
  static const std::vector<TextValue> values = {
      {"resize_downsample_scales_linear_align_corners", "Y", {1, 4}},
      {"resize_downsample_scales_cubic_align_corners", "Y", {1, 2.5, 4, 7, 8.5, 10, 13, 14.5, 16}},
      {"maxunpool_export_with_output_shape", "y", {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0,
                                                   7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"roialign_mode_max",
       "Y",
       {0.567097, 0.528231, 0.458193, 0.658131, 0.645943, 0.71473,  0.659712, 0.691999, 0.747613, 0.430442, 0.317436,
        0.504527, 0.877421, 0.94425,  0.592368, 0.647628, 0.610975, 0.964691, 0.604312, 0.951241, 0.681665, 0.842267,
        0.902588, 0.401373, 0.465001, 0.40978,  0.55994,  0.498324, 0.461884, 0.6751,   0.54906,  0.8477,   0.582292,
        0.439188, 0.863244, 0.367628, 0.55638,  0.693448, 0.690144, 0.908872, 0.73854,  0.8511,   0.725,    0.9406,
        0.9144,   0.65266,  0.690868, 0.714816, 0.708808, 0.638344, 0.272372, 0.38842,  0.54464,  0.7836,   0.8496,
        0.451044, 0.511748, 0.82252,  0.9946,   0.98432,  0.595736, 0.599556, 0.664088, 0.90196,  0.970808, 0.63268,
        0.3784,   0.318852, 0.44506,  0.52738,  0.516296, 0.44052,  0.34926,  0.46974,  0.31802}}};
  return values;
}

ExpectedOutputs::ExpectedOutputs(const CaseData &data, std::string name)
    : data(data), name(std::move(name)), isDrawn(DrawnValues::draws(data)) {
  const std::set<std::string> ops = data.ops();
  if (ops.contains("Dropout") && data.graph().node_size() == 1)
    dropout = &data.graph().node(0);
  if (ops.contains("ImageDecoder") && data.graph().node_size() == 1)
    imageDecoder = &data.graph().node(0);
}

// What the node drops of, and how much, where it trains. Its inputs may be constants of the model, so the files say it.
std::optional<ExpectedOutputs::Drops> ExpectedOutputs::drops(const CaseData::Set &set) const {
  auto input = [&](int index) -> std::optional<Tensor> {
    std::optional<Value> value =
        index < dropout->input_size() ? set.input(dropout->input(index), VX_TENSOR) : std::nullopt;
    return value ? std::optional(std::move(value->tensors.front())) : std::nullopt;
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

bool ExpectedOutputs::readsLossyImage(const CaseData::Set &set) const {
  const std::optional<Value> file =
      imageDecoder && imageDecoder->input_size() ? set.input(imageDecoder->input(0), VX_TENSOR) : std::nullopt;
  return file && isLossyImage(file->tensors.front().bytes);
}

std::optional<std::string> ExpectedOutputs::difference(const CaseData::Set &set,
                                                       const std::map<std::string, Value> &got) const {
  const std::optional<Drops> dropped = drops(set);
  const double units = readsLossyImage(set) ? 1 : 0;
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
    if (isDrawn) // the files hold what NumPy once drew
      difference = typeDifference(found->second, want);
    else if (dropped)
      difference = dropoutDifference(found->second, want, dropped->input, dropped->ratio);
    else
      difference = outputDifference(found->second, want, units);
    if (difference)
      return fmt::format("output '{}': {}", output.name(), *difference);
  }
  return std::nullopt;
}

} // namespace vx::tools
