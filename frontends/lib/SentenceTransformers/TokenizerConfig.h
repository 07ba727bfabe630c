// Settings of tokenizer_config.json that a tokenizer's own file lacks.
#ifndef VX_LIB_SENTENCETRANSFORMERS_TOKENIZERCONFIG_H
#define VX_LIB_SENTENCETRANSFORMERS_TOKENIZERCONFIG_H

#include "vx/Frontend/Parts/ConfigFile.h"

namespace vx {

/// Each function adds to `settings`, the tokenizer's part of the asset embedding.json. A mistake is an error of
/// `config`.
void describeTruncation(ConfigFile &config, llvm::json::Object &settings);
/// Settings of a vocab.txt.
void describeWordPiece(ConfigFile &config, llvm::json::Object &settings);
/// Settings of a SentencePiece model; `fileName` is its file.
void describeSentencePiece(ConfigFile &config, llvm::StringRef fileName, llvm::json::Object &settings);

} // namespace vx

#endif
