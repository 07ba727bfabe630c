#include "generator.h"

#include "errors.h"

#include "vx/base/gguf.h"
#include "vx/base/utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace vx::llm {

namespace {

using Json = nlohmann::json;

constexpr std::string_view SettingsAsset = "language_model.json";
constexpr size_t DefaultContext = 4096;
// Tokens of a prompt in one call: a prompt can be cancelled between two calls.
constexpr size_t PromptChunk = 512;

const vx_asset_info *findAsset(const Module &module, std::string_view name) {
  for (const vx_asset_info &asset : module.assets())
    if (asset.name == name)
      return &asset;
  return nullptr;
}

std::string_view bytesOf(const vx_asset_info &asset) { return {static_cast<const char *>(asset.bytes), asset.size}; }

const Json &member(const Json &settings, const char *key) {
  if (!settings.is_object() || !settings.contains(key))
    throw dataError("asset '{}': expected a key '{}', got none", SettingsAsset, key);
  return settings[key];
}

Json readSettings(const Module &module) {
  const vx_asset_info *asset = findAsset(module, SettingsAsset);
  if (!asset)
    throw dataError("the module has no asset '{}', expected one that vx-compile made of a language model",
                    SettingsAsset);
  Json settings = Json::parse(bytesOf(*asset), nullptr, /*allow_exceptions=*/false);
  if (settings.is_discarded())
    throw dataError("asset '{}': no JSON", SettingsAsset);
  return settings;
}

size_t readCount(const Json &settings, const char *key) {
  const Json &value = member(settings, key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() < 1 || value.get<uint64_t>() > INT32_MAX)
    throw dataError("asset '{}': '{}': expected a number from 1 to {}, got {}", SettingsAsset, key, INT32_MAX,
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
      throw dataError("asset '{}': 'ends': expected a list of numbers of tokens, got {}", SettingsAsset, ends.dump());
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
    throw dataError("asset '{}': 'template': expected the name of an asset, got {}", SettingsAsset, name.dump());
  info.chatTemplate = bytesOf(*asset);
  const Json &tokens = member(settings, "template_tokens");
  for (const auto &[variable, token] : tokens.items()) {
    if (!tokens.is_object() || !token.is_string())
      throw dataError("asset '{}': 'template_tokens': expected an object of strings, got {}", SettingsAsset,
                      tokens.dump());
    info.templateTokens[variable] = token.get<std::string>();
  }
}

text::Tokenizer loadTokenizer(const Module &module, const Json &settings) {
  const Json &name = member(settings, "tokenizer");
  const vx_asset_info *asset = name.is_string() ? findAsset(module, name.get_ref<const std::string &>()) : nullptr;
  if (!asset)
    throw dataError("asset '{}': 'tokenizer': expected the name of an asset, got {}", SettingsAsset, name.dump());
  const std::string_view bytes = bytesOf(*asset);
  try {
    if (std::string_view(asset->name).ends_with(".json"))
      return text::Tokenizer::from_json(bytes);
    GgufFile file;
    std::string error;
    if (!parseGguf({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, file, error))
      throw dataError("asset '{}': {}", asset->name, error);
    return text::Tokenizer::from_gguf(file);
  } catch (const text::Error &error) {
    throw dataError("asset '{}': {}", asset->name, error.what());
  }
}

// A function of ids and the count of tokens before them that gives one row of logits.
const vx_function_info &findFunction(const Module &module, std::string_view name) {
  for (const vx_function_info &function : module.functions())
    if (function.name == name) {
      if (function.input_count != 2 || function.output_count != 1 || function.inputs[0].element_type != VX_I64 ||
          function.inputs[0].rank != 2 || function.inputs[1].element_type != VX_I64 || function.inputs[1].rank != 0 ||
          function.outputs[0].element_type != VX_F32 || function.outputs[0].rank != 2)
        throw dataError("function '{}': expected ids i64[1,N] and past i64[] -> f32[1,N]", name);
      return function;
    }
  throw dataError("the module has no function '{}', expected one that vx-compile made of a language model", name);
}

// The function that gives a row of logits for each token.
const vx_function_info &findPrefill(const Module &module) {
  for (const vx_function_info &function : module.functions())
    if (std::string_view(function.name) == "prefill") {
      if (function.input_count != 1 || function.output_count != 1 || function.inputs[0].element_type != VX_I64 ||
          function.inputs[0].rank != 2 || function.outputs[0].element_type != VX_F32 || function.outputs[0].rank != 3)
        throw dataError("function 'prefill': expected ids i64[1,N] -> f32[1,N,M]");
      return function;
    }
  throw dataError("the module has no function 'prefill', which gives the logits of all tokens");
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

bool Generator::isLanguageModel(const Module &module) { return findAsset(module, SettingsAsset) != nullptr; }

ModelInfo Generator::infoOf(const Module &module) {
  const Json settings = readSettings(module);
  ModelInfo info = readInfo(settings);
  readTemplate(module, settings, info);
  return info;
}

Generator::Generator(const Module &module, InstanceOptions options, size_t context) : module(module) {
  const Json settings = readSettings(module);
  model = infoOf(module);
  words = loadTokenizer(module, settings);
  if (words->vocabulary_size() > model.vocabulary)
    throw dataError("the tokenizer has {} tokens, but the model's embedding has {} rows", words->vocabulary_size(),
                    model.vocabulary);
  if (context > model.context)
    throw argumentError("the context is {} tokens, the model takes {} at most", context, model.context);
  room = context ? context : std::min(DefaultContext, model.context);
  options.symbols = {{"context", static_cast<int64_t>(room)}};
  const vx_function_info &extends = findFunction(module, "extend"), &decodes = findFunction(module, "decode");
  placed.emplace(module, options);
  extend.emplace(*placed, extends);
  decode.emplace(*placed, decodes);
}

Generator::~Generator() = default;

std::vector<float> Generator::run(Call &call, std::span<const int32_t> tokens) {
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  const int64_t dims[] = {1, static_cast<int64_t>(ids.size())};
  const std::vector<int64_t> before{static_cast<int64_t>(cached.size())};
  const std::vector<Value> results = call.run(
      {Value::tensor<int64_t>(std::span<const int64_t>(dims), std::span(ids)), Value::tensor<int64_t>({}, before)});
  const std::span<const float> logits = results[0].data<float>();
  if (logits.size() != model.vocabulary)
    throw dataError("the model gives {} logits, its settings say {}", logits.size(), model.vocabulary);
  cached.insert(cached.end(), tokens.begin(), tokens.end());
  return {logits.begin(), logits.end()};
}

std::vector<float> Generator::compute(std::span<const int32_t> tokens, const std::function<bool()> &isCancelled) {
  if (tokens.size() == 1)
    return run(*decode, tokens);
  std::vector<float> logits;
  for (size_t at = 0; at < tokens.size(); at += PromptChunk) {
    if (isCancelled && isCancelled())
      return {};
    logits = run(*extend, tokens.subspan(at, std::min(PromptChunk, tokens.size() - at)));
  }
  return logits;
}

void Generator::checkTokens(const char *function, std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens)
    if (token < 0 || static_cast<size_t>(token) >= model.vocabulary)
      throw argumentError("{}: expected tokens from 0 to {}, got {}", function, model.vocabulary - 1, token);
}

void Generator::clear() {
  ++answers;
  cached.clear();
}

std::vector<float> Generator::append(std::span<const int32_t> tokens) {
  if (tokens.empty() || tokens.size() > room - cached.size())
    throw argumentError("append: expected 1 to {} tokens, the room that is left of {}, got {}", room - cached.size(),
                        room, tokens.size());
  checkTokens("append", tokens);
  ++answers;
  return compute(tokens);
}

// ln(e^logits[token] / the sum of e^logits)
static double logProbability(std::span<const float> logits, int32_t token) {
  const float largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(logit - largest);
  return static_cast<double>(logits[static_cast<size_t>(token)]) - largest - std::log(sum);
}

std::vector<double> Generator::score(std::span<const int32_t> tokens, size_t first) {
  if (first == 0 || first > tokens.size())
    throw argumentError("score: expected a first token from 1 to {}, got {}", tokens.size(), first);
  if (tokens.size() > room)
    throw argumentError("score: expected at most {} tokens, the context, got {}", room, tokens.size());
  checkTokens("score", tokens);
  std::vector<double> scores;
  if (first == tokens.size())
    return scores;
  if (!prefill)
    prefill.emplace(*placed, findPrefill(module));
  // Nothing follows the last token, so it is not computed.
  const std::vector<int64_t> ids(tokens.begin(), tokens.end() - 1);
  const int64_t dims[] = {1, static_cast<int64_t>(ids.size())};
  const std::vector<Value> results =
      prefill->run({Value::tensor<int64_t>(std::span<const int64_t>(dims), std::span(ids))});
  const std::span<const float> logits = results[0].data<float>();
  if (logits.size() != ids.size() * model.vocabulary)
    throw dataError("the model gives {} logits for {} tokens, its settings say {} for each", logits.size(), ids.size(),
                    model.vocabulary);
  for (size_t i = first; i < tokens.size(); ++i)
    scores.push_back(logProbability(logits.subspan((i - 1) * model.vocabulary, model.vocabulary), tokens[i]));
  return scores;
}

std::vector<int32_t> Generator::encode(std::string_view prompt) const {
  if (!isUtf8(prompt))
    throw argumentError("the prompt is no UTF-8");
  return words->encode(prompt).ids;
}

Answer Generator::generate(std::string_view prompt, const GenerateOptions &options) {
  return generate(encode(prompt), options);
}

Answer Generator::generate(std::span<const int32_t> prompt, const GenerateOptions &options) {
  Generation generation = start(prompt, options);
  while (std::optional<std::string> piece = generation.next())
    if (!piece->empty() && options.onText)
      options.onText(*piece);
  return generation.answer();
}

Generation Generator::start(std::span<const int32_t> prompt, const GenerateOptions &options) {
  if (prompt.empty())
    throw argumentError("the prompt has no tokens, expected at least 1");
  if (prompt.size() >= room)
    throw argumentError("the prompt has {} tokens, but the context has room for {} with the answer: expected a shorter "
                        "prompt or a larger context; the model takes up to {}",
                        prompt.size(), room, model.context);
  return {*this, prompt, options};
}

Generation::Generation(Generator &generator, std::span<const int32_t> prompt, const GenerateOptions &options)
    : generator(generator), prompt(prompt.begin(), prompt.end()), cancel(options.isCancelled),
      most(std::min(options.maxTokens ? options.maxTokens : generator.room, generator.room - prompt.size())),
      sampler(options.sampling), stops(options.stop), stream(generator.tokenizer()) {
  made.promptTokens = prompt.size();
  number = ++generator.answers;
}

bool Generation::isCancelled() {
  if (cancel && cancel())
    made.finish = FinishReason::cancelled;
  return made.finish == FinishReason::cancelled;
}

std::optional<std::string> Generation::next() {
  if (isDone)
    return std::nullopt;
  if (number != generator.answers)
    throw argumentError("the model has started another answer, which ends this one");
  std::vector<int32_t> &cached = generator.cached;
  std::vector<float> logits;
  auto start = std::chrono::steady_clock::now();
  if (made.tokens.empty()) {
    // The last token is computed in any case: its logits are not kept.
    const auto last = prompt.begin() + static_cast<std::ptrdiff_t>(prompt.size()) - 1;
    cached.erase(std::mismatch(cached.begin(), cached.end(), prompt.begin(), last).first, cached.end());
    made.cachedTokens = cached.size();
    logits = generator.compute(std::span(prompt).subspan(cached.size()), [this] { return isCancelled(); });
    made.promptSeconds = secondsSince(start);
    start = std::chrono::steady_clock::now();
  } else if (!isCancelled()) {
    logits = generator.compute(std::span(&made.tokens.back(), 1));
  }
  std::string piece;
  if (!isCancelled()) {
    const int32_t token = sampler.sample(logits, {prompt, made.tokens, {}});
    if (std::ranges::find(generator.model.ends, token) != generator.model.ends.end()) {
      isDone = true;
    } else {
      made.tokens.push_back(token);
      piece = stops.push(stream.push(token));
      isDone = stops.is_stopped();
      if (!isDone && made.tokens.size() >= most) {
        made.finish = FinishReason::length;
        isDone = true;
      }
    }
  }
  isDone = isDone || made.finish == FinishReason::cancelled;
  if (isDone) {
    piece += stops.push(stream.finish());
    piece += stops.finish();
  }
  made.text += piece;
  made.answerSeconds += secondsSince(start);
  return piece;
}

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::stop:
    return "stop";
  case FinishReason::length:
    return "length";
  case FinishReason::cancelled:
    return "cancelled";
  }
  return "";
}

} // namespace vx::llm
