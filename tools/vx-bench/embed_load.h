// vx-bench embed --url: embeddings of a server under load.
#ifndef VX_BENCH_EMBED_LOAD_H
#define VX_BENCH_EMBED_LOAD_H

#include "embed_options.h"

namespace vx::tools {

// The exit code: 1 where a request has failed or a gate does not hold.
int benchEmbeddingServer(const EmbedOptions &options);

} // namespace vx::tools

#endif
