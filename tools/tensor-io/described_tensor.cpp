#include "described_tensor.h"

#include "command_line.h"
#include "tool_error.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace vx::tools {

// The generator: r(i) = mix(key + (i + 1) * step) with key = mix(seed + step) ^ hash(name).
static constexpr uint64_t Step = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

static uint64_t hashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

void fillRandom(Tensor &tensor, std::string_view input, uint64_t seed) { fillRandom(tensor, input, seed, 0, 4); }

void fillRandom(Tensor &tensor, std::string_view input, uint64_t seed, int64_t lower, int64_t upper) {
  const uint64_t values = upper > lower ? static_cast<uint64_t>(upper) - static_cast<uint64_t>(lower) : 1;
  const uint64_t key = mix(seed + Step) ^ hashName(input);
  const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t random = mix(key + (i + 1) * Step);
    if (tensor.type == VX_STRING)
      tensor.strings[i] = std::string(1, static_cast<char>('a' + (random >> 32) % 26));
    else if (isFloat(tensor.type))
      setElement(tensor, i, std::ldexp(static_cast<double>(random >> 40), -23) - 1);
    else if (tensor.type == VX_BOOL)
      setElement(tensor, i, static_cast<double>(random >> 63));
    else
      setElement(tensor, i, static_cast<double>(lower) + static_cast<double>((random >> 32) % values));
  }
}

Tensor makeTensor(std::string_view input, vx_element_type type, std::vector<int64_t> dims) {
  const std::optional<uint64_t> count = elementCount(type, dims);
  if (!count)
    throw usageError("input '{}': {} is negative or too large", input, typeText(type, dims));
  Tensor tensor = {type, std::move(dims), std::vector<uint8_t>(byteCount(type, *count))};
  if (type == VX_STRING)
    tensor.strings.resize(*count);
  return tensor;
}

Tensor makeDescribedTensor(std::string_view input, std::string_view text, uint64_t seed) {
  const size_t open = text.find('['), close = text.find("]:");
  if (open == std::string::npos || close == std::string::npos || close < open)
    throw usageError("input '{}': expected @FILE or TYPE[DIMS]:random|zeros|ones, got '{}'", input, text);
  const std::optional<vx_element_type> type = elementTypeFromName(text.substr(0, open));
  if (!type)
    throw usageError("input '{}': unknown element type '{}'", input, text.substr(0, open));
  std::vector<int64_t> dims;
  for (const std::string &piece : splitList(text.substr(open + 1, close - open - 1))) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), dim);
    if (error != std::errc() || end != piece.data() + piece.size() || dim < 0)
      throw usageError("input '{}': expected a size of 0 or more, got '{}'", input, piece);
    dims.push_back(dim);
  }
  Tensor tensor = makeTensor(input, *type, std::move(dims));
  const std::string_view fill = text.substr(close + 2);
  if (fill == "random") {
    fillRandom(tensor, input, seed);
  } else if (fill == "ones") {
    const uint64_t count = elementCount(tensor.type, tensor.dims).value_or(0);
    for (uint64_t i = 0; i < count; ++i)
      setElement(tensor, i, 1);
  } else if (fill != "zeros") {
    throw usageError("input '{}': expected random, zeros or ones, got '{}'", input, fill);
  }
  return tensor;
}

} // namespace vx::tools
