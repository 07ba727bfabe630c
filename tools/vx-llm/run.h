// vx-llm run: an answer to a prompt; and for the other commands, a model on a device.
#ifndef VX_LLM_RUN_H
#define VX_LLM_RUN_H

#include "vx/llm/generator.hpp"

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
  std::optional<std::string> system;                // of chat: the message before the conversation
  std::string file;                                 // of perplexity: the text
  std::string promptTokens = "512", tokens = "128"; // of bench: sizes between commas, or 0
  uint32_t runs = 5;
  bool noProbes = false;
};

// The module of the command line; of a file that is none, that which vx-compile makes of it. Throws a ToolError.
vx::Module loadModel(const char *tool, const RunOptions &options);

// Puts the module on its device. `context` is as of llm::Generator. Throws a ToolError.
llm::Generator makeGenerator(const vx::Module &module, const RunOptions &options, uint64_t context);

// Runs `body`; errors of the model and of texts become ToolErrors.
void withModelErrors(const RunOptions &options, const std::function<void()> &body);

// Prints the answer as it comes, or one JSON document at the end. A file that is no module is compiled first, and the
// module stays in the cache. Throws a ToolError.
void runModel(const char *tool, RunOptions options);

} // namespace vx::tools

#endif
