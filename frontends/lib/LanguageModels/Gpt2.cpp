// GPT-2: learned positions, norms with a mean, one product for query, key and value, and a head that is the embedding.
#include "Families.h"
#include "GgufSettings.h"

using namespace mlir;

namespace vx {

namespace {

constexpr DecoderNames kTransformersGpt2 = {"wte",         "h.",   "ln_f", "lm_head",  "attn.c_attn", "",     "",
                                            "attn.c_proj", "ln_1", "",     "mlp.c_fc", "mlp.c_proj",  "ln_2", "wpe"};
constexpr DecoderNames kGgufGpt2 = {"token_embd", "blk.",     "output_norm", "output",       "attn_qkv",
                                    "",           "",         "attn_output", "attn_norm",    "",
                                    "ffn_up",     "ffn_down", "ffn_norm",    "position_embd"};

class Gpt2 : public DecoderFunctions {
public:
  using DecoderFunctions::DecoderFunctions;

protected:
  Value embedTokens(Value ids) override {
    Part g(model, s.names.embedding, "Embedding");
    Value x = g.rows(embedding(g), ids);
    Value places = positions(g, g.weight(s.names.positions + ".weight", {s.context, s.width}));
    return x && places ? g.emit<AddOp>(x, g.broadcast(places, getDims(typeOf(x)))) : Value();
  }

  Value addLayer(int64_t layer, Value x) override {
    const std::string name = s.names.layers.str() + std::to_string(layer) + ".";
    auto named = [&](StringRef part) { return name + part.str(); };
    {
      Part g(model, named(s.names.query), "Attention");
      Value input = g.layerNorm(x, named(s.names.attentionNorm), s.width, s.epsilon);
      const Heads heads = project(g, name, input);
      Value attended = attend(g, layer, heads.query, heads.key, heads.value);
      x = g.emit<AddOp>(x, linear(g, attended, named(s.names.output), s.width, s.width, true));
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value input = g.layerNorm(x, named(s.names.feedForwardNorm), s.width, s.epsilon);
    Value inner = g.activate(s.activation, linear(g, input, named(s.names.up), s.width, s.inner, true));
    return g.emit<AddOp>(x, linear(g, inner, named(s.names.down), s.inner, s.width, true));
  }

  Value norm(Part &g, Value x) override { return g.layerNorm(x, s.names.norm, s.width, s.epsilon); }
};

} // namespace

void readGpt2Sizes(ConfigFile &config, DecoderSettings &s) {
  s.width = readSize(config, "n_embd");
  s.layers = readSize(config, "n_layer", 10'000);
  s.heads = s.keyHeads = readSize(config, "n_head");
  if (s.width % s.heads != 0)
    config.failAt("n_embd",
                  "expected a multiple of 'n_head', " + llvm::Twine(s.heads) + ", got " + llvm::Twine(s.width));
  s.depth = s.width / s.heads;
  s.inner = config.has("n_inner") ? readSize(config, "n_inner") : 4 * s.width;
  s.words = readSize(config, "vocab_size");
  s.context = readSize(config, "n_positions");
  s.epsilon = readPositive(config, "layer_norm_epsilon", 1e-5);
}

DecoderSettings readGpt2(ConfigFile &config) {
  DecoderSettings s;
  s.names = kTransformersGpt2;
  s.family = "gpt2";
  s.isTransposed = s.hasQueryBias = true;
  readGpt2Sizes(config, s);
  (void)config.lookup("n_ctx"); // an older name of the same
  readActivation(config, "activation_function", "gelu_new", s);
  s.isTied = config.getBool("tie_word_embeddings").value_or(true);
  config.expectBool("scale_attn_weights", true);
  for (llvm::StringRef key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
    config.expectBool(key, false);
  (void)config.getBool("reorder_and_upcast_attn"); // the order of products, and scores in f32, as here
  config.expectAllRead(getUnusedKeys(), "the family gpt2");
  return s;
}

DecoderSettings readGpt2(ModelBuilder &model, const GgufModel &file) {
  DecoderSettings s;
  GgufSettings keys(model, file, "gpt2");
  s.names = kGgufGpt2;
  s.family = "gpt2";
  s.hasQueryBias = true;
  s.width = keys.getSize("embedding_length");
  s.layers = keys.getSize("block_count", std::nullopt, 10'000);
  s.heads = s.keyHeads = keys.getSize("attention.head_count");
  if (keys.getSize("attention.head_count_kv", s.heads) != s.heads)
    keys.fail("attention.head_count_kv", "'attention.head_count', " + std::to_string(s.heads));
  if (s.width % s.heads != 0)
    keys.fail("embedding_length", "a multiple of 'attention.head_count', " + std::to_string(s.heads));
  s.depth = s.width / s.heads;
  s.inner = keys.getSize("feed_forward_length");
  s.context = keys.getSize("context_length");
  s.epsilon = keys.getPositive("attention.layer_norm_epsilon", 1e-5);
  s.activation = Activation::GeluTanh;
  s.isTied = !model.weights.contains("output.weight");
  readWords(model, keys, s);
  keys.expectAllRead();
  return s;
}

void buildGpt2(ModelBuilder &model, const DecoderSettings &settings) { Gpt2(model, settings).build(); }

} // namespace vx
