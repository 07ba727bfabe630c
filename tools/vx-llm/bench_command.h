// vx-llm bench: tokens a second.
#ifndef VX_LLM_BENCH_COMMAND_H
#define VX_LLM_BENCH_COMMAND_H

#include "run.h"

namespace vx::tools {

// Times prompts and answers of some sizes on one device, in turns with a probe of what it can read, and prints a table
// or one JSON document with the record of the machine. Throws a ToolError.
void benchModel(const char *tool, const RunOptions &options);

} // namespace vx::tools

#endif
