// A folder with a model of sentence embeddings or a cross-encoder, as sentence-transformers writes it: an ONNX model or
// its weights, its tokenizer, and the steps after the model.
#ifndef VX_FRONTEND_SENTENCETRANSFORMERS_EMBEDDINGFOLDER_H
#define VX_FRONTEND_SENTENCETRANSFORMERS_EMBEDDINGFOLDER_H

#include "vx/Frontend/Parts/EmbeddingFunctions.h"

namespace vx {

/// Reads everything except the model. Returns nullopt if something is missing or not supported, with a reason that
/// names file, key and both values.
std::optional<EmbeddingFolder> readEmbeddingFolder(llvm::StringRef path, std::string &error);

} // namespace vx

#endif
