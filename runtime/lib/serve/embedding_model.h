// A module of embeddings without a device: its settings, its tokenizer, and its functions.
#ifndef VX_SERVE_EMBEDDING_MODEL_H
#define VX_SERVE_EMBEDDING_MODEL_H

#include "embedding_settings.h"

#include <array>

namespace vx::serve {

// One of the functions that pool.
struct EmbeddingFunction {
  const vx_function_info *info = nullptr; // of the module
  enum class Input : uint8_t { ids, mask, types };
  std::vector<Input> inputs; // in the function's order
  vx_element_type indexType = VX_ELEMENT_NONE;
  size_t plain = 0, unit = 0;                // outputs
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
  // Null: the module has none for it.
  const EmbeddingFunction *find(Pooling pooling) const {
    const EmbeddingFunction &found = functions[static_cast<size_t>(pooling)];
    return found.info ? &found : nullptr;
  }

private:
  explicit EmbeddingModel(const Module &module, const vx_asset_info &settings);
  void readFunction(Pooling pooling, const vx_function_info &function);
  std::string addPrompt(std::string_view text, const TokenizeOptions &options) const;

  EmbeddingSettings settings;
  text::Tokenizer tokenizer;
  std::vector<int32_t> before, after;
  std::array<EmbeddingFunction, 3> functions;
};

} // namespace vx::serve

#endif
