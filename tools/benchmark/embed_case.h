// Requests for embeddings, for a server under load.
#ifndef VX_BENCH_EMBED_CASE_H
#define VX_BENCH_EMBED_CASE_H

#include "embedding_contestant.h"
#include "server_bench.h"

#include <string>

namespace vx::tools {

struct EmbedRequest {
  std::string model;              // the server's name for it
  std::string encoding = "float"; // of vectors that the server sends
  LoadOptions load;
};

// Different requests of `batch` texts of `length` tokens each for all clients. Answers are compared with the vectors of
// each text alone: the engine's, or the server's without an engine. Throws a ToolError.
ServerCase makeEmbedCase(const EmbedRequest &options, const EmbeddingRequest *engine, size_t length, size_t batch);

} // namespace vx::tools

#endif
