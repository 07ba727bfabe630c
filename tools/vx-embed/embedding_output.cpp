#include "embedding_output.h"

#include "npy.h"
#include "output_file.h"
#include "tool_error.h"

#include <cmath>
#include <cstring>

namespace vx::tools {

void checkEmbeddingsName(const std::string &path) {
  if (!path.ends_with(".npy") && !path.ends_with(".jsonl"))
    throw usageError("--output: want a name that ends in .npy or .jsonl, got '{}'", path);
}

std::string vectorJson(std::span<const float> vector) {
  std::string text = "[";
  for (float value : vector) {
    if (text.size() > 1)
      text += ',';
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(text), "{}", value);
    else
      text += "null";
  }
  return text + "]";
}

void writeEmbeddings(const std::string &path, const vx::serve::Matrix &vectors) {
  if (path.ends_with(".npy")) {
    Tensor tensor{VX_F32, {static_cast<int64_t>(vectors.rows), static_cast<int64_t>(vectors.columns)}, {}};
    tensor.bytes.resize(vectors.values.size() * sizeof(float));
    if (!vectors.values.empty())
      std::memcpy(tensor.bytes.data(), vectors.values.data(), tensor.bytes.size());
    return writeFile(path, formatNpy(tensor));
  }
  std::string text;
  for (size_t row = 0; row < vectors.rows; ++row)
    text += fmt::format("{{\"index\":{},\"embedding\":{}}}\n", row, vectorJson(vectors.row(row)));
  writeFile(path, text);
}

std::string showVector(std::span<const float> vector, bool all) {
  constexpr size_t Shown = 3;
  std::string text = "[";
  const size_t count = all ? vector.size() : std::min(vector.size(), Shown);
  for (float value : vector.first(count))
    text += all ? fmt::format("{}{}", text.size() > 1 ? ", " : "", value)
                : fmt::format("{}{:.4f}", text.size() > 1 ? ", " : "", value);
  return text + (count < vector.size() ? fmt::format(", ... {} more]", vector.size() - count) : "]");
}

} // namespace vx::tools
