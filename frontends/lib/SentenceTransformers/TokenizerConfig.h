// What tokenizer_config.json says that a tokenizer's own file does not.
#ifndef VX_LIB_SENTENCETRANSFORMERS_TOKENIZERCONFIG_H
#define VX_LIB_SENTENCETRANSFORMERS_TOKENIZERCONFIG_H

#include "ConfigFile.h"

namespace vx {

/// Each adds to `settings`, which are the tokenizer's of the asset embedding.json; what is wrong is an error of
/// `config`.
void describeTruncation(ConfigFile &config, llvm::json::Object &settings);
/// Of a vocab.txt.
void describeWordPiece(ConfigFile &config, llvm::json::Object &settings);
/// Of a SentencePiece model, whose file has this name.
void describeSentencePiece(ConfigFile &config, llvm::StringRef fileName, llvm::json::Object &settings);

} // namespace vx

#endif
