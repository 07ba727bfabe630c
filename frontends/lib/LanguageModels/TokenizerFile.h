// The tokenizer of a GGUF file as a file of its own.
#ifndef VX_LIB_LANGUAGEMODELS_TOKENIZERFILE_H
#define VX_LIB_LANGUAGEMODELS_TOKENIZERFILE_H

#include "vx/base/gguf.h"

#include <string>

namespace vx {

/// A GGUF file with the keys of `model` that begin with "tokenizer.", and without tensors.
std::string writeTokenizerFile(const GgufModel &model);

} // namespace vx

#endif
