#include "model_module.h"

#include "errors.h"

#include "vx/base/gguf.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::llm {

namespace {

using Json = nlohmann::json;

constexpr std::string_view SettingsAsset = "language_model.json";

const vx_asset_info *findAsset(const Module &module, std::string_view name) {
  for (const vx_asset_info &asset : module.assets())
    if (asset.name == name)
      return &asset;
  return nullptr;
}

std::string_view bytesOf(const vx_asset_info &asset) { return {static_cast<const char *>(asset.bytes), asset.size}; }

const Json &member(const Json &settings, const char *key) {
  if (!settings.is_object() || !settings.contains(key))
    throw moduleError("asset '{}': expected a key '{}', got none", SettingsAsset, key);
  return settings[key];
}

Json readSettings(const Module &module) {
  const vx_asset_info *asset = findAsset(module, SettingsAsset);
  if (!asset)
    throw moduleError("the module has no asset '{}', expected one that vx-compile made of a language model",
                      SettingsAsset);
  Json settings = Json::parse(bytesOf(*asset), nullptr, /*allow_exceptions=*/false);
  if (settings.is_discarded())
    throw moduleError("asset '{}': no JSON", SettingsAsset);
  return settings;
}

size_t readCount(const Json &settings, const char *key) {
  const Json &value = member(settings, key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() < 1 || value.get<uint64_t>() > INT32_MAX)
    throw moduleError("asset '{}': '{}': expected a number from 1 to {}, got {}", SettingsAsset, key, INT32_MAX,
                      value.dump());
  return value.get<size_t>();
}

ModelInfo readInfo(const Json &settings) {
  ModelInfo info;
  info.context = readCount(settings, "context");
  info.vocabulary = readCount(settings, "vocabulary");
  if (const Json &family = member(settings, "family"); family.is_string())
    info.family = family.get<std::string>();
  const Json &ends = member(settings, "ends");
  for (const Json &end : ends) {
    if (!ends.is_array() || !end.is_number_unsigned() || end.get<uint64_t>() > INT32_MAX)
      throw moduleError("asset '{}': 'ends': expected a list of numbers of tokens, got {}", SettingsAsset, ends.dump());
    info.ends.push_back(end.get<int32_t>());
  }
  return info;
}

// The template is an asset; a module without the key has none.
void readTemplate(const Module &module, const Json &settings, ModelInfo &info) {
  if (!settings.contains("template"))
    return;
  const Json &name = settings["template"];
  const vx_asset_info *asset = name.is_string() ? findAsset(module, name.get_ref<const std::string &>()) : nullptr;
  if (!asset)
    throw moduleError("asset '{}': 'template': expected the name of an asset, got {}", SettingsAsset, name.dump());
  info.chatTemplate = bytesOf(*asset);
  const Json &tokens = member(settings, "template_tokens");
  for (const auto &[variable, token] : tokens.items()) {
    if (!tokens.is_object() || !token.is_string())
      throw moduleError("asset '{}': 'template_tokens': expected an object of strings, got {}", SettingsAsset,
                        tokens.dump());
    info.templateTokens[variable] = token.get<std::string>();
  }
}

} // namespace

bool hasSettings(const Module &module) { return findAsset(module, SettingsAsset) != nullptr; }

ModelInfo readModelInfo(const Module &module) {
  const Json settings = readSettings(module);
  ModelInfo info = readInfo(settings);
  readTemplate(module, settings, info);
  for (const vx_function_info &function : module.functions())
    if (function.name == std::string_view("embed") && function.output_count == 1 && function.outputs[0].rank == 3)
      info.width = static_cast<size_t>(std::max<int64_t>(function.outputs[0].dims[2].size, 0));
  return info;
}

text::Tokenizer readTokenizer(const Module &module) {
  const Json settings = readSettings(module);
  const Json &name = member(settings, "tokenizer");
  const vx_asset_info *asset = name.is_string() ? findAsset(module, name.get_ref<const std::string &>()) : nullptr;
  if (!asset)
    throw moduleError("asset '{}': 'tokenizer': expected the name of an asset, got {}", SettingsAsset, name.dump());
  const std::string_view bytes = bytesOf(*asset);
  try {
    if (std::string_view(asset->name).ends_with(".json"))
      return text::Tokenizer::from_json(bytes);
    GgufFile file;
    std::string error;
    if (!parseGguf({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, file, error))
      throw moduleError("asset '{}': {}", asset->name, error);
    return text::Tokenizer::from_gguf(file);
  } catch (const text::Error &error) {
    throw moduleError("asset '{}': {}", asset->name, error.what());
  }
}

namespace {

struct Tensor {
  vx_element_type type;
  uint32_t rank;
};

// `wanted` says in a text what `inputs` and `output` are.
const vx_function_info &findFunction(const Module &module, std::string_view name, std::span<const Tensor> inputs,
                                     Tensor output, std::string_view wanted) {
  auto is = [](const vx_argument_info &argument, const Tensor &tensor) {
    return argument.element_type == tensor.type && argument.rank == tensor.rank;
  };
  for (const vx_function_info &function : module.functions()) {
    if (function.name != name)
      continue;
    bool fits = function.input_count == inputs.size() && function.output_count == 1 && is(function.outputs[0], output);
    for (size_t i = 0; fits && i < inputs.size(); ++i)
      fits = is(function.inputs[i], inputs[i]);
    if (!fits)
      throw moduleError("function '{}': expected {}; compile the model again", name, wanted);
    return function;
  }
  throw moduleError("the module has no function '{}', expected one that vx-compile made of a language model", name);
}

constexpr Tensor List = {VX_I64, 1}, Rows = {VX_I64, 2};

} // namespace

const vx_function_info &findExtend(const Module &module) {
  const Tensor inputs[] = {List, Rows, List, List, List};
  return findFunction(module, "extend", inputs, {VX_F32, 2},
                      "ids i64[N], table i64[S,P], starts i64[S+1], lengths i64[S], rows i64[R] -> f32[R,M]");
}

const vx_function_info &findDecode(const Module &module) {
  const Tensor inputs[] = {List, Rows, List};
  return findFunction(module, "decode", inputs, {VX_F32, 2}, "ids i64[1], table i64[1,P], lengths i64[1] -> f32[1,M]");
}

size_t readPagePlaces(const Module &module) {
  findExtend(module); // a module of another version has other caches
  findDecode(module);
  for (const vx_variable_info &variable : module.variables())
    if (variable.role == VX_ROLE_CACHE && variable.rank == 4 && variable.dims[2] > 0)
      return static_cast<size_t>(variable.dims[2]);
  throw moduleError("the module has no cache, expected variables [pages, key heads, places, depth]");
}

const vx_function_info &findPrefill(const Module &module) {
  const Tensor inputs[] = {Rows};
  return findFunction(module, "prefill", inputs, {VX_F32, 3}, "ids i64[1,N] -> f32[1,N,M]");
}

const vx_function_info &findEmbed(const Module &module) {
  const Tensor inputs[] = {Rows};
  return findFunction(module, "embed", inputs, {VX_F32, 3}, "ids i64[1,N] -> f32[1,N,W]");
}

} // namespace vx::llm
