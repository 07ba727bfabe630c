#include "embedding_model.h"

#include "failure.h"
#include "vx/base/string_functions.h"
#include "vx/base/utf8.h"

#include <algorithm>
#include <charconv>

namespace vx::serve {

namespace {

const vx_asset_info &findAsset(const Module &module, const std::string &name) {
  for (const vx_asset_info &asset : module.assets())
    if (asset.name == name)
      return asset;
  throw dataError("the module has no asset '{}'; use one that vx-compile made of a folder with an embedding model",
                  name);
}

std::string_view bytesOf(const vx_asset_info &asset) { return {static_cast<const char *>(asset.bytes), asset.size}; }

text::Tokenizer loadTokenizer(const Module &module, const EmbeddingSettings &settings) {
  const vx_asset_info &asset = findAsset(module, settings.tokenizerAsset);
  const std::string_view name = settings.tokenizerAsset, bytes = bytesOf(asset);
  try {
    if (name.ends_with(".json"))
      return text::Tokenizer::from_json(bytes);
    if (name.ends_with(".txt"))
      return text::Tokenizer::from_vocabulary(bytes, settings.words);
    if (name.ends_with(".model"))
      return text::Tokenizer::from_sentencepiece(bytes);
  } catch (const text::Error &error) {
    throw dataError("asset '{}': {}", name, error.what());
  }
  throw dataError("asset '{}': 'tokenizer.asset': expected a name that ends in .json, .txt or .model, got '{}'",
                  EmbeddingAsset, name);
}

std::vector<int32_t> numbersOf(const text::Tokenizer &tokenizer, const std::vector<std::string> &tokens,
                               const std::string &asset) {
  std::vector<int32_t> numbers;
  for (const std::string &token : tokens)
    if (const std::optional<int32_t> number = tokenizer.token_to_id(token))
      numbers.push_back(*number);
    else
      throw dataError("asset '{}': has no token '{}', which stands around texts", asset, token);
  return numbers;
}

std::string describe(const vx_argument_info &argument) {
  std::string dims;
  for (uint32_t d = 0; d < argument.rank; ++d)
    dims += (dims.empty() ? "" : ",") + std::string(argument.dims[d].expression);
  return fmt::format("{}[{}]", vx_element_type_name(argument.element_type), dims);
}

bool isMatrix(const vx_argument_info &argument) { return argument.kind == VX_TENSOR && argument.rank == 2; }

// Why vectors may depend on other texts of the batch, of the two outputs; empty where they are proved not to.
std::string joinOf(const Module &module, const vx_function_info &function, const EmbeddingFunction &read) {
  const vx_batch_info *batch = module.batch(function);
  if (!batch)
    return "the module does not say how its rows depend on one another";
  for (size_t i = 0; i < batch->input_count; ++i)
    if (batch->inputs[i] != VX_ROWS_OWN)
      return fmt::format("input '{}' has no rows of its own for each text", function.inputs[i].name);
  for (size_t output : {read.plain, read.unit})
    if (batch->outputs[output] != VX_ROWS_OWN)
      return batch->reasons[output] && *batch->reasons[output]
                 ? batch->reasons[output]
                 : fmt::format("output '{}' may depend on all rows", function.outputs[output].name);
  return "";
}

// Of a range that is known before the call.
std::optional<int64_t> limitOf(const vx_argument_info &argument) {
  if (!argument.range || !argument.range->upper)
    return {};
  const std::string_view text = argument.range->upper;
  int64_t limit = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), limit);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(limit) : std::nullopt;
}

} // namespace

std::string_view poolingName(Pooling pooling) {
  static constexpr std::string_view names[] = {"cls", "mean", "last"};
  return names[static_cast<size_t>(pooling)];
}

std::optional<Pooling> parsePooling(std::string_view name) {
  for (Pooling pooling : {Pooling::cls, Pooling::mean, Pooling::last})
    if (poolingName(pooling) == name)
      return pooling;
  return {};
}

EmbeddingModel::EmbeddingModel(const Module &module) : EmbeddingModel(module, findAsset(module, EmbeddingAsset)) {}

EmbeddingModel::EmbeddingModel(const Module &module, const vx_asset_info &asset)
    : module(module), settings(parseEmbeddingSettings(bytesOf(asset))), tokenizer(loadTokenizer(module, settings)) {
  info = settings.info;
  padding = settings.padding;
  before = numbersOf(tokenizer, settings.before, settings.tokenizerAsset);
  after = numbersOf(tokenizer, settings.after, settings.tokenizerAsset);
  readFunctions();
}

void EmbeddingModel::readFunctions() {
  const auto read = [&](const std::string &name, EmbeddingFunction &result) {
    for (const vx_function_info &function : module.functions())
      if (function.name == name)
        readFunction(result, function);
    return result.info != nullptr;
  };
  if (info.scores) {
    if (!read("score", functions.back()))
      throw dataError("the module has no function 'score', which asset '{}' names by 'scores'", EmbeddingAsset);
    info.apart = scoring().apart;
    return;
  }
  for (Pooling pooling : {Pooling::cls, Pooling::mean, Pooling::last})
    if (read(fmt::format("embed_{}", poolingName(pooling)), functions[static_cast<size_t>(pooling)]))
      info.poolings.push_back(pooling);
  if (!find(info.pooling))
    throw dataError("the module has no function 'embed_{}', which asset '{}' names by 'pooling'",
                    poolingName(info.pooling), EmbeddingAsset);
  info.apart = find(info.pooling)->apart;
  for (size_t size : info.shorterDimensions)
    if (size > info.dimensions)
      throw dataError("asset '{}': 'shorter_dimensions': expected at most {}, the size of the vectors, got {}",
                      EmbeddingAsset, info.dimensions, size);
}

void EmbeddingModel::readFunction(EmbeddingFunction &result, const vx_function_info &function) {
  result.info = &function;
  bool hasIds = false;
  for (const vx_argument_info &input : std::span(function.inputs, function.input_count)) {
    const std::string_view name = input.name;
    const bool isKnown = name == "input_ids" || name == "attention_mask" || name == "token_type_ids";
    const bool isIndex = input.element_type == VX_I64 || input.element_type == VX_I32;
    if (!isKnown || !isMatrix(input) || !isIndex || (result.indexType && input.element_type != result.indexType))
      throw dataError(
          "function '{}': input '{}': expected input_ids, attention_mask or token_type_ids, i64 or i32 of batch and "
          "sequence and all of one type, got {}",
          function.name, name, describe(input));
    result.indexType = input.element_type;
    result.inputs.push_back(name == "input_ids"        ? EmbeddingFunction::Input::ids
                            : name == "attention_mask" ? EmbeddingFunction::Input::mask
                                                       : EmbeddingFunction::Input::types);
    hasIds |= name == "input_ids";
    hasTypes |= name == "token_type_ids";
    if (name == "input_ids")
      result.idLimit = limitOf(input);
    if (name == "token_type_ids")
      result.typeLimit = limitOf(input);
    for (const vx_symbol_info &symbol : std::span(function.symbols, function.symbol_count))
      if (std::string_view(symbol.name) == input.dims[1].expression && symbol.max > 0 &&
          static_cast<uint64_t>(symbol.max) < info.maxTokens)
        info.maxTokens = static_cast<size_t>(symbol.max);
  }
  if (!hasIds)
    throw dataError("function '{}': expected an input 'input_ids', but it is missing", function.name);
  readOutputs(result, function);
  result.apart = joinOf(module, function, result);
}

void EmbeddingModel::readOutputs(EmbeddingFunction &result, const vx_function_info &function) {
  if (info.scores) {
    for (size_t i = 0; i < function.output_count; ++i) {
      const vx_argument_info &output = function.outputs[i];
      if (std::string_view(output.name) != "logit")
        continue;
      if (!isMatrix(output) || output.element_type != VX_F32 || output.dims[1].size != 1)
        throw dataError("function '{}': output 'logit': expected f32 of batch and 1, got {}", function.name,
                        describe(output));
      result.plain = result.unit = i;
      info.dimensions = 1;
      return;
    }
    throw dataError("function '{}': expected an output 'logit', got none", function.name);
  }
  bool hasPlain = false, hasUnit = false;
  for (size_t i = 0; i < function.output_count; ++i) {
    const vx_argument_info &output = function.outputs[i];
    const std::string_view name = output.name;
    bool &has = name == "embedding" ? hasPlain : hasUnit;
    if (name != "embedding" && name != "unit_embedding")
      continue;
    if (!isMatrix(output) || output.element_type != VX_F32 || output.dims[1].size < 1)
      throw dataError("function '{}': output '{}': expected f32 of batch and a number of elements, got {}",
                      function.name, name, describe(output));
    const size_t size = static_cast<size_t>(output.dims[1].size);
    if (info.dimensions != 0 && size != info.dimensions)
      throw dataError("function '{}': output '{}': expected {} elements, as others have, got {}", function.name, name,
                      info.dimensions, size);
    info.dimensions = size;
    (name == "embedding" ? result.plain : result.unit) = i;
    has = true;
  }
  if (!hasPlain || !hasUnit)
    throw dataError("function '{}': expected outputs 'embedding' and 'unit_embedding', but '{}' is missing",
                    function.name, hasPlain ? "unit_embedding" : "embedding");
}

std::string EmbeddingModel::addPrompt(std::string_view text, const TokenizeOptions &options) const {
  std::string prompt = options.prompt;
  if (!options.promptName.empty()) {
    const auto found = info.prompts.find(options.promptName);
    if (found == info.prompts.end()) {
      std::string names;
      for (const auto &[name, unused] : info.prompts)
        names += (names.empty() ? "'" : ", '") + name + "'";
      throw argumentError("the model has no prompt '{}', it has: {}", options.promptName,
                          names.empty() ? "none" : names);
    }
    prompt = found->second;
  } else if (prompt.empty() && options.usePrompt && !info.defaultPrompt.empty()) {
    prompt = info.prompts.at(info.defaultPrompt);
  }
  prompt += text;
  return prompt;
}

size_t EmbeddingModel::tokenLimit(const TokenizeOptions &options) const {
  const size_t most = options.maxTokens == 0 ? info.maxTokens : options.maxTokens;
  if (most > info.maxTokens)
    throw argumentError("expected at most {} tokens a text, the model's limit, got {}", info.maxTokens, most);
  return most;
}

Tokens EmbeddingModel::tokenize(std::string_view given, const TokenizeOptions &options) const {
  if (!isUtf8(given))
    throw argumentError("expected text of UTF-8, got other bytes");
  return encode(addPrompt(given, options), std::nullopt, options);
}

Tokens EmbeddingModel::tokenizePair(std::string_view query, std::string_view text,
                                    const TokenizeOptions &options) const {
  if (!info.scores)
    throw argumentError("the model embeds texts, expected a cross-encoder, which scores pairs of them");
  if (!isUtf8(query) || !isUtf8(text))
    throw argumentError("expected text of UTF-8, got other bytes");
  return encode(std::string(query), std::string(text), options);
}

Tokens EmbeddingModel::encode(std::string first, std::optional<std::string> second,
                              const TokenizeOptions &options) const {
  const size_t most = tokenLimit(options);
  if (settings.lowercase) {
    first = toLowerCase(first);
    if (second)
      second = toLowerCase(*second);
  }
  const size_t around = before.size() + after.size();
  // A message has the number of tokens of a text that is not much too long; of others it takes no more than is needed.
  constexpr size_t alwaysCounted = 32 << 10;
  const size_t bytes = first.size() + (second ? second->size() : 0);
  const bool isCounted = bytes <= std::max(alwaysCounted, 16 * most) || most <= around;
  text::EncodeOptions encode = tokenizer.default_options();
  encode.offsets = text::OffsetUnit::none;
  encode.overflowing = false;
  encode.padding.reset();
  text::Truncation truncation = encode.truncation.value_or(text::Truncation());
  if (second)
    truncation.strategy = text::Truncation::Strategy::longest_first; // as sentence-transformers cuts pairs
  encode.truncation.reset();
  if (!isCounted)
    encode.truncation = {.max_length = most - around, .stride = 0};
  const auto run = [&] {
    return second ? tokenizer.encode_pair(first, *second, encode) : tokenizer.encode(first, encode);
  };
  const char *kind = second ? "pair" : "text";
  Tokens tokens;
  try {
    text::Encoding encoding = run();
    tokens.whole = encoding.ids.size() + around + encoding.is_truncated;
    tokens.isCounted = !encoding.is_truncated;
    if (tokens.whole > most) {
      if (!options.truncate)
        throw argumentError("the {} has {}{} tokens, the model takes {}", kind, tokens.whole,
                            tokens.isCounted ? "" : " or more", most);
      if (most <= around)
        throw argumentError("expected more than the {} tokens that surround each {}, got {}", around, kind, most);
      truncation.max_length = most - around;
      truncation.stride = 0;
      truncation.side = settings.truncationSide.value_or(truncation.side);
      encode.truncation = truncation;
      // Which it is already where the end goes.
      if (tokens.isCounted || truncation.side == text::Side::left)
        encoding = run();
    }
    tokens.ids = before;
    tokens.ids.insert(tokens.ids.end(), encoding.ids.begin(), encoding.ids.end());
    tokens.ids.insert(tokens.ids.end(), after.begin(), after.end());
    tokens.typeIds.assign(before.size(), 0);
    tokens.typeIds.insert(tokens.typeIds.end(), encoding.type_ids.begin(), encoding.type_ids.end());
    tokens.typeIds.resize(tokens.ids.size(), 0);
  } catch (const text::Error &error) {
    throw argumentError("{}", error.what());
  }
  if (tokens.ids.empty())
    throw argumentError("the {} has no tokens", kind);
  return tokens;
}

} // namespace vx::serve
