// Answers a question by a language model, and prints the answer as it comes.
//
//   language_model MODULE.vxm QUESTION [DEVICE]
//
// MODULE.vxm is made by vx-compile of a GGUF file or of a folder with safetensors. A model without a chat template goes
// on with the text of the question. DEVICE is auto, cpu, vulkan, ...; with a name, no other device is used instead.
#include "vx/llm/generator.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

static int run(const std::string &path, const std::string &question, const std::string &device) {
  vx::InstanceOptions instance;
  instance.device = device;
  instance.noFallback = device != "auto";
  vx::llm::Generator model(path, instance);

  vx::llm::GenerateOptions options;
  options.maxTokens = 40;
  options.sampling.temperature = 0; // the most likely token
  options.stop = {"\n\n"};

  std::vector<vx::llm::Message> conversation = {{"user", question}};
  const bool isChat = !model.info().chatTemplate.empty();
  const std::vector<int32_t> prompt = isChat ? model.encode(conversation) : model.encode(question);
  vx::llm::Generation answer = model.start(prompt, options);
  for (const std::string_view piece : answer) {
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  }
  const vx::llm::Answer &made = answer.answer();
  std::printf("\n%zu tokens for %zu, ended by %s\n", made.tokens.size(), made.promptTokens,
              std::string(vx::llm::finishReasonName(made.finish)).c_str());

  // A conversation goes on: the tokens that it has in common with the one before are not computed again.
  if (isChat) {
    conversation.push_back({"assistant", made.text});
    conversation.push_back({"user", "Go on."});
    const vx::llm::Answer more = model.chat(conversation, options);
    std::printf("%s\n%zu tokens for %zu, %s\n", more.text.c_str(), more.tokens.size(), more.promptTokens,
                more.cachedTokens > 0 ? "a part of them from before" : "all of them new");
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: language_model MODULE.vxm QUESTION [DEVICE]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc > 3 ? argv[3] : "auto");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "language_model: error: %s\n", error.what());
    return 1;
  }
}
