// Decoders with rotary positions, root-mean-square norms and gated layers: their settings, from whichever file, and
// their functions.
#ifndef VX_LIB_LANGUAGEMODELS_DECODER_H
#define VX_LIB_LANGUAGEMODELS_DECODER_H

#include "ModelBuilder.h"

namespace vx {

/// Names of tensors without ".weight" and ".bias". Those of layer i begin with `layers` + i + ".".
struct DecoderNames {
  llvm::StringRef embedding, layers, norm, head;
  llvm::StringRef query, key, value, output, attentionNorm, gate, up, down, feedForwardNorm;
};

struct DecoderSettings {
  DecoderNames names;
  std::string family;
  int64_t width = 0, layers = 0, heads = 0, keyHeads = 0, depth = 0, inner = 0, words = 0;
  /// The most tokens that a sequence has.
  int64_t context = 0;
  double epsilon = 0;
  Activation activation = Activation::Silu;
  bool hasQueryBias = false; // of query, key and value
  bool hasOutputBias = false, hasInnerBias = false;
  bool isTied = false; // the embedding is also the head
  std::optional<int64_t> window;
  /// The angle that a pair turns by from one position to the next. A pair is two neighbours, or an element of each half
  /// of the 2 * frequencies.size() elements that turn.
  std::vector<double> frequencies;
  bool turnsNeighbours = false;
};

/// theta^(-2i / turned) for i < turned / 2.
std::vector<double> computeFrequencies(double theta, int64_t turned);

/// The functions of a decoder, over the same weights:
///
///   prefill(ids [1, tokens])         -> logits [1, tokens, words]
///   extend(ids [1, tokens], past [])  -> logits [1, words]
///   decode(ids [1, 1], past [])       -> logits [1, words]
///
/// ids and past are i64. `prefill` has no state. The other two write the keys and values of their tokens into the
/// instance's caches from the place `past` on, read those before it, and return the logits after the last token. The
/// size `context` of the instance is the room of the caches in tokens: at most the settings' context. A call that needs
/// more room fails.
void buildDecoder(ModelBuilder &model, const DecoderSettings &settings);

} // namespace vx

#endif
