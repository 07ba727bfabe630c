// A module of embeddings or of a cross-encoder without a device: its settings, its tokenizer, and its functions.
#ifndef VX_SERVE_EMBEDDING_MODEL_H
#define VX_SERVE_EMBEDDING_MODEL_H

#include "embedding_settings.h"

#include <array>

namespace vx::serve {

// One of the functions that pool, or the one that scores.
struct EmbeddingFunction {
  const vx_function_info *info = nullptr; // of the module
  enum class Input : uint8_t { ids, mask, types };
  std::vector<Input> inputs; // in the function's order
  vx_element_type indexType = VX_ELEMENT_NONE;
  size_t plain = 0, unit = 0;                // outputs; of a cross-encoder both are its logit
  std::optional<int64_t> idLimit, typeLimit; // numbers below these are taken
  std::string apart; // why a text's vector may depend on others of its batch; empty: it is proved that it does not
};

class EmbeddingModel {
public:
  // Throws Error::data.
  explicit EmbeddingModel(const Module &module);

  const Module module;
  EmbedderInfo info;
  int32_t padding = 0;
  bool hasTypes = false;

  Tokens tokenize(std::string_view text, const TokenizeOptions &options) const;
  Tokens tokenizePair(std::string_view query, std::string_view text, const TokenizeOptions &options) const;
  // The only one of a cross-encoder.
  const EmbeddingFunction &scoring() const { return functions.back(); }
  // Null: the module has none for it.
  const EmbeddingFunction *find(Pooling pooling) const {
    const EmbeddingFunction &found = functions[static_cast<size_t>(pooling)];
    return found.info ? &found : nullptr;
  }

private:
  explicit EmbeddingModel(const Module &module, const vx_asset_info &settings);
  void readFunctions();
  void readFunction(EmbeddingFunction &result, const vx_function_info &function);
  void readOutputs(EmbeddingFunction &result, const vx_function_info &function);
  size_t tokenLimit(const TokenizeOptions &options) const;
  // One text, or with `second` two.
  Tokens encode(std::string first, std::optional<std::string> second, const TokenizeOptions &options) const;
  std::string addPrompt(std::string_view text, const TokenizeOptions &options) const;

  EmbeddingSettings settings;
  text::Tokenizer tokenizer;
  std::vector<int32_t> before, after;
  std::array<EmbeddingFunction, 4> functions; // by pooling, and the one that scores
};

} // namespace vx::serve

#endif
