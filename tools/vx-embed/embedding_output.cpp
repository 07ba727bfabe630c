#include "embedding_output.h"

#include "npy.h"
#include "tool_error.h"

#include <algorithm>
#include <cmath>

namespace vx::tools {

void checkEmbeddingsName(const std::string &path) {
  if (!path.ends_with(".npy") && !path.ends_with(".jsonl"))
    throw usageError("--output: expected a name that ends in .npy or .jsonl, got '{}'", path);
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

EmbeddingsFile::EmbeddingsFile(const std::string &path, size_t rows, size_t columns)
    : file(path), isNpy(path.ends_with(".npy")) {
  const int64_t dims[] = {static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
  if (!isNpy)
    return;
  const std::vector<uint8_t> header = formatNpyHeader(VX_F32, dims);
  file.reserve(header.size() + uint64_t(rows) * columns * sizeof(float));
  file.write(header);
}

void EmbeddingsFile::add(const vx::serve::Matrix &vectors) {
  if (isNpy)
    return file.write(
        {reinterpret_cast<const uint8_t *>(vectors.values.data()), vectors.values.size() * sizeof(float)});
  constexpr size_t Enough = size_t(1) << 20;
  std::string text;
  for (size_t i = 0; i < vectors.rows; ++i) {
    text += fmt::format("{{\"index\":{},\"embedding\":{}}}\n", row++, vectorJson(vectors.row(i)));
    if (text.size() < Enough && i + 1 < vectors.rows)
      continue;
    file.write(text);
    text.clear();
  }
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
