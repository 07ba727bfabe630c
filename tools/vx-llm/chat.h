// vx-llm chat: a conversation.
#ifndef VX_LLM_CHAT_H
#define VX_LLM_CHAT_H

#include "run.h"

namespace vx::tools {

// Reads messages from standard input, a line each, and prints the answers as they come, up to the end of the input or
// /exit. At a terminal, Ctrl-C ends an answer and not the program, and a message that does not fit is left out,
// with a note; elsewhere it is an error. Throws a ToolError.
void chat(const char *tool, RunOptions options);

} // namespace vx::tools

#endif
