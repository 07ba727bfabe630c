// A batch of texts, tokenised and run again and again.
#ifndef VX_BENCH_EMBEDDING_CONTESTANT_H
#define VX_BENCH_EMBEDDING_CONTESTANT_H

#include "measurement.h"
#include "vx/serve/embedder.hpp"

namespace vx::tools {

struct EmbeddingRequest {
  std::string name; // what the report calls the model
  std::string path; // of the module
  std::shared_ptr<const vx::serve::Embedder> embedder;
  vx::InstanceOptions instance; // of the embedder
  std::vector<std::string> texts;
  size_t length = 0; // tokens of each
};

// Texts of `length` tokens, with those that the model wants around them. Throws a ToolError where it cannot be met.
std::vector<std::string> makeTexts(const vx::serve::Embedder &embedder, size_t count, size_t length);

std::unique_ptr<Contestant> makeEmbeddingContestant(const EmbeddingRequest &request);

} // namespace vx::tools

#endif
