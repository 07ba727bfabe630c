// The facts of a language model in a GGUF file.
#ifndef VX_TOOLS_LANGUAGE_MODEL_H
#define VX_TOOLS_LANGUAGE_MODEL_H

#include "vx/base/gguf.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vx::tools {

// The tensors of one type.
struct TensorTypeCount {
  const GgufType *type = nullptr;
  uint64_t tensors = 0, bytes = 0;
};

// The tensors of one part of a model that have one type: "attn_q" of all layers.
struct PartFacts {
  std::string name;
  const GgufType *type = nullptr;
  uint64_t tensors = 0, deviceBytes = 0;
  std::string form; // on the device: "integers of 4 bits, 4 bytes of scales and minimums for each 32: 5 bits a weight"
};

// The cache of keys and values of a decoder, in f16.
struct CacheFacts {
  uint64_t bytesPerToken = 0;       // of the layers that keep all tokens
  uint64_t windowBytesPerToken = 0; // of the layers that keep the last `window` tokens
  uint64_t window = 0;              // 0: no layer has one
  uint64_t bytesAt(uint64_t tokens) const;
};

struct LanguageModelFacts {
  std::string architecture, name;
  std::optional<uint64_t> layers, width, heads, keyValueHeads, context;
  std::vector<TensorTypeCount> types; // the one with the most bytes first
  uint64_t parameters = 0, bytes = 0; // of all tensors
  std::vector<PartFacts> parts;       // in the order of the file; none if the model does not run
  uint64_t deviceBytes = 0;           // of all parts
  std::optional<CacheFacts> cache;
  std::string noCache; // the reason where there is none
  std::string tokenizer, noTokenizer;
  std::optional<uint64_t> tokens, begin, end; // the size of the vocabulary, and the tokens at the begin and the end
  std::vector<int32_t> ends;                  // all tokens that end an answer
  std::optional<std::string> chatTemplate;
  std::string noRun; // why vx-compile refuses the model; empty where nothing of its header says so
};

// Reads the keys of an opened file. Throws a ToolError (exit 3) where it has no architecture or a key is of a wrong
// kind.
LanguageModelFacts readFacts(const GgufModel &model, const std::string &path);

// Opens a file; throws a ToolError (exit 3) with the reason.
GgufModel openGguf(const std::string &path);

// "210 q4_1, 61 f32, 1 q8_0"
std::string typesText(const LanguageModelFacts &facts);

// The text of a conversation by the template of the file: a system message, a question, and the begin of an answer.
// Throws vx::text::Error.
std::string renderExample(const GgufModel &model, const std::string &source);

nlohmann::ordered_json describeFacts(const LanguageModelFacts &facts);

} // namespace vx::tools

#endif
