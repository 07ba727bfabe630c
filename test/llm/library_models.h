// The models of the tests of libvx_llm, which run_library.py makes: it sets these variables of the environment.
#ifndef VX_TEST_LLM_LIBRARY_MODELS_H
#define VX_TEST_LLM_LIBRARY_MODELS_H

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace vx::test {

inline std::string variable(const char *name) {
  const char *value = std::getenv(name);
  if (!value)
    throw std::runtime_error(std::string("run by run_library.py, which sets ") + name);
  return value;
}

template <typename T = int32_t>
std::vector<T> numbers(const char *name) {
  std::istringstream text(variable(name));
  std::vector<T> result;
  for (T number; text >> number;)
    result.push_back(number);
  return result;
}

// Modules for conversations, without a template, with one that is not supported, and of no language model.
inline std::string chatModel() { return variable("VX_TEST_CHAT_MODEL"); }
inline std::string plainModel() { return variable("VX_TEST_PLAIN_MODEL"); }
inline std::string strangeModel() { return variable("VX_TEST_STRANGE_MODEL"); }
inline std::string longModel() { return variable("VX_TEST_LONG_MODEL"); } // the first one with a context of 1200
inline std::string otherModule() { return variable("VX_TEST_OTHER_MODULE"); }

// By NumPy: the most likely 12 tokens after "hello", and their text; the states of the tokens of "hello"; the answers
// of 6 tokens to "hello" and then "world" in a conversation.
constexpr const char *Prompt = "hello";
constexpr size_t Context = 64, Vocabulary = 82, Width = 32;
inline std::vector<int32_t> promptTokens() { return numbers("VX_TEST_PROMPT_TOKENS"); }
inline std::vector<int32_t> answerTokens() { return numbers("VX_TEST_ANSWER_TOKENS"); }
inline std::vector<double> promptStates() { return numbers<double>("VX_TEST_PROMPT_STATES"); }
inline std::string answerText() { return variable("VX_TEST_ANSWER"); }
inline std::string chatAnswer(int turn) { return variable(turn ? "VX_TEST_CHAT_ANSWER_2" : "VX_TEST_CHAT_ANSWER_1"); }

} // namespace vx::test

#endif
