// vx-llm perplexity: how well a model predicts a text.
#ifndef VX_LLM_PERPLEXITY_COMMAND_H
#define VX_LLM_PERPLEXITY_COMMAND_H

#include "run.h"

namespace vx::tools {

// Prints the perplexity of the text in `options.file`, or one JSON document. The window is `options.context`: 512
// tokens by default, or the model's context if that is less. Throws a ToolError.
void printPerplexity(const char *tool, const RunOptions &options);

} // namespace vx::tools

#endif
