// Llama and its relatives: settings of config.json and of GGUF files.
#include "Families.h"
#include "GgufSettings.h"

#include "llvm/ADT/StringExtras.h"

namespace vx {

namespace {

constexpr DecoderNames kTransformersNames = {
    "model.embed_tokens",      "model.layers.",    "model.norm",       "lm_head",
    "self_attn.q_proj",        "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "input_layernorm",         "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",
    "post_attention_layernorm"};

constexpr DecoderNames kGgufNames = {"token_embd", "blk.",     "output_norm", "output",    "attn_q",
                                     "attn_k",     "attn_v",   "attn_output", "attn_norm", "ffn_gate",
                                     "ffn_up",     "ffn_down", "ffn_norm"};

/// Phi 3 has query, key and value in one product, and gate and up in another one.
void readPhi3(ConfigFile &config, DecoderSettings &s) {
  s.names.query = "self_attn.qkv_proj";
  s.names.up = "mlp.gate_up_proj";
  s.names.key = s.names.value = s.names.gate = {};
  config.expectBool("lm_head_bias", false);
  for (llvm::StringRef key : {"full_attn_mod", "interpolate_factor"})
    if (config.getCount(key).value_or(1) != 1)
      config.fail(key, "1", *config.lookup(key));
}

/// The same names in GGUF files, some of which have three products.
void readPhi3(ModelBuilder &model, GgufSettings &keys, DecoderSettings &s) {
  s.names.gate = {};
  if (model.weights.contains("blk.0.attn_qkv.weight")) {
    s.names.query = "attn_qkv";
    s.names.key = s.names.value = {};
  }
  if (const std::optional<uint64_t> window = keys.getCount("attention.sliding_window");
      window && *window > 0 && *window < static_cast<uint64_t>(s.context))
    s.window = static_cast<int64_t>(*window);
}

/// Qwen, Mistral and Phi 3 may let layers see the last tokens only.
void readWindow(ConfigFile &config, DecoderSettings &s) {
  std::optional<int64_t> window = config.getCount("sliding_window");
  if (s.family == "qwen2" || s.family == "qwen3") {
    config.expectBool("use_sliding_window", false);
    (void)config.getCount("max_window_layers");
    window.reset();
  }
  if (const llvm::json::Value *types = config.lookup("layer_types")) {
    const llvm::json::Array *list = types->getAsArray();
    const llvm::StringRef expected = window ? "sliding_attention" : "full_attention";
    for (const llvm::json::Value &type : list ? *list : llvm::json::Array{nullptr})
      if (type.getAsString() != expected)
        return config.fail("layer_types", "a list of \"" + expected + "\" only", *types);
  }
  if (window && *window < 1)
    config.fail("sliding_window", "1 or more", *config.lookup("sliding_window"));
  if (window && *window < s.context)
    s.window = window;
}

} // namespace

void readRotary(ConfigFile &config, DecoderSettings &s, double partial, double theta) {
  theta = readPositive(config, "rope_theta", theta);
  partial = readPositive(config, "partial_rotary_factor", partial);
  const llvm::StringRef key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  // Version 5 of transformers has one key; a file with both keys agrees with itself.
  const llvm::json::Value *value = config.lookup(key);
  (void)config.lookup("rope_scaling");
  RotaryBase base = {.theta = theta, .depth = s.depth, .context = s.context};
  if (const llvm::StringRef original = "original_max_position_embeddings"; config.has(original) || s.family == "phi3")
    base.original = readPositive(config, original, 4096);
  s.rotary = readRotary(config, key, value, partial, base, s.family);
}

void readSizes(ConfigFile &config, DecoderSettings &s) {
  s.width = readSize(config, "hidden_size");
  s.layers = readSize(config, "num_hidden_layers", 10'000);
  s.heads = readSize(config, "num_attention_heads");
  s.keyHeads = config.has("num_key_value_heads") ? readSize(config, "num_key_value_heads") : s.heads;
  if (s.heads % s.keyHeads != 0)
    config.failAt("num_attention_heads", "expected a multiple of 'num_key_value_heads', " + llvm::Twine(s.keyHeads) +
                                             ", got " + llvm::Twine(s.heads));
  if (config.has("head_dim"))
    s.depth = readSize(config, "head_dim", 1 << 16);
  else if (s.width % s.heads != 0)
    config.failAt("hidden_size", "expected a multiple of 'num_attention_heads', " + llvm::Twine(s.heads) + ", got " +
                                     llvm::Twine(s.width));
  else
    s.depth = s.width / s.heads;
  s.inner = readSize(config, "intermediate_size");
  s.words = readSize(config, "vocab_size");
  s.context = readSize(config, "max_position_embeddings");
  (void)config.lookup("pad_token_id"); // without effect on tokens that are there
}

void readNormAndBias(ConfigFile &config, DecoderSettings &s) {
  s.epsilon = readPositive(config, "rms_norm_eps", 1e-6);
  s.hasQueryBias = s.hasOutputBias = config.getBool("attention_bias").value_or(false);
}

void readActivation(ConfigFile &config, llvm::StringRef key, llvm::StringRef otherwise, DecoderSettings &s) {
  std::string known;
  const std::string activation = config.getString(key).value_or(otherwise.str());
  if (std::optional<Activation> found = findActivation(activation, known))
    s.activation = *found;
  else
    config.failAt(key, "expected one of " + known + ", got \"" + activation + "\"");
}

DecoderSettings readDecoder(ConfigFile &config, llvm::StringRef type) {
  DecoderSettings s;
  s.names = kTransformersNames;
  s.family = type.str();
  readSizes(config, s);
  readNormAndBias(config, s);
  readActivation(config, "hidden_act", "silu", s);
  s.isTied = config.getBool("tie_word_embeddings").value_or(false);
  s.hasInnerBias = config.getBool("mlp_bias").value_or(false);
  if (type == "qwen2") {
    config.expectBool("attention_bias", true); // of query, key and value, whether the key is there or not
    s.hasQueryBias = true;
    s.hasOutputBias = false;
  }
  if (type == "qwen3") {
    s.names.queryNorm = "self_attn.q_norm";
    s.names.keyNorm = "self_attn.k_norm";
  }
  if (type == "phi3")
    readPhi3(config, s);
  readWindow(config, s);
  readRotary(config, s, 1);
  config.expectAllRead(getUnusedKeys(), "the family " + type.str());
  return s;
}

void readSizes(GgufSettings &keys, DecoderSettings &s) {
  s.width = keys.getSize("embedding_length");
  s.layers = keys.getSize("block_count", std::nullopt, 10'000);
  s.heads = keys.getSize("attention.head_count");
  s.keyHeads = keys.getSize("attention.head_count_kv", s.heads);
  if (s.heads % s.keyHeads != 0)
    keys.fail("attention.head_count", "a multiple of 'attention.head_count_kv', " + std::to_string(s.keyHeads));
  if (!keys.has("attention.key_length") && s.width % s.heads != 0)
    keys.fail("embedding_length", "a multiple of 'attention.head_count', " + std::to_string(s.heads));
  s.depth = keys.getSize("attention.key_length", s.width / s.heads, 1 << 16);
  if (keys.getSize("attention.value_length", s.depth, 1 << 16) != s.depth)
    keys.fail("attention.value_length", "the size of a key, " + std::to_string(s.depth));
  s.inner = keys.getSize("feed_forward_length");
  s.context = keys.getSize("context_length");
  if (keys.getCount("expert_count").value_or(0) != 0)
    keys.fail("expert_count", "0: a mixture of experts is not supported");
  (void)keys.lookup("tensor_data_layout"); // a fact about how the model was converted
}

int64_t readRotary(ModelBuilder &model, GgufSettings &keys, double theta, DecoderSettings &s) {
  const int64_t turned = keys.getSize("rope.dimension_count", s.depth, s.depth);
  if (turned % 2 != 0)
    keys.fail("rope.dimension_count", "an even number");
  theta = keys.getPositive("rope.freq_base", theta);
  s.rotary = readRotary(model, keys, {.theta = theta, .depth = s.depth, .turned = turned, .context = s.context});
  return turned;
}

void readWords(ModelBuilder &model, GgufSettings &keys, DecoderSettings &s) {
  const StoredTensor *embedding = model.weights.find(s.names.embedding.str() + ".weight");
  s.words = embedding && embedding->dims.size() == 2 ? embedding->dims[0] : 0;
  if (keys.has("vocab_size") && keys.getSize("vocab_size") != s.words)
    keys.fail("vocab_size", "the rows of tensor 'token_embd.weight', " + std::to_string(s.words));
}

DecoderSettings readDecoder(ModelBuilder &model, const GgufModel &file, const std::string &architecture) {
  DecoderSettings s;
  GgufSettings keys(model, file, architecture);
  s.names = kGgufNames;
  s.family = architecture;
  readSizes(keys, s);
  s.epsilon = keys.getPositive("attention.layer_norm_rms_epsilon", 1e-6);
  const bool isGemma = architecture == "gemma3";
  const int64_t turned = readRotary(model, keys, isGemma ? 1e6 : 10000, s);
  if (isGemma)
    readGemma3(keys, turned, s);
  if (architecture == "phi3")
    readPhi3(model, keys, s);
  if (architecture == "qwen3") {
    s.names.queryNorm = "attn_q_norm";
    s.names.keyNorm = "attn_k_norm";
  }
  // Llama's converter has the two elements of a pair beside one another.
  s.rotary.turnsNeighbours = architecture == "llama";
  const std::string first = s.names.layers.str() + "0.";
  s.hasQueryBias = model.weights.contains(first + s.names.query.str() + ".bias");
  s.hasOutputBias = model.weights.contains(first + s.names.output.str() + ".bias");
  s.hasInnerBias = model.weights.contains(first + s.names.up.str() + ".bias");
  s.isTied = !model.weights.contains(s.names.head.str() + ".weight");
  readWords(model, keys, s);
  keys.expectAllRead();
  return s;
}

} // namespace vx
