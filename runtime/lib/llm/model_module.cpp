#include "model_module.h"

#include "errors.h"

#include "vx/base/gguf.h"

#include <nlohmann/json.hpp>

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

const vx_function_info &findStep(const Module &module, std::string_view name) {
  for (const vx_function_info &function : module.functions())
    if (function.name == name) {
      if (function.input_count != 2 || function.output_count != 1 || function.inputs[0].element_type != VX_I64 ||
          function.inputs[0].rank != 2 || function.inputs[1].element_type != VX_I64 || function.inputs[1].rank != 0 ||
          function.outputs[0].element_type != VX_F32 || function.outputs[0].rank != 2)
        throw moduleError("function '{}': expected ids i64[1,N] and past i64[] -> f32[1,N]", name);
      return function;
    }
  throw moduleError("the module has no function '{}', expected one that vx-compile made of a language model", name);
}

const vx_function_info &findPrefill(const Module &module) {
  for (const vx_function_info &function : module.functions())
    if (std::string_view(function.name) == "prefill") {
      if (function.input_count != 1 || function.output_count != 1 || function.inputs[0].element_type != VX_I64 ||
          function.inputs[0].rank != 2 || function.outputs[0].element_type != VX_F32 || function.outputs[0].rank != 3)
        throw moduleError("function 'prefill': expected ids i64[1,N] -> f32[1,N,M]");
      return function;
    }
  throw moduleError("the module has no function 'prefill', which gives the logits of all tokens");
}

} // namespace vx::llm
