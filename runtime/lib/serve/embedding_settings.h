// The properties of a module of embeddings or of a cross-encoder, in its asset embedding.json.
#ifndef VX_SERVE_EMBEDDING_SETTINGS_H
#define VX_SERVE_EMBEDDING_SETTINGS_H

#include "vx/serve/embedder.hpp"
#include "vx/text/tokenizer.hpp"

namespace vx::serve {

constexpr char EmbeddingAsset[] = "embedding.json";

struct EmbeddingSettings {
  EmbedderInfo info; // but for dimensions and poolings, which the module's functions tell
  int32_t padding = 0;
  bool lowercase = false; // texts before they are tokenised
  std::string tokenizerAsset;
  text::WordPieceOptions words;                  // of a vocab.txt
  std::vector<std::string> before, after;        // tokens around a text, where the tokenizer's file has none
  std::optional<text::Side> truncationSide = {}; // nothing: as the tokenizer's file has it
};

// Takes nothing on trust. Throws Error::data, "asset 'embedding.json': 'max_tokens': expected ..., got ...".
EmbeddingSettings parseEmbeddingSettings(std::string_view json);

} // namespace vx::serve

#endif
