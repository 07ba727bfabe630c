// Llama and its relatives: settings of config.json and of GGUF files.
#include "Families.h"
#include "GgufSettings.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>

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

/// Slower turns for long sequences, as Llama 3.1 has them: a pair with a wavelength above `original` / `low` turns
/// `factor` times slower, one below `original` / `high` as it was, and between both it is a mean.
void applyLlama3(std::vector<double> &frequencies, double factor, double low, double high, double original) {
  for (double &frequency : frequencies) {
    const double wavelength = 2 * M_PI / frequency;
    if (wavelength > original / low) {
      frequency /= factor;
    } else if (wavelength >= original / high) {
      const double share = (original / wavelength - low) / (high - low);
      frequency = (1 - share) * frequency / factor + share * frequency;
    }
  }
}

void readRotary(ConfigFile &config, DecoderSettings &s) {
  const double theta = readPositive(config, "rope_theta", 10000);
  const double partial = readPositive(config, "partial_rotary_factor", 1);
  const llvm::StringRef key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  // Version 5 of transformers has one key; a file with both keys agrees with itself.
  const llvm::json::Value *value = config.lookup(key);
  (void)config.lookup("rope_scaling");
  s.frequencies = readFrequencies(config, "'" + key.str() + "'", value, theta, partial, s);
}

/// Qwen and Mistral may let layers see the last tokens only.
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

/// The factors that Llama 3's pairs turn slower by, which its GGUF files have as a tensor.
void applyFactors(ModelBuilder &model, DecoderSettings &s) {
  const StoredTensor *factors = model.weights.find("rope_freqs.weight");
  if (!factors)
    return;
  const int64_t count = static_cast<int64_t>(s.frequencies.size());
  if (factors->type != "f32" || factors->dims != std::vector<int64_t>{count})
    return model.fail(model.weights.getName() + ": tensor 'rope_freqs.weight': expected f32[" + llvm::Twine(count) +
                      "], got " + factors->type + " of " + llvm::Twine(factors->dims.size()) + " dimensions");
  for (size_t i = 0; i < s.frequencies.size(); ++i) {
    float factor;
    std::memcpy(&factor, factors->bytes.data() + i * sizeof(factor), sizeof(factor));
    if (!(factor > 0 && factor < 1e30f))
      return model.fail(model.weights.getName() + ": tensor 'rope_freqs.weight': expected numbers above 0, got " +
                        std::to_string(factor) + " at place " + llvm::Twine(i));
    s.frequencies[i] /= factor;
  }
}

} // namespace

std::vector<double> readFrequencies(ConfigFile &config, const std::string &name, const llvm::json::Value *value,
                                    double theta, double partial, const DecoderSettings &s) {
  if (value && value->kind() != llvm::json::Value::Null && !value->getAsObject()) {
    config.fail(name + ": expected an object, got " + showJson(*value));
    return {};
  }
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  ConfigFile rope(config.getName() + ": " + name, object ? *object : llvm::json::Object());
  theta = readPositive(rope, "rope_theta", theta);
  const double ropePartial = readPositive(rope, "partial_rotary_factor", partial);
  const int64_t turned = static_cast<int64_t>(double(s.depth) * std::min(ropePartial, 1.0));
  if (turned < 2 || turned % 2 != 0)
    config.fail("expected an even number of elements of a head that turn, got " + llvm::Twine(turned) + " of " +
                llvm::Twine(s.depth));
  std::vector<double> frequencies = computeFrequencies(theta, turned);
  const std::string type = rope.getString("rope_type").value_or(rope.getString("type").value_or("default"));
  if (type == "linear") {
    const double factor = readPositive(rope, "factor");
    for (double &frequency : frequencies)
      frequency /= factor;
  } else if (type == "llama3") {
    const double factor = readPositive(rope, "factor"), low = readPositive(rope, "low_freq_factor"),
                 high = readPositive(rope, "high_freq_factor"),
                 original = readPositive(rope, "original_max_position_embeddings");
    if (!(low < high))
      rope.fail("'low_freq_factor': expected less than 'high_freq_factor', " + showJson(high) + ", got " +
                showJson(low));
    else
      applyLlama3(frequencies, factor, low, high, original);
  } else if (type != "default") {
    rope.fail("'rope_type': expected default, linear or llama3, got \"" + type + "\"");
  }
  rope.expectAllRead({}, "the family " + s.family);
  if (llvm::Error error = rope.takeError())
    config.fail(llvm::StringRef(llvm::toString(std::move(error))).split(": ").second);
  return frequencies;
}

void readSizes(ConfigFile &config, DecoderSettings &s) {
  s.width = readSize(config, "hidden_size");
  s.layers = readSize(config, "num_hidden_layers", 10'000);
  s.heads = readSize(config, "num_attention_heads");
  s.keyHeads = config.has("num_key_value_heads") ? readSize(config, "num_key_value_heads") : s.heads;
  if (s.heads % s.keyHeads != 0)
    config.fail("'num_attention_heads': expected a multiple of 'num_key_value_heads', " + llvm::Twine(s.keyHeads) +
                ", got " + llvm::Twine(s.heads));
  if (config.has("head_dim"))
    s.depth = readSize(config, "head_dim", 1 << 16);
  else if (s.width % s.heads != 0)
    config.fail("'hidden_size': expected a multiple of 'num_attention_heads', " + llvm::Twine(s.heads) + ", got " +
                llvm::Twine(s.width));
  else
    s.depth = s.width / s.heads;
  s.inner = readSize(config, "intermediate_size");
  s.words = readSize(config, "vocab_size");
  s.context = readSize(config, "max_position_embeddings");
  s.epsilon = readPositive(config, "rms_norm_eps", 1e-6);
  s.hasQueryBias = s.hasOutputBias = config.getBool("attention_bias").value_or(false);
}

void readActivation(ConfigFile &config, llvm::StringRef key, llvm::StringRef otherwise, DecoderSettings &s) {
  std::string known;
  const std::string activation = config.getString(key).value_or(otherwise.str());
  if (std::optional<Activation> found = findActivation(activation, known))
    s.activation = *found;
  else
    config.fail("'" + key + "': expected one of " + known + ", got \"" + activation + "\"");
}

DecoderSettings readDecoder(ConfigFile &config, llvm::StringRef type) {
  DecoderSettings s;
  s.names = kTransformersNames;
  s.family = type.str();
  readSizes(config, s);
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
  readWindow(config, s);
  readRotary(config, s);
  config.expectAllRead(getUnusedKeys(), "the family " + type.str());
  return s;
}

DecoderSettings readDecoder(ModelBuilder &model, const GgufModel &file, const std::string &architecture) {
  DecoderSettings s;
  GgufSettings keys(model, file, architecture);
  s.names = kGgufNames;
  s.family = architecture;
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
  s.epsilon = keys.getPositive("attention.layer_norm_rms_epsilon", 1e-6);
  const int64_t turned = keys.getSize("rope.dimension_count", s.depth, s.depth);
  if (turned % 2 != 0)
    keys.fail("rope.dimension_count", "an even number");
  const bool isGemma = architecture == "gemma3";
  s.frequencies = computeFrequencies(keys.getPositive("rope.freq_base", isGemma ? 1e6 : 10000), turned);
  if (isGemma)
    readGemma3(keys, turned, s);
  if (architecture == "qwen3") {
    s.names.queryNorm = "attn_q_norm";
    s.names.keyNorm = "attn_k_norm";
  }
  const std::string_view scaling = keys.getString("rope.scaling.type").value_or("none");
  if (scaling == "linear") {
    const double factor = keys.getPositive("rope.scaling.factor", 1);
    for (double &frequency : s.frequencies)
      frequency /= factor;
  } else if (scaling != "none") {
    keys.fail("rope.scaling.type", "none or linear");
  }
  if (keys.getCount("expert_count").value_or(0) != 0)
    keys.fail("expert_count", "0: a mixture of experts is not supported");
  // Facts about how the model was trained and converted.
  for (llvm::StringRef key : {"rope.scaling.original_context_length", "rope.scaling.finetuned", "tensor_data_layout"})
    (void)keys.lookup(key);
  // Llama's converter has the two elements of a pair beside one another.
  s.turnsNeighbours = architecture == "llama";
  applyFactors(model, s);
  const std::string first = s.names.layers.str() + "0.";
  s.hasQueryBias = model.weights.contains(first + s.names.query.str() + ".bias");
  s.hasOutputBias = model.weights.contains(first + s.names.output.str() + ".bias");
  s.hasInnerBias = model.weights.contains(first + s.names.up.str() + ".bias");
  s.isTied = !model.weights.contains(s.names.head.str() + ".weight");
  const StoredTensor *embedding = model.weights.find(s.names.embedding.str() + ".weight");
  s.words = embedding && embedding->dims.size() == 2 ? embedding->dims[0] : 0;
  if (keys.has("vocab_size") && keys.getSize("vocab_size") != s.words)
    keys.fail("vocab_size", "the rows of tensor 'token_embd.weight', " + std::to_string(s.words));
  keys.expectAllRead();
  return s;
}

} // namespace vx
