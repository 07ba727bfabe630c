// Gemma 3, its language model: norms on both sides of each part, and layers that see the last tokens only.
#include "Families.h"
#include "GgufSettings.h"

#include <cmath>

namespace vx {

namespace {

constexpr DecoderNames kGemma3Names = {.embedding = "model.embed_tokens",
                                       .layers = "model.layers.",
                                       .norm = "model.norm",
                                       .head = "lm_head",
                                       .query = "self_attn.q_proj",
                                       .key = "self_attn.k_proj",
                                       .value = "self_attn.v_proj",
                                       .output = "self_attn.o_proj",
                                       .attentionNorm = "input_layernorm",
                                       .gate = "mlp.gate_proj",
                                       .up = "mlp.up_proj",
                                       .down = "mlp.down_proj",
                                       .feedForwardNorm = "pre_feedforward_layernorm",
                                       .queryNorm = "self_attn.q_norm",
                                       .keyNorm = "self_attn.k_norm",
                                       .addedAttentionNorm = "post_attention_layernorm",
                                       .addedFeedForwardNorm = "post_feedforward_layernorm"};

constexpr double kWindowTheta = 1e4;
/// Of this many layers the last one sees all tokens.
constexpr int64_t kPattern = 6;

void setPattern(DecoderSettings &s, int64_t pattern) {
  s.seesAll.clear();
  for (int64_t layer = 0; layer < s.layers; ++layer)
    s.seesAll.push_back((layer + 1) % pattern == 0);
}

void readLayerTypes(ConfigFile &config, DecoderSettings &s) {
  const int64_t pattern =
      config.getCount("sliding_window_pattern").value_or(config.getCount("_sliding_window_pattern").value_or(kPattern));
  if (pattern < 1)
    return config.failAt("sliding_window_pattern", "expected 1 or more, got " + llvm::Twine(pattern));
  setPattern(s, pattern);
  const llvm::json::Value *types = config.lookup("layer_types");
  if (!types)
    return;
  const llvm::json::Array *list = types->getAsArray();
  if (!list || static_cast<int64_t>(list->size()) != s.layers)
    return config.fail("layer_types", "a list with a type for each of " + llvm::Twine(s.layers) + " layers", *types);
  for (auto [layer, type] : llvm::enumerate(*list)) {
    s.seesAll[layer] = type.getAsString() == "full_attention";
    if (!s.seesAll[layer] && type.getAsString() != "sliding_attention")
      return config.fail("layer_types", "a list of \"full_attention\" and \"sliding_attention\"", *types);
  }
}

/// Version 5 of transformers has an object with one for each kind of layer; before, there are three keys.
void readBothRotary(ConfigFile &config, DecoderSettings &s) {
  const double theta = readPositive(config, "rope_theta", 1e6);
  const double windowTheta = readPositive(config, "rope_local_base_freq", kWindowTheta);
  const llvm::json::Value *both = config.lookup("rope_parameters"), *scaling = config.lookup("rope_scaling");
  const llvm::json::Object *kinds = both ? both->getAsObject() : nullptr;
  if (both && !kinds)
    return config.fail("rope_parameters", "an object", *both);
  const llvm::json::Value *ofAll = kinds ? kinds->get("full_attention") : scaling,
                          *ofWindow = kinds ? kinds->get("sliding_attention") : nullptr;
  if (kinds && (!ofAll || !ofWindow || kinds->size() != 2))
    return config.fail("rope_parameters", "the keys full_attention and sliding_attention", *both);
  auto read = [&](llvm::StringRef path, const llvm::json::Value *value, double otherwise) {
    return readRotary(config, path, value, 1, {.theta = otherwise, .depth = s.depth, .context = s.context}, s.family);
  };
  s.rotary = read(kinds ? "rope_parameters.full_attention" : "rope_scaling", ofAll, theta);
  s.windowRotary = read("rope_parameters.sliding_attention", ofWindow, windowTheta);
}

} // namespace

DecoderSettings readGemma3(ConfigFile &config) {
  DecoderSettings s;
  s.names = kGemma3Names;
  s.family = "gemma3";
  s.isNormLessOne = true;
  if (!config.has("head_dim"))
    config.failAt("head_dim", "expected a number, got none");
  readSizes(config, s);
  readNormAndBias(config, s);
  readActivation(config, "hidden_activation", "gelu_pytorch_tanh", s);
  (void)config.lookup("hidden_act"); // without effect beside the other key
  s.embeddingScale = std::sqrt(double(s.width));
  s.attentionScale = 1 / std::sqrt(readPositive(config, "query_pre_attn_scalar", 256));
  for (llvm::StringRef key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (const llvm::json::Value *value = config.lookup(key); value && value->kind() != llvm::json::Value::Null)
      config.fail(key, "null: a limit of scores or logits is not supported", *value);
  config.expectBool("use_bidirectional_attention", false);
  s.isTied = config.getBool("tie_word_embeddings").value_or(true);
  const std::optional<int64_t> window = config.getCount("sliding_window");
  if (window && *window < 1)
    config.fail("sliding_window", "1 or more", *config.lookup("sliding_window"));
  s.window = window.value_or(4096);
  readLayerTypes(config, s);
  readBothRotary(config, s);
  config.expectAllRead(getUnusedKeys(), "the family gemma3");
  return s;
}

void readGemma3(GgufSettings &keys, int64_t turned, DecoderSettings &s) {
  s.names.queryNorm = "attn_q_norm";
  s.names.keyNorm = "attn_k_norm";
  s.names.addedAttentionNorm = "post_attention_norm";
  s.names.addedFeedForwardNorm = "post_ffw_norm";
  s.activation = Activation::GeluTanh;
  s.embeddingScale = std::sqrt(double(s.width));
  // The model of 27 billion weights divides the scores by another root; its file has no key for it.
  constexpr int64_t kLayersOf27B = 62;
  if (s.layers == kLayersOf27B)
    s.attentionScale = 1 / std::sqrt(double(s.width) / double(s.heads));
  s.window = keys.getSize("attention.sliding_window");
  setPattern(s, keys.getSize("attention.sliding_window_pattern", kPattern));
  s.windowRotary = Rotary{computeFrequencies(keys.getPositive("rope.freq_base_swa", kWindowTheta), turned)};
  for (llvm::StringRef key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (keys.has(key))
      keys.fail(key, "no limit of scores or logits, which is not supported");
}

} // namespace vx
