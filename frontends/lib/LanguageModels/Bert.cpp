// BERT and its relatives: learned positions, and layers that normalise their sums.
#include "Families.h"

#include <cmath>

using namespace mlir;

namespace vx {

namespace {

struct BertSettings {
  int64_t width, layers, heads, inner, words, positions, segments;
  double epsilon;
  Activation activation;
  std::optional<int64_t> padding; // RoBERTa: positions count from the padding's number + 1
};

BertSettings readSettings(ConfigFile &config, llvm::StringRef type) {
  BertSettings s = {};
  s.width = readSize(config, "hidden_size");
  s.layers = readSize(config, "num_hidden_layers", 10'000);
  s.heads = readSize(config, "num_attention_heads");
  s.inner = readSize(config, "intermediate_size");
  s.words = readSize(config, "vocab_size");
  s.positions = readSize(config, "max_position_embeddings");
  s.segments = readSize(config, "type_vocab_size");
  if (s.width % s.heads != 0)
    config.failAt("hidden_size", "expected a multiple of 'num_attention_heads', " + llvm::Twine(s.heads) + ", got " +
                                     llvm::Twine(s.width));
  s.epsilon = config.getNumber("layer_norm_eps").value_or(1e-12);
  if (!(s.epsilon >= 0 && s.epsilon <= 1))
    config.fail("layer_norm_eps", "a number from 0 to 1", *config.lookup("layer_norm_eps"));
  std::string known;
  const std::string activation = config.getString("hidden_act").value_or("gelu");
  std::optional<Activation> found = findActivation(activation, known);
  if (!found)
    config.failAt("hidden_act", "expected one of " + known + ", got \"" + activation + "\"");
  s.activation = found.value_or(Activation::Gelu);
  config.expectString("position_embedding_type", "absolute");
  for (llvm::StringRef key : {"is_decoder", "add_cross_attention", "is_encoder_decoder"})
    config.expectBool(key, false);
  (void)config.getBool("tie_word_embeddings"); // of a head for words
  if (type == "bert") {
    (void)config.getCount("pad_token_id");
    return s;
  }
  s.padding = config.getCount("pad_token_id").value_or(1);
  if (*s.padding + 1 >= s.positions)
    config.failAt("pad_token_id", "expected at most " + llvm::Twine(s.positions - 2) +
                                      ", since positions count from it + 1 and 'max_position_embeddings' is " +
                                      llvm::Twine(s.positions) + ", got " + llvm::Twine(*s.padding));
  return s;
}

class Bert {
public:
  Bert(ModelBuilder &model, const BertSettings &settings, std::string prefix)
      : model(model), s(settings), prefix(std::move(prefix)) {}

  void build() {
    const int64_t longest = s.padding ? s.positions - *s.padding - 1 : s.positions;
    DimAttr batch = model.declareSymbol("batch", 1, INT32_MAX), sequence = model.declareSymbol("sequence", 1, longest);
    Type type = getTensorType({batch, sequence}, model.builder.getI64Type());
    SmallVector<ModelBuilder::Input> inputs = {{"input_ids", type}, {"attention_mask", type}};
    if (s.segments > 1)
      inputs.push_back({"token_type_ids", type});
    SmallVector<Value> arguments = model.beginFunction("main", inputs);
    Value x = embed(arguments[0], s.segments > 1 ? arguments[2] : Value());
    Value mask = Part(model, prefix + "attention_mask", "Mask").makeKeyMask(arguments[1]);
    for (int64_t layer = 0; layer < s.layers && !model.hasFailed(); ++layer)
      x = addLayer(x, mask, prefix + "encoder.layer." + std::to_string(layer) + ".");
    model.endFunction("last_hidden_state", x);
  }

private:
  Value embed(Value ids, Value segments) {
    const std::string name = prefix + "embeddings.";
    Part g(model, prefix + "embeddings", "Embeddings");
    Value x = g.rows(g.weight(name + "word_embeddings.weight", {s.words, s.width}), ids);
    if (!x)
      return x;
    SmallVector<DimAttr> dims = getDims(typeOf(x));
    // Segments are added before positions, as transformers does, since sums of floats depend on the order.
    Value ofSegments = g.weight(name + "token_type_embeddings.weight", {s.segments, s.width});
    if (segments)
      x = g.emit<AddOp>(x, g.rows(ofSegments, segments));
    else
      x = g.emit<AddOp>(x, g.broadcast(ofSegments, dims));
    Value table = g.weight(name + "position_embeddings.weight", {s.positions, s.width});
    if (s.padding) {
      // The number of tokens up to this one that are not padding; 0 for padding itself.
      Value counts = g.cast(g.emit<CompareOp>(ComparePredicate::ne, ids, g.splatLike(double(*s.padding), ids)),
                            model.builder.getI64Type());
      Value sums = g.emit<CumulativeSumOp>(g.reshape(counts, {dims[0], dims[1], g.dim(1)}), false, false);
      Value places = g.emit<MulOp>(g.reshape(sums, {dims[0], dims[1]}), counts);
      x = g.emit<AddOp>(x, g.rows(table, g.emit<AddOp>(places, g.splatLike(double(*s.padding), places))));
    } else if (table) {
      Value places = g.slice(table, {g.dim(0), g.dim(0)}, {dims[1], dims[2]}, {1, 1});
      x = g.emit<AddOp>(x, g.broadcast(places, dims));
    }
    return norm(g, x, name + "LayerNorm");
  }

  Value addLayer(Value x, Value mask, const std::string &name) {
    const int64_t depth = s.width / s.heads;
    {
      const std::string self = name + "attention.self.";
      Part g(model, name + "attention", "Attention");
      auto project = [&](const char *part) {
        return g.splitHeads(g.linear(x, self + part, s.width, s.width, true), s.heads, depth);
      };
      Value query = project("query"), key = project("key"), value = project("value");
      Part::AttentionRules rules;
      rules.scale = 1 / std::sqrt(double(depth));
      rules.mask = mask;
      Value attended = g.joinHeads(g.attend(query, key, value, rules));
      Value output = g.linear(attended, name + "attention.output.dense", s.width, s.width, true);
      x = norm(g, g.emit<AddOp>(output, x), name + "attention.output.LayerNorm");
    }
    Part g(model, name + "output", "FeedForward");
    Value inner = g.activate(s.activation, g.linear(x, name + "intermediate.dense", s.width, s.inner, true));
    Value output = g.linear(inner, name + "output.dense", s.inner, s.width, true);
    return norm(g, g.emit<AddOp>(output, x), name + "output.LayerNorm");
  }

  /// Files that were made of TensorFlow's have other names.
  Value norm(Part &g, Value x, const std::string &name) {
    const bool isOld = !model.weights.contains(name + ".weight") && model.weights.contains(name + ".gamma");
    return g.emit<LayerNormOp>(x, g.weight(name + (isOld ? ".gamma" : ".weight"), {s.width}),
                               g.weight(name + (isOld ? ".beta" : ".bias"), {s.width}), int64_t(2),
                               llvm::APFloat(static_cast<float>(s.epsilon)));
  }

  ModelBuilder &model;
  const BertSettings s;
  const std::string prefix;
};

} // namespace

void buildBert(ModelBuilder &model, ConfigFile &config, llvm::StringRef type) {
  const BertSettings settings = readSettings(config, type);
  config.expectAllRead(getUnusedKeys(), "the family " + type.str());
  if (llvm::Error error = config.takeError())
    return model.fail(llvm::toString(std::move(error)));
  // A model with a head has its encoder under the family's name.
  std::string prefix = type == "bert" ? "bert." : "roberta.";
  if (!model.weights.contains(prefix + "embeddings.word_embeddings.weight"))
    prefix.clear();
  Bert(model, settings, prefix).build();
}

} // namespace vx
