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

/// Positions of a page of the caches.
constexpr int64_t kPagePlaces = 32;

/// The functions of a decoder, over the same weights:
///
///   prefill(ids [1, tokens])                                       -> logits [1, tokens, words]
///   embed(ids [1, tokens])                                         -> states [1, tokens, width]
///   extend(ids [tokens], table [sequences, most pages], starts [sequences + 1], lengths [sequences], rows [rows])
///                                                                  -> logits [rows, words]
///   decode(ids [1], table [1, most pages], lengths [1])            -> logits [1, words]
///
/// Inputs are i64. `prefill` and `embed` have no state; `embed` returns what the head reads. The other two write the
/// keys and values of their tokens into pages of the instance's caches, and see those of the sequence's tokens before.
/// Their inputs are those of vx.paged_attention: tokens starts[s] to starts[s + 1] - 1 are the last of the lengths[s]
/// tokens of sequence s, which lie in the pages that table[s] names. `rows` are the tokens of the call whose logits it
/// returns. In `decode` there is one sequence with one token.
///
/// The size `pages` of the instance is the number of pages. Its size `context` is the most positions of a sequence, at
/// most the settings' context. A call with more, or with the number of a page that is not there, fails.
void buildDecoder(ModelBuilder &model, const DecoderSettings &settings);

/// The parts that all families share. A family says how tokens become vectors, and what its layers are.
class DecoderFunctions {
public:
  DecoderFunctions(ModelBuilder &model, const DecoderSettings &settings) : model(model), s(settings) {}
  virtual ~DecoderFunctions() = default;
  void build();

protected:
  /// [1, length] -> [1, length, width]. Called once for each function.
  virtual mlir::Value embedTokens(mlir::Value ids) = 0;
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
  /// Attention over the caches, for values [1, length, heads, depth]. The result has its heads joined.
  mlir::Value attend(Part &g, int64_t layer, mlir::Value query, mlir::Value key, mlir::Value value);

  ModelBuilder &model;
  const DecoderSettings &s;
  DimAttr length; // of this call

private:
  mlir::Value addLayers(mlir::Value ids);
  mlir::Value addHead(mlir::Value x);
  void addStateless(llvm::StringRef name, bool hasHead);
  void addStep(llvm::StringRef name, llvm::ArrayRef<ModelBuilder::Input> inputs);
  /// Finds the sequence and the position of each token, and where its keys and values belong.
  void placeTokens(Part &g);

  DimAttr room, pages;
  mlir::Type cacheType;
  /// Of a function with state: where the tokens' sequences lie (`keys` and `values` are those of a layer), the position
  /// of each token [length], and its page and place [length, 2].
  Part::Pages places;
  mlir::Value position, at;
};

void buildRotaryDecoder(ModelBuilder &model, const DecoderSettings &settings);
void buildGpt2(ModelBuilder &model, const DecoderSettings &settings);
void buildPhi2(ModelBuilder &model, const DecoderSettings &settings);

} // namespace vx

#endif
