// vx-llm run: an answer to a prompt; and for the other commands, a model on a device.
#ifndef VX_LLM_RUN_H
#define VX_LLM_RUN_H

#include "generator.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vx::tools {

struct RunOptions {
  std::string path; // a module, a GGUF file or a folder
  std::optional<std::string> prompt;
  llm::GenerateOptions generate;
  uint64_t context = 0; // 0: the default of the command
  std::string device = "auto";
  bool noFallback = false;
  uint32_t threads = 0;
  bool json = false;
  std::optional<std::string> system; // of chat: the message before the conversation
  std::string file;                  // of perplexity: the text
};

// Compiles a file that is no module, and puts the model on its device. Without a `context` in the options it is that of
// llm::Generator, or `most` if that is not 0, and in either case no more than the model's. Throws a ToolError.
llm::Generator loadGenerator(const char *tool, const RunOptions &options, uint64_t most = 0);

// Runs `body`; errors of the model and of texts become ToolErrors.
void withModelErrors(const RunOptions &options, const std::function<void()> &body);

// Prints the answer as it comes, or one JSON document at the end. A file that is no module is compiled first, and the
// module stays in the cache. Throws a ToolError.
void runModel(const char *tool, RunOptions options);

} // namespace vx::tools

#endif
