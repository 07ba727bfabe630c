#include "language_model.h"

#include "command_line.h"
#include "vx/text/chat_template.hpp"
#include "vx/text/tokenizer.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace vx::tools {

namespace {

/// The keys of one file.
class Keys {
public:
  Keys(const GgufModel &model, const std::string &path) : model(model), path(path) {}

  std::optional<std::string> string(const std::string &key) const {
    const GgufValue *value = model.find(key);
    if (!value)
      return {};
    const std::optional<std::string_view> text = value->kind() == GgufKind::array ? std::nullopt : value->stringAt(0);
    if (!text)
      refuse(key, *value, "a string");
    return std::string(*text);
  }
  /// A whole number; of an array the sum of its elements, one per layer.
  std::optional<uint64_t> number(const std::string &key) const {
    const GgufValue *value = model.find(key);
    if (!value)
      return {};
    const std::optional<uint64_t> whole = value->kind() == GgufKind::array ? std::nullopt : value->unsignedAt(0);
    if (!whole)
      refuse(key, *value, "a whole number of 0 or more");
    return whole;
  }
  /// One number per layer: the same for all, or those of an array.
  std::vector<uint64_t> perLayer(const std::string &key, uint64_t layers, uint64_t otherwise) const {
    const GgufValue *value = model.find(key);
    std::vector<uint64_t> numbers(layers, otherwise);
    if (!value)
      return numbers;
    const bool isArray = value->kind() == GgufKind::array;
    if (isArray && value->size() != layers)
      refuse(key, *value, fmt::format("a number, or one per layer, {}", layers));
    for (uint64_t i = 0; i < layers; ++i) {
      const std::optional<uint64_t> whole = value->unsignedAt(isArray ? i : 0);
      if (!whole)
        refuse(key, *value, "whole numbers of 0 or more");
      numbers[i] = *whole;
    }
    return numbers;
  }

private:
  [[noreturn]] void refuse(const std::string &key, const GgufValue &value, const std::string &expected) const {
    throw fileError("{}: key '{}' is {}, expected {}", printableLine(path), printableLine(key),
                    printableLine(value.text()), expected);
  }
  const GgufModel &model;
  const std::string &path;
};

constexpr uint64_t MostLayers = 100'000, MostNumber = uint64_t(1) << 31;

/// The layers of the family that keep a window only: gemma3 has one layer of six with all tokens, gemma2 every other.
bool keepsWindow(const std::string &architecture, uint64_t layer) {
  if (architecture == "gemma3")
    return (layer + 1) % 6 != 0;
  if (architecture == "gemma2")
    return layer % 2 == 0;
  return false;
}

void readCache(const Keys &keys, LanguageModelFacts &facts) {
  const std::string prefix = facts.architecture + ".attention.";
  const auto lacks = [&](const std::string &key) { facts.noCache = "the file has no key '" + key + "'"; };
  static constexpr std::string_view encoders[] = {"bert",         "nomic-bert",  "nomic-bert-moe",
                                                  "jina-bert-v2", "modern-bert", "t5encoder"};
  if (std::ranges::find(encoders, facts.architecture) != std::end(encoders)) {
    facts.noCache = "an encoder keeps none";
    return;
  }
  if (!facts.layers)
    return lacks(facts.architecture + ".block_count");
  if (!facts.heads || *facts.heads == 0)
    return lacks(prefix + "head_count");
  if (*facts.layers > MostLayers || *facts.heads > MostNumber) {
    facts.noCache = fmt::format("{} layers of {} heads are too many", *facts.layers, *facts.heads);
    return;
  }
  const uint64_t depth = facts.width ? *facts.width / *facts.heads : 0;
  const std::optional<uint64_t> key = keys.number(prefix + "key_length"), value = keys.number(prefix + "value_length");
  if (!facts.width && (!key || !value))
    return lacks(prefix + "key_length");
  const uint64_t bytes = 2 * (key.value_or(depth) + value.value_or(depth));
  if (bytes > MostNumber) {
    facts.noCache = fmt::format("keys and values of {} bytes are too large", bytes);
    return;
  }
  const uint64_t window = keys.number(prefix + "sliding_window").value_or(0);
  const std::vector<uint64_t> heads = keys.perLayer(prefix + "head_count_kv", *facts.layers, *facts.heads);
  CacheFacts cache;
  for (uint64_t layer = 0; layer < heads.size(); ++layer) {
    if (heads[layer] > MostNumber) {
      facts.noCache = fmt::format("{} heads of a layer are too many", heads[layer]);
      return;
    }
    const bool hasWindow = window > 0 && keepsWindow(facts.architecture, layer);
    (hasWindow ? cache.windowBytesPerToken : cache.bytesPerToken) += heads[layer] * bytes;
    if (hasWindow)
      cache.window = window;
  }
  facts.keyValueHeads = heads.empty() ? 0 : *std::ranges::max_element(heads);
  facts.cache = cache;
}

/// As vx-compile has it, of what the header tells.
std::string findRefusal(const LanguageModelFacts &facts) {
  static constexpr std::string_view families[] = {"gemma3", "gpt2", "llama", "phi2", "phi3", "qwen2", "qwen3"};
  if (facts.architecture == "nomic-bert")
    return "it is a model of embeddings: vx-compile makes a module of it for vx-embed";
  if (std::ranges::find(families, facts.architecture) == std::end(families))
    return fmt::format("vx-compile reads the architectures {}, got {}", fmt::join(families, ", "), facts.architecture);
  for (const TensorTypeCount &count : facts.types)
    if (!count.type->isWeight)
      return fmt::format("vx-compile reads no weights of type {}, got {} tensor{}", count.type->name, count.tensors,
                         count.tensors == 1 ? "" : "s");
  return facts.noTokenizer.empty() ? "" : "the tokenizer is refused";
}

/// How a block format lies on a device (docs/language-models.md): vx-compile puts the integers in the order of products
/// when a module is loaded, and what is between 4 and 8 bits takes 8. The f16 of a block stay, and the integers that
/// scale its parts take a byte each.
struct DeviceForm {
  std::string_view type;
  unsigned integerBits, elements, numberBytes; // of a block
  bool hasMinimum;

  double bits() const { return integerBits + 8.0 * numberBytes / elements; }
};
constexpr DeviceForm DeviceForms[] = {
    {"q4_0", 4, 32, 2, false},  {"q4_1", 4, 32, 4, true},    {"q5_0", 8, 32, 2, false},   {"q5_1", 8, 32, 4, true},
    {"q8_0", 8, 32, 2, false},  {"q2_k", 4, 256, 36, true},  {"q3_k", 4, 256, 18, false}, {"q4_k", 4, 256, 20, true},
    {"q5_k", 8, 256, 20, true}, {"q6_k", 8, 256, 18, false}, {"iq4_nl", 8, 32, 2, false}, {"mxfp4", 8, 32, 4, false}};

/// "attn_q" of "blk.3.attn_q.weight".
std::string partOf(std::string_view tensor) {
  for (std::string_view end : {".weight", ".bias"})
    if (tensor.ends_with(end))
      tensor.remove_suffix(end.size());
  if (tensor.starts_with("blk."))
    if (const size_t point = tensor.find('.', 4); point != tensor.npos)
      tensor.remove_prefix(point + 1);
  return std::string(tensor);
}

void readParts(const GgufModel &model, LanguageModelFacts &facts) {
  const bool hasHead = model.findTensor("output.weight");
  for (const GgufTensor &tensor : model.tensors()) {
    const std::string name = partOf(tensor.name);
    auto part = std::ranges::find_if(facts.parts,
                                     [&](const PartFacts &one) { return one.name == name && one.type == tensor.type; });
    const auto *form = std::ranges::find(DeviceForms, std::string_view(tensor.type->name), &DeviceForm::type);
    const bool isTable = name == "token_embd", isLookedUp = hasHead && isTable; // without a head it is the head too
    const bool hasForm = form != std::end(DeviceForms) && !isLookedUp;
    if (part == facts.parts.end()) {
      part = facts.parts.insert(part, {name, tensor.type, 0, 0, {}});
      if (isLookedUp)
        part->form = "as in the file; rows are looked up";
      else if (hasForm)
        part->form = fmt::format("integers of {} bits, {} bytes of scales{} for each {}: {} bits a weight{}",
                                 form->integerBits, form->numberBytes, form->hasMinimum ? " and minimums" : "",
                                 form->elements, form->bits(), isTable ? "; rows are looked up in it too" : "");
      else
        part->form =
            std::string_view(tensor.type->name) == "f32" ? "as in the file" : "as in the file; computed in f32";
    }
    ++part->tensors;
    const uint64_t weights = tensor.bytes.size() / tensor.type->bytes * tensor.type->block;
    const uint64_t bytes =
        hasForm ? static_cast<uint64_t>(static_cast<double>(weights) * form->bits() / 8) : tensor.bytes.size();
    part->deviceBytes += bytes;
    facts.deviceBytes += bytes;
  }
}

void readTokenizer(const GgufModel &model, const Keys &keys, LanguageModelFacts &facts) {
  const std::optional<std::string> kind = keys.string("tokenizer.ggml.model"), pre = keys.string("tokenizer.ggml.pre");
  facts.begin = keys.number("tokenizer.ggml.bos_token_id");
  facts.end = keys.number("tokenizer.ggml.eos_token_id");
  facts.chatTemplate = keys.string("tokenizer.chat_template");
  if (kind)
    facts.tokenizer = *kind + (pre ? " (" + *pre + ")" : "");
  try {
    facts.ends = text::end_tokens(model.file());
    facts.tokens = text::Tokenizer::from_gguf(model.file()).vocabulary_size();
  } catch (const text::Error &error) {
    facts.noTokenizer = error.what();
  }
}

} // namespace

uint64_t CacheFacts::bytesAt(uint64_t tokens) const {
  return tokens * bytesPerToken + std::min(tokens, window) * windowBytesPerToken;
}

GgufModel openGguf(const std::string &path) {
  GgufModel model;
  std::string error;
  if (!GgufModel::open(path, model, error))
    throw fileError("{}", error);
  return model;
}

LanguageModelFacts readFacts(const GgufModel &model, const std::string &path) {
  const Keys keys(model, path);
  LanguageModelFacts facts;
  const std::optional<std::string> architecture = keys.string("general.architecture");
  if (!architecture)
    throw fileError("{}: the file has no key 'general.architecture', expected the name of the model's architecture",
                    printableLine(path));
  facts.architecture = *architecture;
  facts.name = keys.string("general.name").value_or("");
  facts.layers = keys.number(facts.architecture + ".block_count");
  facts.width = keys.number(facts.architecture + ".embedding_length");
  facts.context = keys.number(facts.architecture + ".context_length");
  const GgufValue *heads = model.find(facts.architecture + ".attention.head_count");
  if (heads && heads->kind() == GgufKind::array && heads->size() > 0) {
    uint64_t most = 0;
    for (size_t i = 0; i < heads->size(); ++i)
      most = std::max(most, heads->unsignedAt(i).value_or(0));
    facts.heads = most;
  } else {
    facts.heads = keys.number(facts.architecture + ".attention.head_count");
  }
  for (const GgufTensor &tensor : model.tensors()) {
    auto found = std::ranges::find(facts.types, tensor.type, &TensorTypeCount::type);
    if (found == facts.types.end())
      found = facts.types.insert(found, {tensor.type, 0, 0});
    ++found->tensors;
    found->bytes += tensor.bytes.size();
    facts.bytes += tensor.bytes.size();
    facts.parameters += tensor.bytes.size() / tensor.type->bytes * tensor.type->block;
  }
  std::ranges::sort(facts.types, [](const TensorTypeCount &a, const TensorTypeCount &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.type->number < b.type->number;
  });
  readCache(keys, facts);
  readTokenizer(model, keys, facts);
  facts.noRun = findRefusal(facts);
  if (facts.noRun.empty())
    readParts(model, facts);
  return facts;
}

std::string typesText(const LanguageModelFacts &facts) {
  std::string text;
  for (const TensorTypeCount &count : facts.types)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.tensors, count.type->name);
  return text.empty() ? "no tensors" : text;
}

std::string renderExample(const GgufModel &model, const std::string &source) {
  const text::Tokenizer tokenizer = text::Tokenizer::from_gguf(model.file());
  nlohmann::ordered_json variables = {
      {"messages", {{{"role", "system"}, {"content", "You are helpful."}}, {{"role", "user"}, {"content", "Hello"}}}},
      {"add_generation_prompt", true}};
  for (const char *name : {"bos", "eos", "unknown", "padding"}) {
    const GgufValue *value = model.find(std::string("tokenizer.ggml.") + name + "_token_id");
    const std::optional<uint64_t> id = value ? value->unsignedAt(0) : std::nullopt;
    const std::string key = (name == std::string("unknown")   ? "unk"
                             : name == std::string("padding") ? "pad"
                                                              : name) +
                            std::string("_token");
    variables[key] =
        id && *id < tokenizer.vocabulary_size() ? tokenizer.id_to_token(static_cast<int32_t>(*id)).value_or("") : "";
  }
  const text::ChatTemplate parsed = text::ChatTemplate::parse(source);
  const std::string json = variables.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  try {
    return parsed.render(json);
  } catch (const text::Error &) {
    // Some templates refuse a system message.
    variables["messages"].erase(0);
    return parsed.render(variables.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
}

nlohmann::ordered_json describeFacts(const LanguageModelFacts &facts) {
  using Json = nlohmann::ordered_json;
  const auto orNull = [](const auto &value) { return value ? Json(*value) : Json(); };
  const auto textOrNull = [](const std::string &text) { return text.empty() ? Json() : Json(text); };
  Json types = Json::array();
  for (const TensorTypeCount &count : facts.types)
    types.push_back({{"type", count.type->name}, {"tensors", count.tensors}, {"bytes", count.bytes}});
  Json json = {{"architecture", facts.architecture},
               {"name", textOrNull(facts.name)},
               {"layers", orNull(facts.layers)},
               {"width", orNull(facts.width)},
               {"heads", orNull(facts.heads)},
               {"key_value_heads", orNull(facts.keyValueHeads)},
               {"context", orNull(facts.context)},
               {"parameters", facts.parameters},
               {"bytes", facts.bytes},
               {"types", types},
               {"tokenizer", textOrNull(facts.tokenizer)},
               {"tokenizer_refused", textOrNull(facts.noTokenizer)},
               {"tokens", orNull(facts.tokens)},
               {"bos", orNull(facts.begin)},
               {"eos", orNull(facts.end)},
               {"ends", facts.ends}};
  json["device_bytes"] = facts.noRun.empty() ? Json(facts.deviceBytes) : Json();
  json["parts"] = Json::array();
  for (const PartFacts &part : facts.parts)
    json["parts"].push_back({{"name", part.name},
                             {"type", part.type->name},
                             {"tensors", part.tensors},
                             {"device_bytes", part.deviceBytes},
                             {"form", part.form}});
  json["run_refused"] = textOrNull(facts.noRun);
  json["cache_refused"] = textOrNull(facts.noCache);
  json["cache"] = Json();
  if (facts.cache)
    json["cache"] = {{"type", "f16"},
                     {"bytes_per_token", facts.cache->bytesPerToken},
                     {"window", facts.cache->window},
                     {"window_bytes_per_token", facts.cache->windowBytesPerToken},
                     {"bytes_at_4096", facts.cache->bytesAt(4096)},
                     {"bytes_at_32768", facts.cache->bytesAt(32768)}};
  return json;
}

} // namespace vx::tools
