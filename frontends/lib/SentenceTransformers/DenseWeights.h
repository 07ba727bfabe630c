// The weights of a dense layer, from a safetensors file.
#ifndef VX_LIB_SENTENCETRANSFORMERS_DENSEWEIGHTS_H
#define VX_LIB_SENTENCETRANSFORMERS_DENSEWEIGHTS_H

#include "vx/Frontend/SentenceTransformers/EmbeddingFolder.h"

#include "llvm/Support/Error.h"

namespace vx {

/// Reads `weight`, and `bias` if `hasBias`, of a layer. Its sizes and path are set already.
llvm::Error readDenseWeights(llvm::StringRef bytes, bool hasBias, DenseLayer &layer);

} // namespace vx

#endif
