// Phi 1, 1.5 and 2: attention and feed-forward of a layer have one norm before both, and are added to it together. All
// products have biases, and the first elements of a head turn.
#include "Families.h"
#include "GgufSettings.h"

using namespace mlir;

namespace vx {

namespace {

constexpr DecoderNames kTransformersPhi2 = {.embedding = "model.embed_tokens",
                                            .layers = "model.layers.",
                                            .norm = "model.final_layernorm",
                                            .head = "lm_head",
                                            .query = "self_attn.q_proj",
                                            .key = "self_attn.k_proj",
                                            .value = "self_attn.v_proj",
                                            .output = "self_attn.dense",
                                            .attentionNorm = "input_layernorm",
                                            .up = "mlp.fc1",
                                            .down = "mlp.fc2"};
constexpr DecoderNames kGgufPhi2 = {.embedding = "token_embd",
                                    .layers = "blk.",
                                    .norm = "output_norm",
                                    .head = "output",
                                    .query = "attn_q",
                                    .key = "attn_k",
                                    .value = "attn_v",
                                    .output = "attn_output",
                                    .attentionNorm = "attn_norm",
                                    .up = "ffn_up",
                                    .down = "ffn_down"};

class Phi2 : public DecoderFunctions {
public:
  using DecoderFunctions::DecoderFunctions;

protected:
  Value embedTokens(Value ids) override {
    angles = findAngles("rotary", s.rotary);
    Part g(model, s.names.embedding, "Embedding");
    return g.rows(embedding(g), ids);
  }

  Value addLayer(int64_t layer, Value x) override {
    const std::string name = s.names.layers.str() + std::to_string(layer) + ".";
    auto named = [&](StringRef part) { return name + part.str(); };
    Value input, attention;
    {
      Part g(model, named(s.names.query), "Attention");
      input = g.layerNorm(x, named(s.names.attentionNorm), s.width, s.epsilon);
      const Heads heads = project(g, name, input);
      Value query = emitTurn(g, s.rotary, angles, heads.query), key = emitTurn(g, s.rotary, angles, heads.key);
      Value attended = attend(g, layer, query, key, heads.value);
      attention = g.linear(attended, named(s.names.output), s.heads * s.depth, s.width, true);
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value inner = g.activate(s.activation, g.linear(input, named(s.names.up), s.width, s.inner, true));
    Value feedForward = g.linear(inner, named(s.names.down), s.inner, s.width, true);
    return g.emit<AddOp>(g.emit<AddOp>(attention, feedForward), x);
  }

  Value norm(Part &g, Value x) override { return g.layerNorm(x, s.names.norm, s.width, s.epsilon); }

private:
  RotaryAngles angles;
};

} // namespace

DecoderSettings readPhi2(ConfigFile &config) {
  DecoderSettings s;
  s.names = kTransformersPhi2;
  s.family = "phi2";
  s.hasQueryBias = s.hasHeadBias = true;
  readSizes(config, s);
  s.epsilon = readPositive(config, "layer_norm_eps", 1e-5);
  readActivation(config, "hidden_act", "gelu_new", s);
  s.isTied = config.getBool("tie_word_embeddings").value_or(false);
  config.expectBool("qk_layernorm", false);
  readRotary(config, s, /*partial=*/0.5);
  config.expectAllRead(getUnusedKeys(), "the family phi");
  return s;
}

DecoderSettings readPhi2(ModelBuilder &model, const GgufModel &file) {
  DecoderSettings s;
  GgufSettings keys(model, file, "phi2");
  s.names = kGgufPhi2;
  s.family = "phi2";
  s.hasQueryBias = s.hasHeadBias = true;
  readSizes(keys, s);
  s.epsilon = keys.getPositive("attention.layer_norm_epsilon", 1e-5);
  s.activation = Activation::GeluTanh;
  (void)readRotary(model, keys, 10000, s);
  // Files of the first form of the model have the three products as one.
  if (model.weights.contains("blk.0.attn_qkv.weight")) {
    s.names.query = "attn_qkv";
    s.names.key = s.names.value = {};
  }
  readWords(model, keys, s);
  keys.expectAllRead();
  return s;
}

void buildPhi2(ModelBuilder &model, const DecoderSettings &settings) { Phi2(model, settings).build(); }

} // namespace vx
