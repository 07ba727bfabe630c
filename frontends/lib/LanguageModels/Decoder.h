// Decoders: their settings, from whichever file, and their functions.
#ifndef VX_LIB_LANGUAGEMODELS_DECODER_H
#define VX_LIB_LANGUAGEMODELS_DECODER_H

#include "Rotary.h"

namespace vx {

/// Names of tensors without ".weight" and ".bias". Those of layer i begin with `layers` + i + ".". A family without a
/// part has no name for it. Without one for the key, the rows of `query` are those of query, key and value;
/// a gated family without one for the gate has gate and up in `up`.
struct DecoderNames {
  llvm::StringRef embedding, layers, norm, head = {};
  llvm::StringRef query, key = {}, value = {}, output, attentionNorm, gate = {}, up, down, feedForwardNorm = {};
  llvm::StringRef positions = {};               // learned ones
  llvm::StringRef queryNorm = {}, keyNorm = {}; // of each head, before it turns
  /// Norms of the sums that attention and feed-forward add.
  llvm::StringRef addedAttentionNorm = {}, addedFeedForwardNorm = {};
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
  bool hasOutputBias = false, hasInnerBias = false, hasHeadBias = false;
  bool isTied = false; // the embedding is also the head
  /// Layers see the last tokens of a window, but for those that see all.
  std::optional<int64_t> window;
  std::vector<bool> seesAll; // of each layer with a window; empty: no layer
  bool hasWindow(int64_t layer) const { return window && (seesAll.empty() || !seesAll[static_cast<size_t>(layer)]); }
  double embeddingScale = 1;
  /// Scores are multiplied by this; nullopt: by 1 / sqrt(depth).
  std::optional<double> attentionScale;
  bool isNormLessOne = false; // weights of norms are stored less 1
  Rotary rotary;
  std::optional<Rotary> windowRotary; // of layers with a window; nullopt: the same
  /// GPT-2 in files of transformers: weights are [inputs, outputs].
  bool isTransposed = false;
};

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

/// The parts that all families share. A family says how tokens become vectors, and what its layers are.
class DecoderFunctions {
public:
  DecoderFunctions(ModelBuilder &model, const DecoderSettings &settings) : model(model), s(settings) {}
  virtual ~DecoderFunctions() = default;
  void build();

protected:
  /// [1, length] -> [1, length, width]. Called once for each function.
  virtual mlir::Value embed(mlir::Value ids) = 0;
  virtual mlir::Value addLayer(int64_t layer, mlir::Value x) = 0;
  /// The norm before the head.
  virtual mlir::Value norm(Part &g, mlir::Value x) = 0;

  mlir::Value embedding(Part &g);
  RotaryAngles findAngles(const std::string &name, const Rotary &rotary);
  /// A product with a weight of a layer, in the order in which the file has it.
  mlir::Value linear(Part &g, mlir::Value x, const std::string &name, int64_t inputs, int64_t outputs, bool hasBias);
  /// [1, length, heads, depth] each.
  struct Heads {
    mlir::Value query, key, value;
  };
  /// `layer` begins the names of the layer's tensors.
  Heads project(Part &g, const std::string &layer, mlir::Value input);
  /// The rows of a table for this call's positions.
  mlir::Value positions(Part &g, mlir::Value table);
  /// Attention over the cache, for values [1, length, heads, depth]. The result has its heads joined.
  mlir::Value attend(Part &g, int64_t layer, mlir::Value query, mlir::Value key, mlir::Value value);

  ModelBuilder &model;
  const DecoderSettings &s;
  DimAttr past, length; // of this call; `past` is null in a function without state

private:
  void addFunction(llvm::StringRef name, llvm::ArrayRef<ModelBuilder::Input> inputs, DimAttr symbol);

  DimAttr room;
  mlir::Type cacheType;
};

void buildRotaryDecoder(ModelBuilder &model, const DecoderSettings &settings);
void buildGpt2(ModelBuilder &model, const DecoderSettings &settings);
void buildPhi2(ModelBuilder &model, const DecoderSettings &settings);

} // namespace vx

#endif
