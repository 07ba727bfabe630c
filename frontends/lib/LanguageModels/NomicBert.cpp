// Nomic's BERT: rotary positions, gated feed-forward, no biases in products, and layers that normalise their sums.
#include "Families.h"
#include "GgufSettings.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace vx {

namespace {

/// As nomic-ai and older versions of transformers write them.
constexpr DecoderNames kNomicNames = {.embedding = "embeddings.word_embeddings",
                                      .layers = "encoder.layers.",
                                      .norm = "emb_ln",
                                      .query = "attn.Wqkv",
                                      .output = "attn.out_proj",
                                      .attentionNorm = "norm1",
                                      .gate = "mlp.fc12",
                                      .up = "mlp.fc11",
                                      .down = "mlp.fc2",
                                      .feedForwardNorm = "norm2"};
constexpr DecoderNames kTransformersNomic = {.embedding = "embeddings.word_embeddings",
                                             .layers = "layers.",
                                             .norm = "embeddings.LayerNorm",
                                             .query = "self_attn.q_proj",
                                             .key = "self_attn.k_proj",
                                             .value = "self_attn.v_proj",
                                             .output = "self_attn.o_proj",
                                             .attentionNorm = "post_attention_layernorm",
                                             .gate = "mlp.gate_proj",
                                             .up = "mlp.up_proj",
                                             .down = "mlp.down_proj",
                                             .feedForwardNorm = "post_mlp_layernorm"};
constexpr DecoderNames kGgufNomic = {.embedding = "token_embd",
                                     .layers = "blk.",
                                     .norm = "token_embd_norm",
                                     .query = "attn_qkv",
                                     .output = "attn_output",
                                     .attentionNorm = "attn_output_norm",
                                     .gate = "ffn_gate",
                                     .up = "ffn_up",
                                     .down = "ffn_down",
                                     .feedForwardNorm = "layer_output_norm"};

/// What the family shares with decoders has their names; its head is nobody's.
struct NomicSettings : DecoderSettings {
  std::string prefix; // of all tensors
  StringRef segmentNames = "embeddings.token_type_embeddings";
  int64_t segments = 1;
};

class NomicBert {
public:
  NomicBert(ModelBuilder &model, const NomicSettings &settings) : model(model), s(settings) {}

  void build() {
    DimAttr batch = model.declareSymbol("batch", 1, INT32_MAX);
    length = model.declareSymbol("sequence", 1, s.context);
    Type type = getTensorType({batch, length}, model.builder.getI64Type());
    SmallVector<ModelBuilder::Input> inputs = {{"input_ids", type}, {"attention_mask", type}};
    if (s.segments > 1)
      inputs.push_back({"token_type_ids", type});
    SmallVector<Value> arguments = model.beginFunction("main", inputs);
    Value x = embed(arguments[0], s.segments > 1 ? arguments[2] : Value());
    mask = Part(model, "attention_mask", "Mask").makeKeyMask(arguments[1]);
    angles = emitAngles(model, "rotary", s.rotary, {length, Value(), s.context, DimAttr()});
    for (int64_t layer = 0; layer < s.layers && !model.hasFailed(); ++layer)
      x = addLayer(x, s.prefix + s.names.layers.str() + std::to_string(layer) + ".");
    model.endFunction("last_hidden_state", x);
  }

private:
  Value embed(Value ids, Value segments) {
    Part g(model, s.prefix + s.names.embedding.str(), "Embeddings");
    Value x = g.rows(g.weight(s.prefix + s.names.embedding + ".weight", {s.words, s.width}), ids);
    Value table = g.weight(s.prefix + s.segmentNames + ".weight", {s.segments, s.width});
    if (!x || !table)
      return {};
    x = g.emit<AddOp>(x, segments ? g.rows(table, segments) : g.broadcast(table, getDims(typeOf(x))));
    return g.layerNorm(x, s.prefix + s.names.norm, s.width, s.epsilon);
  }

  Value addLayer(Value x, const std::string &name) {
    auto named = [&](StringRef part) { return name + part.str(); };
    const int64_t size = s.heads * s.depth;
    {
      Part g(model, named(s.names.query), "Attention");
      SmallVector<Value, 3> heads;
      if (s.names.key.empty()) {
        Value all = g.linear(x, named(s.names.query), s.width, 3 * size, false);
        if (!all)
          return {};
        SmallVector<DimAttr> sizes = getDims(typeOf(all));
        sizes[2] = g.dim(size);
        for (int64_t part = 0; part < 3; ++part)
          heads.push_back(g.slice(all, {g.dim(0), g.dim(0), g.dim(part * size)}, sizes, {1, 1, 1}));
      } else {
        for (StringRef part : {s.names.query, s.names.key, s.names.value})
          heads.push_back(g.linear(x, named(part), s.width, size, false));
      }
      for (Value &part : heads)
        part = g.splitHeads(part, s.heads, s.depth);
      Part::AttentionRules rules;
      rules.scale = 1 / std::sqrt(double(s.depth));
      rules.mask = mask;
      Value query = emitTurn(g, s.rotary, angles, heads[0]), key = emitTurn(g, s.rotary, angles, heads[1]);
      Value attended = g.joinHeads(g.attend(query, key, heads[2], rules));
      Value added = g.linear(attended, named(s.names.output), size, s.width, false);
      x = g.layerNorm(g.emit<AddOp>(x, added), named(s.names.attentionNorm), s.width, s.epsilon);
    }
    Part g(model, named(s.names.up), "FeedForward");
    Value gate = g.activate(s.activation, g.linear(x, named(s.names.gate), s.width, s.inner, false));
    Value up = g.linear(x, named(s.names.up), s.width, s.inner, false);
    Value added = g.linear(g.emit<MulOp>(gate, up), named(s.names.down), s.inner, s.width, false);
    return g.layerNorm(g.emit<AddOp>(x, added), named(s.names.feedForwardNorm), s.width, s.epsilon);
  }

  ModelBuilder &model;
  const NomicSettings &s;
  DimAttr length;
  Value mask;
  RotaryAngles angles;
};

/// With the keys that nomic-ai writes, after those of GPT-2.
void readNomicKeys(ConfigFile &config, NomicSettings &s) {
  readGpt2Sizes(config, s);
  if (config.has("pad_vocab_size_multiple"))
    s.words = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(s.words),
                                                 static_cast<uint64_t>(readSize(config, "pad_vocab_size_multiple"))));
  config.expectString("activation_function", "swiglu");
  for (llvm::StringRef key :
       {"causal", "mlp_fc1_bias", "mlp_fc2_bias", "parallel_block", "parallel_block_tied_norm", "prenorm",
        "qkv_proj_bias", "rotary_emb_interleaved", "scale_attn_by_inverse_layer_idx", "use_rms_norm"})
    config.expectBool(key, false);
  config.expectBool("scale_attn_weights", true);
  for (llvm::StringRef key : {"rotary_emb_scale_base", "rotary_scaling_factor"})
    if (const llvm::json::Value *value = config.lookup(key))
      config.fail(key, "null: this scaling of positions is not supported", *value);
  // How the code of the model computes the same, and the length at which it would begin to scale.
  for (llvm::StringRef key : {"dense_seq_output", "fused_bias_fc", "fused_dropout_add_ln", "max_trained_positions",
                              "reorder_and_upcast_attn", "use_flash_attn", "use_xentropy"})
    (void)config.lookup(key);
  const int64_t turned =
      static_cast<int64_t>(double(s.depth) * std::min(readPositive(config, "rotary_emb_fraction", 1), 1.0));
  if (turned < 2 || turned % 2 != 0)
    config.fail("expected an even number of elements of a head that turn, got " + llvm::Twine(turned) + " of " +
                llvm::Twine(s.depth));
  s.rotary.frequencies = computeFrequencies(readPositive(config, "rotary_emb_base", 10000), turned);
}

/// With the keys of transformers from version 5 on.
void readTransformersKeys(ConfigFile &config, NomicSettings &s) {
  readSizes(config, s);
  if (s.keyHeads != s.heads)
    config.failAt("num_key_value_heads", "expected as many as 'num_attention_heads', " + llvm::Twine(s.heads) +
                                             ", got " + llvm::Twine(s.keyHeads));
  s.epsilon = readPositive(config, "layer_norm_eps", 1e-12);
  readActivation(config, "hidden_act", "silu", s);
  readRotary(config, s, 1, /*theta=*/1000);
}

void expectOneRotary(ModelBuilder &model, const NomicSettings &s) {
  if (!s.rotary.longFrequencies.empty())
    model.fail(model.weights.getName() +
               ": rotary positions of the type longrope: expected another type, an encoder has no cache whose room "
               "chooses the factors");
}

} // namespace

void buildNomicBert(ModelBuilder &model, ConfigFile &config) {
  NomicSettings s;
  s.family = "nomic_bert";
  if (config.has("n_embd"))
    readNomicKeys(config, s);
  else
    readTransformersKeys(config, s);
  s.segments = config.has("type_vocab_size") ? readSize(config, "type_vocab_size") : 2;
  for (llvm::StringRef key : {"pad_token_id", "tie_word_embeddings"})
    (void)config.lookup(key);
  config.expectAllRead(getUnusedKeys(), "the family nomic_bert");
  if (llvm::Error error = config.takeError())
    return model.fail(llvm::toString(std::move(error)));
  // A model with a head has its encoder under a name.
  for (const char *prefix : {"bert.", "nomic_bert."})
    if (model.weights.contains(std::string(prefix) + "embeddings.word_embeddings.weight"))
      s.prefix = prefix;
  // transformers stores the tensors by the old names, too.
  s.names = model.weights.contains(s.prefix + "layers.0.self_attn.q_proj.weight") ? kTransformersNomic : kNomicNames;
  expectOneRotary(model, s);
  if (!model.hasFailed())
    NomicBert(model, s).build();
}

EncoderFacts buildNomicBert(ModelBuilder &model, const GgufModel &file) {
  NomicSettings s;
  GgufSettings keys(model, file, "nomic-bert");
  s.family = "nomic-bert";
  s.names = kGgufNomic;
  s.segmentNames = "token_types";
  readSizes(keys, s);
  if (s.keyHeads != s.heads)
    keys.fail("attention.head_count_kv", "'attention.head_count', " + std::to_string(s.heads));
  s.epsilon = keys.getPositive("attention.layer_norm_epsilon", 1e-12);
  if (keys.getBool("attention.causal").value_or(false))
    keys.fail("attention.causal", "false");
  (void)readRotary(model, keys, 10000, s);
  readWords(model, keys, s);
  const StoredTensor *segments = model.weights.find("token_types.weight");
  if (segments && segments->dims.size() == 2)
    s.segments = segments->dims[0];
  EncoderFacts facts = {.pooling = {}, .width = s.width, .context = s.context, .words = s.words};
  static constexpr llvm::StringLiteral poolings[] = {"none", "mean", "cls", "last"};
  const uint64_t pooling = keys.getCount("pooling_type").value_or(0);
  if (pooling < 1 || pooling >= std::size(poolings))
    keys.fail("pooling_type", "1 (mean), 2 (cls) or 3 (last)");
  else
    facts.pooling = poolings[pooling];
  keys.expectAllRead();
  expectOneRotary(model, s);
  if (!model.hasFailed())
    NomicBert(model, s).build();
  return facts;
}

} // namespace vx
