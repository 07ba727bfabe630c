// Feeds bytes to the readers of tensor files, NumPy's and ONNX's: they give a value that can be written and read again,
// or an error.
#include "mutate_protobuf.h"
#include "mutate_text.h"
#include "npy.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <cstdlib>
#include <cstring>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace vx::fuzz {

namespace {

constexpr std::string_view numpyMagic = "\x93NUMPY";

bool isNumpy(const uint8_t *data, size_t size) {
  return size >= 10 && std::memcmp(data, numpyMagic.data(), numpyMagic.size()) == 0;
}

/// The header's text by tokens, with its length set right: of version 1, in 2 bytes.
size_t mutateNumpy(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  const size_t begin = 10, length = size_t(data[8]) | size_t(data[9]) << 8;
  if (data[6] != 1 || length > size - begin)
    return 0;
  std::vector<uint8_t> header(maxSize), rest(data + begin + length, data + size);
  std::memcpy(header.data(), data + begin, length);
  const size_t made = mutateText(header.data(), length, std::min<size_t>(maxSize, 65535), seed);
  if (made == 0 || begin + made + rest.size() > maxSize)
    return 0;
  data[8] = static_cast<uint8_t>(made);
  data[9] = static_cast<uint8_t>(made >> 8);
  std::memcpy(data + begin, header.data(), made);
  if (!rest.empty())
    std::memcpy(data + begin + made, rest.data(), rest.size());
  return begin + made + rest.size();
}

void check(bool condition) {
  if (!condition)
    std::abort();
}

/// Its bytes are those of its type and dims: who takes it reads so many.
void checkSize(const tools::Tensor &tensor) {
  const std::optional<uint64_t> count = tools::elementCount(tensor.type, tensor.dims);
  check(count && tensor.bytes.size() == tools::byteCount(tensor.type, *count));
}

bool isSame(const tools::Tensor &a, const tools::Tensor &b) {
  return a.type == b.type && a.dims == b.dims && a.bytes == b.bytes;
}

void readNumpy(std::span<const uint8_t> bytes, vx_element_type wanted) {
  tools::Tensor tensor;
  try {
    tensor = tools::parseNpy("x.npy", bytes, wanted);
  } catch (const tools::ToolError &) {
    return;
  }
  checkSize(tensor);
  check(isSame(tensor, tools::parseNpy("y.npy", tools::formatNpy(tensor), tensor.type)));
}

void readOnnx(std::span<const uint8_t> bytes, vx_value_kind kind) {
  tools::Value value;
  try {
    value = tools::parseTensorFile("x.pb", bytes, kind);
  } catch (const tools::ToolError &) {
    return;
  }
  const tools::Value again = tools::parseTensorFile("y.pb", tools::formatTensorFile("x", value), kind);
  check(again.kind == value.kind && again.tensors.size() == value.tensors.size());
  for (size_t i = 0; i < value.tensors.size(); ++i) {
    checkSize(value.tensors[i]);
    check(isSame(value.tensors[i], again.tensors[i]));
  }
}

} // namespace

} // namespace vx::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  size_t made = 0;
  if (seed % 4 != 0)
    made = vx::fuzz::isNumpy(data, size) ? vx::fuzz::mutateNumpy(data, size, maxSize, seed / 4)
                                         : vx::fuzz::mutateProtobuf(data, size, maxSize, seed / 4);
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  if (vx::fuzz::isNumpy(data, size)) {
    for (vx_element_type wanted : {VX_F32, VX_BF16, VX_I8})
      vx::fuzz::readNumpy(bytes, wanted);
    return 0;
  }
  for (vx_value_kind kind : {VX_TENSOR, VX_SEQUENCE, VX_OPTIONAL})
    vx::fuzz::readOnnx(bytes, kind);
  return 0;
}
