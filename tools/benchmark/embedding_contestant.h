// A batch of texts, tokenised and run again and again.
#ifndef VX_BENCH_EMBEDDING_CONTESTANT_H
#define VX_BENCH_EMBEDDING_CONTESTANT_H

#include "measurement.h"
#include "vx/serve/embedder.hpp"

#include <functional>
#include <span>

namespace vx::tools {

struct EmbeddingRequest {
  std::string name; // what the report calls the model
  std::string path; // of the module
  std::shared_ptr<const vx::serve::Embedder> embedder;
  vx::InstanceOptions instance; // of the embedder
  std::vector<std::string> texts;
  size_t length = 0; // tokens of each
  bool usePrompt = false;
};

// How many tokens texts have together, with those that the model adds around each.
using CountTokens = std::function<size_t(std::span<const std::string> texts)>;
CountTokens countTokensOf(const vx::serve::Embedder &embedder, bool usePrompt);

// Different texts of `length` tokens each. Throws a ToolError where it cannot be met.
std::vector<std::string> makeTexts(const CountTokens &countTokens, size_t count, size_t length);

std::unique_ptr<Contestant> makeEmbeddingContestant(const EmbeddingRequest &request);

} // namespace vx::tools

#endif
