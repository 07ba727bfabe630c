#include "verbs.h"

namespace vx::tools {

std::span<const Verb> verbs() {
  static constexpr Verb all[] = {
      {"detect hardware", "vx-info", "--hardware", "Every device of this machine, or why there is none"},
      {"compile", "vx-compile", "", "A model to a module"},
      {"info", "vx-info", "", "What a module holds"},
      {"run", "vx-run", "", "Run a function of a module"},
      {"bench", "vx-bench", "", "Time functions of modules"},
      {"selfcheck", "vx-selfcheck", "", "Check that a device computes the right values"},
      {"train", "vx-train", "", "Train a model"},
      {"models", "vx-models", "", "Which models there are, and why others are refused"},
      {"llm", "vx-llm", "", "Language models: answers to prompts, and the facts of a file"},
      {"embed", "vx-embed", "", "Texts to vectors"},
      {"server start", "vx-serve", "", "Serve models over HTTP"},
      {"conformance", "vx-conformance", "", "Run folders of test cases"},
      {"opt", "vx-opt", "", "Run passes over IR"},
      {"interpret", "vx-interpret", "", "Run IR by the reference evaluator"},
  };
  return all;
}

} // namespace vx::tools
