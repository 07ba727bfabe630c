// The numbers of a dense layer, of a safetensors file.
#ifndef VX_LIB_SENTENCETRANSFORMERS_DENSEWEIGHTS_H
#define VX_LIB_SENTENCETRANSFORMERS_DENSEWEIGHTS_H

#include "vx/Frontend/SentenceTransformers/EmbeddingFolder.h"

#include "llvm/Support/Error.h"

namespace vx {

/// Fills `weight` and, where it has one, `bias` of a layer whose sizes and path are known.
llvm::Error readDenseWeights(llvm::StringRef bytes, bool hasBias, DenseLayer &layer);

} // namespace vx

#endif
