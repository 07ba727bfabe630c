// A peer that makes the vectors that a module of embeddings makes.
#ifndef VX_BENCH_EMBEDDING_PEER_H
#define VX_BENCH_EMBEDDING_PEER_H

#include "embedding_contestant.h"
#include "peer.h"

#include <filesystem>

namespace vx::tools {

// `base` names the peer, its script and model, and the module. Writes the module's tokenizer to `scratch`.
PeerRequest makeEmbeddingPeer(const PeerRequest &base, const vx::serve::Embedder &embedder, const vx::Module &module,
                              uint32_t threads, const std::filesystem::path &scratch);

} // namespace vx::tools

#endif
