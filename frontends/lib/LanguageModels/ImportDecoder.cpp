#include "vx/Frontend/LanguageModels/LanguageModel.h"

#include "ChatTemplateFile.h"
#include "Families.h"
#include "TokenizerFile.h"

#include "vx/text/tokenizer.hpp"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace vx {

namespace {

namespace json = llvm::json;

constexpr llvm::StringRef kDecoders[] = {"gemma3_text", "gpt2", "llama", "mistral", "phi", "phi3", "qwen2", "qwen3"};
/// Those with names and keys of llama.cpp's converter; it has Mistral as llama.
constexpr llvm::StringRef kGgufDecoders[] = {"gemma3", "gpt2", "llama", "phi2", "phi3", "qwen2", "qwen3"};
constexpr llvm::StringRef kGgufEncoder = "nomic-bert";

/// GPT-2 with a head has the rest under the name of the model.
DecoderNames addPrefix(DecoderNames names) {
  names.embedding = "transformer.wte";
  names.positions = "transformer.wpe";
  names.layers = "transformer.h.";
  names.norm = "transformer.ln_f";
  return names;
}

/// Adds the functions, and checks that every tensor was read.
llvm::Expected<OwningOpRef<ModuleOp>> build(ModelBuilder &model, DecoderSettings settings,
                                            llvm::ArrayRef<llvm::StringRef> unused, LanguageModel &result) {
  result.family = settings.family;
  result.context = settings.context;
  result.words = settings.words;
  if (!model.hasFailed())
    buildDecoder(model, settings);
  const WeightFiles &weights = model.weights;
  if (std::string tensor = model.hasFailed() ? "" : weights.findUnread(unused); !tensor.empty())
    model.fail(weights.getName() + ": tensor '" + tensor + "' is not one of the family " + settings.family +
               ": the model may have parts that are not supported");
  OwningOpRef<ModuleOp> module = model.finish();
  if (!module)
    return makeConfigError(model.getProblem());
  return std::move(module);
}

/// Adds language_model.json, which names the other assets, and the template.
void addSettings(LanguageModel &model, const std::vector<int32_t> &ends, const ChatTemplateFile &chat) {
  json::Value settings = json::Object{{"version", 1},
                                      {"family", model.family},
                                      {"context", model.context},
                                      {"vocabulary", model.words},
                                      {"ends", json::Array(ends)},
                                      {"tokenizer", model.assets.front().name}};
  json::Object &object = *settings.getAsObject();
  if (!chat.source.empty()) {
    const char *name = "chat_template.jinja";
    model.assets.push_back({name, "text/x-jinja", chat.source});
    object["template"] = name;
    json::Object tokens;
    for (const auto &[variable, token] : chat.tokens)
      tokens[variable] = json::fixUTF8(token);
    object["template_tokens"] = std::move(tokens);
  }
  std::string text;
  llvm::raw_string_ostream(text) << settings;
  model.assets.push_back({"language_model.json", "application/vnd.vx.language-model+json", text});
}

/// Throws an error for a tokenizer that vx-llm refuses, too.
void checkVocabulary(const text::Tokenizer &tokenizer, const LanguageModel &model) {
  if (tokenizer.vocabulary_size() > static_cast<size_t>(model.words))
    throw text::Error(text::Error::Kind::file, "the tokenizer has " + std::to_string(tokenizer.vocabulary_size()) +
                                                   " tokens, but the model's embedding has " +
                                                   std::to_string(model.words) + " rows");
}

/// One number, or a list of them.
void readTokens(ConfigFile &config, llvm::StringRef key, std::vector<int32_t> &tokens) {
  const json::Value *value = config.lookup(key);
  if (!value)
    return;
  const json::Array single{*value}, *list = value->getAsArray();
  tokens.clear();
  for (const json::Value &token : list ? *list : single) {
    std::optional<int64_t> number = token.getAsInteger();
    if (!number || *number < 0 || *number > INT32_MAX)
      return config.fail(key, "the number of a token, or a list of them", *value);
    tokens.push_back(static_cast<int32_t>(*number));
  }
}

llvm::Error addTokenizer(llvm::StringRef folder, ConfigFile &config, LanguageModel &model) {
  std::vector<int32_t> ends;
  readTokens(config, "eos_token_id", ends);
  if (llvm::Error error = config.takeError())
    return error;
  llvm::Expected<ConfigFile> generation = ConfigFile::read(joinPath(folder, "generation_config.json"));
  if (!generation)
    return generation.takeError();
  if (generation->exists())
    model.files.paths.push_back(generation->getName());
  readTokens(*generation, "eos_token_id", ends);
  if (llvm::Error error = generation->takeError())
    return error;
  const std::string path = joinPath(folder, "tokenizer.json");
  if (!llvm::sys::fs::exists(path))
    return makeConfigError(path + ": expected the tokenizer of the model, got no such file");
  llvm::Expected<std::string> bytes = readWholeFile(path);
  if (!bytes)
    return bytes.takeError();
  model.files.paths.push_back(path);
  try {
    checkVocabulary(text::Tokenizer::from_json(*bytes), model);
  } catch (const text::Error &problem) {
    return makeConfigError(path + ": " + problem.what());
  }
  model.assets.push_back({"tokenizer.json", "application/json", std::move(*bytes)});
  llvm::Expected<ChatTemplateFile> chat = readChatTemplate(folder, model.files.paths);
  if (!chat)
    return chat.takeError();
  addSettings(model, ends, *chat);
  return llvm::Error::success();
}

llvm::Expected<OwningOpRef<ModuleOp>> importFolder(MLIRContext &context, llvm::StringRef folder,
                                                   LanguageModel &result) {
  llvm::Expected<ConfigFile> config = ConfigFile::read(joinPath(folder, "config.json"));
  if (!config)
    return config.takeError();
  result.files.paths.push_back(config->getName());
  const std::string type = config->getString("model_type").value_or("");
  DecoderSettings settings = type == "gpt2"          ? readGpt2(*config)
                             : type == "phi"         ? readPhi2(*config)
                             : type == "gemma3_text" ? readGemma3(*config)
                                                     : readDecoder(*config, type);
  if (llvm::Error error = config->takeError())
    return error;
  llvm::Expected<WeightFiles> weights = WeightFiles::openFolder(folder);
  if (!weights)
    return weights.takeError();
  weights->addTo(result.files);
  ModelBuilder model(context, *weights, type);
  if (type == "gpt2" && weights->contains("transformer.wte.weight"))
    settings.names = addPrefix(settings.names);
  // Some writers store a tied head again, and old versions of transformers what they compute of each layer:
  // frequencies, and masks.
  std::vector<std::string> computed;
  for (int64_t layer = 0; layer < settings.layers; ++layer)
    for (const char *part : {"self_attn.rotary_emb.inv_freq", "attn.bias", "attn.masked_bias"})
      computed.push_back(settings.names.layers.str() + std::to_string(layer) + "." + part);
  llvm::SmallVector<llvm::StringRef> unused(computed.begin(), computed.end());
  if (settings.isTied)
    unused.push_back("lm_head.weight");
  llvm::Expected<OwningOpRef<ModuleOp>> module = build(model, settings, unused, result);
  if (!module)
    return module;
  if (llvm::Error error = addTokenizer(folder, *config, result))
    return error;
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> importFile(MLIRContext &context, llvm::StringRef path, LanguageModel &result) {
  auto file = std::make_shared<GgufModel>();
  std::string error;
  if (!GgufModel::open(path.str(), *file, error))
    return makeConfigError(error);
  const GgufValue *value = file->find("general.architecture");
  const std::optional<std::string_view> stated =
      value && value->kind() != GgufKind::array ? value->stringAt(0) : std::nullopt;
  const std::string architecture(stated.value_or(""));
  const bool isEncoder = architecture == kGgufEncoder;
  if (!isEncoder && !llvm::is_contained(kGgufDecoders, llvm::StringRef(architecture)))
    return makeConfigError(path + ": key 'general.architecture': expected one of " +
                           llvm::join(llvm::ArrayRef(kGgufDecoders), ", ") + ", " + kGgufEncoder + ", got " +
                           (value ? value->text() : "none"));
  const WeightFiles weights = WeightFiles::ofGguf(file);
  weights.addTo(result.files);
  ModelBuilder model(context, weights, architecture);
  if (isEncoder) {
    if (OwningOpRef<ModuleOp> module = importEncoderFile(model, *file, path, result))
      return std::move(module);
    return makeConfigError(model.getProblem());
  }
  DecoderSettings settings = architecture == "gpt2"   ? readGpt2(model, *file)
                             : architecture == "phi2" ? readPhi2(model, *file)
                                                      : readDecoder(model, *file, architecture);
  llvm::Expected<OwningOpRef<ModuleOp>> module = build(model, settings, {}, result);
  if (!module)
    return module;
  if (!file->find("tokenizer.ggml.model"))
    return makeConfigError(path + ": expected a tokenizer, a key 'tokenizer.ggml.model', got none");
  std::vector<int32_t> ends;
  try {
    ends = text::end_tokens(file->file());
    checkVocabulary(text::Tokenizer::from_gguf(file->file()), result);
  } catch (const text::Error &problem) {
    return makeConfigError(path + ": " + problem.what());
  }
  result.assets.push_back({"tokenizer.gguf", "application/vnd.gguf", writeTokenizerFile(*file)});
  addSettings(result, ends, readChatTemplate(*file));
  return module;
}

OwningOpRef<ModuleOp> take(llvm::Expected<OwningOpRef<ModuleOp>> module, std::string &error) {
  if (module)
    return std::move(*module);
  error = llvm::toString(module.takeError());
  return {};
}

} // namespace

bool isDecoderFolder(llvm::StringRef folder) {
  if (findWeights(folder).empty() || llvm::sys::fs::exists(joinPath(folder, "modules.json")))
    return false;
  llvm::Expected<ConfigFile> config = ConfigFile::read(joinPath(folder, "config.json"));
  if (!config) {
    llvm::consumeError(config.takeError());
    return false;
  }
  std::optional<std::string> type = config->getString("model_type");
  llvm::consumeError(config->takeError());
  return type && llvm::is_contained(kDecoders, llvm::StringRef(*type));
}

bool isGgufFile(llvm::StringRef path) { return path.ends_with_insensitive(".gguf"); }

OwningOpRef<ModuleOp> importDecoderFolder(MLIRContext &context, llvm::StringRef folder, LanguageModel &model,
                                          std::string &error) {
  return take(importFolder(context, folder, model), error);
}

OwningOpRef<ModuleOp> importGguf(MLIRContext &context, llvm::StringRef path, LanguageModel &model, std::string &error) {
  return take(importFile(context, path, model), error);
}

} // namespace vx
