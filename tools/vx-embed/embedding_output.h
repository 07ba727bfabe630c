// Vectors as files and as text.
#ifndef VX_EMBED_EMBEDDING_OUTPUT_H
#define VX_EMBED_EMBEDDING_OUTPUT_H

#include "output_file.h"
#include "vx/serve/embedder.hpp"

#include <string>

namespace vx::tools {

// By the end of the name: .npy, f32 of one row for each text; or .jsonl, a line {"index":0,"embedding":[...]} for each,
// whose numbers read back as they are. Whole or not there.
class EmbeddingsFile {
public:
  // Of so many rows in all. Throw a ToolError.
  EmbeddingsFile(const std::string &path, size_t rows, size_t columns);
  void add(const vx::serve::Matrix &vectors);
  void commit() { file.commit(); }

private:
  FileWriter file;
  const bool isNpy;
  size_t row = 0;
};
// Throws a usage error for a name with another end.
void checkEmbeddingsName(const std::string &path);

// "[-0.0123, 0.0456, 0.0071, ... 381 more]", or all of them.
std::string showVector(std::span<const float> vector, bool all);
// As JSON; what is no number is null.
std::string vectorJson(std::span<const float> vector);

} // namespace vx::tools

#endif
