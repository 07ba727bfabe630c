// A model of sentence embeddings out of a GGUF file: its encoder, the functions of its vectors, and its assets.
#include "Families.h"
#include "GgufSettings.h"
#include "vx/Frontend/LanguageModels/LanguageModel.h"
#include "vx/Frontend/Parts/EmbeddingFunctions.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace vx {

namespace {

namespace json = llvm::json;

/// The keys of a tokenizer of WordPiece, as a vocabulary of a token a line and the settings for it.
class WordPieceKeys {
public:
  WordPieceKeys(ModelBuilder &model, const GgufModel &file, int64_t words)
      : model(model), keys(model, file, "tokenizer.ggml"), words(words) {}

  std::string vocabulary;
  json::Object settings;
  int64_t padding = 0;

  void read() {
    if (const std::string_view kind = keys.getString("model").value_or(""); kind != "bert")
      keys.fail("model", "bert: the tokenizer of an encoder");
    const GgufValue *list = getArray("tokens", GgufKind::string), *kinds = keys.lookup("token_type");
    if (kinds && (kinds->kind() != GgufKind::array || !list || kinds->size() != list->size()))
      keys.fail("token_type", "an array with a kind for each token");
    if (!list || model.hasFailed())
      return;
    if (list->size() < 1 || list->size() > static_cast<uint64_t>(words))
      return keys.fail("tokens", "1 to " + std::to_string(words) + " tokens, the rows of the embedding",
                       std::to_string(list->size()));
    for (size_t i = 0; i < list->size(); ++i) {
      tokens.push_back(spell(list->stringAt(i).value_or(""), kinds ? kinds->signedAt(i).value_or(0) : 0));
      if (llvm::StringRef(tokens.back()).find_first_of("\n\r") != llvm::StringRef::npos)
        return keys.fail("tokens", "tokens of one line", "another one at place " + std::to_string(i));
      vocabulary += tokens.back() + "\n";
    }
    const bool lowercases = keys.getBool("normalizer.lowercase").value_or(true);
    settings = json::Object{{"asset", "vocab.txt"},
                            {"lowercase", lowercases},
                            {"strip_accents", keys.getBool("normalizer.strip_accents").value_or(lowercases)},
                            {"chinese_characters", true}};
    name("first", {"cls_token_id", "bos_token_id"}, true);
    name("separator", {"separator_token_id", "seperator_token_id", "eos_token_id"}, true); // an old name is misspelled
    name("unknown", {"unknown_token_id"}, false);
    name("mask", {"mask_token_id"}, false);
    padding = name("padding", {"padding_token_id"}, false);
  }

private:
  const GgufValue *getArray(llvm::StringRef key, GgufKind kind) {
    const GgufValue *value = keys.lookup(key);
    if (value && value->kind() == GgufKind::array && value->elementKind() == kind)
      return value;
    keys.fail(key, "an array of strings");
    return nullptr;
  }

  /// A token that begins a word has a mark in the file, and one that goes on has none; a vocabulary has it the other
  /// way.
  static std::string spell(llvm::StringRef token, int64_t kind) {
    constexpr int64_t kUnknown = 2, kControl = 3;
    if (token.consume_front("\xe2\x96\x81"))
      return token.str();
    const bool isSpecial = token.size() > 2 && token.starts_with("[") && token.ends_with("]");
    return (token.empty() || kind == kUnknown || kind == kControl || isSpecial ? "" : "##") + token.str();
  }

  /// Sets the token that the first of these keys names. Returns its number, or 0.
  int64_t name(llvm::StringRef setting, llvm::ArrayRef<llvm::StringRef> names, bool isNeeded) {
    for (llvm::StringRef key : names) {
      const std::optional<uint64_t> number = keys.getCount(key);
      if (!number)
        continue;
      if (*number >= tokens.size())
        return keys.fail(key, "a token below " + std::to_string(tokens.size())), 0;
      settings[setting] = json::fixUTF8(tokens[*number]);
      return static_cast<int64_t>(*number);
    }
    if (isNeeded)
      keys.fail(names.front(), "the number of a token");
    return 0;
  }

  ModelBuilder &model;
  GgufSettings keys;
  const int64_t words;
  std::vector<std::string> tokens;
};

} // namespace

OwningOpRef<ModuleOp> importEncoderFile(ModelBuilder &model, const GgufModel &file, llvm::StringRef path,
                                        LanguageModel &result) {
  const EncoderFacts facts = buildNomicBert(model, file);
  result.family = "nomic-bert";
  result.context = facts.context;
  result.words = facts.words;
  const WeightFiles &weights = model.weights;
  if (std::string tensor = model.hasFailed() ? "" : weights.findUnread({}); !tensor.empty())
    model.fail(weights.getName() + ": tensor '" + tensor + "' is not one of the family nomic-bert" +
               ": the model may have parts that are not supported");
  WordPieceKeys words(model, file, facts.words);
  if (!model.hasFailed())
    words.read();
  OwningOpRef<ModuleOp> module = model.finish();
  if (!module)
    return {};
  EmbeddingFolder folder;
  folder.path = folder.modelPath = path.str();
  folder.name = llvm::sys::path::stem(path).str();
  folder.pooling = facts.pooling;
  folder.normalizes = true;
  std::string error;
  if (!addEmbeddingFunctions(*module, folder, error)) {
    model.fail(error);
    return {};
  }
  json::Value settings = json::Object{{"version", 1},
                                      {"name", json::fixUTF8(folder.name)},
                                      {"max_tokens", facts.context},
                                      {"padding", words.padding},
                                      {"lowercase", false},
                                      {"pooling", folder.pooling},
                                      {"normalize", folder.normalizes},
                                      {"prompts", json::Object{}},
                                      {"default_prompt", ""},
                                      {"can_shorten", false},
                                      {"shorter_dimensions", json::Array{}},
                                      {"tokenizer", std::move(words.settings)}};
  std::string text;
  llvm::raw_string_ostream(text) << settings;
  result.assets = {{"embedding.json", "application/vnd.vx.embedding+json", text},
                   {"vocab.txt", "text/plain", std::move(words.vocabulary)}};
  return module;
}

} // namespace vx
