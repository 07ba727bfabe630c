// The parts of a module that make it a language model.
#ifndef VX_LIB_LLM_MODEL_MODULE_H
#define VX_LIB_LLM_MODEL_MODULE_H

#include "vx/llm/generator.hpp"
#include "vx/text/tokenizer.hpp"

namespace vx::llm {

// All throw Error (VX_INVALID_MODULE) that names the asset and the key, or the function.

bool hasSettings(const Module &module);
ModelInfo readModelInfo(const Module &module);
text::Tokenizer readTokenizer(const Module &module);

// The functions of tokens of sequences in pages, of several and of one.
const vx_function_info &findExtend(const Module &module);
const vx_function_info &findDecode(const Module &module);
// The positions of a page of the caches, which these functions take.
size_t readPagePlaces(const Module &module);
// The function that gives a row of logits for each token.
const vx_function_info &findPrefill(const Module &module);
// The function that gives the state of each token.
const vx_function_info &findEmbed(const Module &module);

} // namespace vx::llm

#endif
