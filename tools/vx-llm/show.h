// vx-llm show: the facts of a language model's file.
#ifndef VX_LLM_SHOW_H
#define VX_LLM_SHOW_H

#include <string>

namespace vx::tools {

// Prints the facts of a GGUF file, or one JSON document. Throws a ToolError (exit 3) where the file cannot be read.
void show(const std::string &path, bool json);

} // namespace vx::tools

#endif
