#include "DenseWeights.h"

#include "vx/Frontend/Parts/ConfigFile.h"
#include "vx/base/safetensors.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

namespace vx {

/// Of f32, f16 or bf16.
static llvm::Error readTensor(const SafeTensorsFile &file, llvm::StringRef name, llvm::ArrayRef<int64_t> dims,
                              const DenseLayer &layer, std::vector<float> &values) {
  auto found = llvm::find_if(file.tensors, [&](const SafeTensorEntry &tensor) { return tensor.name == name; });
  auto describe = [](llvm::ArrayRef<int64_t> sizes) {
    return llvm::join(llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }), ",");
  };
  std::string context = layer.path + ": tensor '" + name.str() + "': expected f32, f16 or bf16 [" + describe(dims) +
                        "], as " + layer.outFeatures + " and 'in_features' say, got ";
  if (found == file.tensors.end())
    return makeConfigError(context + "none");
  llvm::StringRef type = found->type->vxName;
  if ((type != "f32" && type != "f16" && type != "bf16") || llvm::ArrayRef(found->dims) != dims)
    return makeConfigError(context + type + " [" + describe(found->dims) + "]");
  const size_t size = found->type->bits / 8;
  values.resize(found->bytes.size() / size);
  if (type == "f32") {
    if (!values.empty())
      std::memcpy(values.data(), found->bytes.data(), found->bytes.size());
    return llvm::Error::success();
  }
  const llvm::fltSemantics &semantics = type == "f16" ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = found->bytes[2 * i] | static_cast<uint64_t>(found->bytes[2 * i + 1]) << 8;
    values[i] = llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToFloat();
  }
  return llvm::Error::success();
}

llvm::Error readDenseWeights(llvm::StringRef bytes, bool hasBias, DenseLayer &layer) {
  SafeTensorsFile file;
  std::string error;
  if (!parseSafeTensors({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, file, error))
    return makeConfigError(layer.path + ": " + error);
  if (llvm::Error problem = readTensor(file, "linear.weight", {layer.outputs, layer.inputs}, layer, layer.weight))
    return problem;
  return hasBias ? readTensor(file, "linear.bias", {layer.outputs}, layer, layer.bias) : llvm::Error::success();
}

} // namespace vx
