#include "TokenizerConfig.h"

namespace vx {

namespace json = llvm::json;

/// A token is a string, or an object with one.
static std::optional<std::string> getToken(ConfigFile &config, llvm::StringRef key) {
  const json::Value *value = config.lookup(key);
  if (value && value->getAsObject())
    if (std::optional<llvm::StringRef> content = value->getAsObject()->getString("content"))
      return content->str();
  return config.getString(key);
}

void describeTruncation(ConfigFile &config, json::Object &settings) {
  std::optional<std::string> side = config.getString("truncation_side");
  if (!side)
    return;
  if (*side != "left" && *side != "right")
    config.fail("truncation_side", "left or right", *config.lookup("truncation_side"));
  settings["truncation_side"] = *side;
}

void describeWordPiece(ConfigFile &config, json::Object &settings) {
  settings["lowercase"] = config.getBool("do_lower_case").value_or(true);
  if (std::optional<bool> strips = config.getBool("strip_accents"))
    settings["strip_accents"] = *strips;
  settings["chinese_characters"] = config.getBool("tokenize_chinese_chars").value_or(true);
  for (auto [key, name] : {std::pair("unk_token", "unknown"),
                           {"cls_token", "first"},
                           {"sep_token", "separator"},
                           {"pad_token", "padding"},
                           {"mask_token", "mask"}})
    if (std::optional<std::string> token = getToken(config, key))
      settings[name] = *token;
}

void describeSentencePiece(ConfigFile &config, llvm::StringRef fileName, json::Object &settings) {
  std::string type = config.getString("tokenizer_class").value_or("");
  llvm::StringRef family = type;
  family.consume_back("Fast");
  // Such a file does not have the special tokens around a text, and some classes renumber its tokens.
  bool first = family == "LlamaTokenizer" || family == "GemmaTokenizer", last = family == "T5Tokenizer";
  if (!first && !last)
    return config.failAt("tokenizer_class", "expected LlamaTokenizer, GemmaTokenizer or T5Tokenizer beside " +
                                                fileName + ", or a tokenizer.json, got '" + type + "'");
  const bool isGemma = family == "GemmaTokenizer";
  if (config.getBool("add_bos_token").value_or(first))
    settings["before"] = json::Array{getToken(config, "bos_token").value_or(isGemma ? "<bos>" : "<s>")};
  if (config.getBool("add_eos_token").value_or(last))
    settings["after"] = json::Array{getToken(config, "eos_token").value_or(isGemma ? "<eos>" : "</s>")};
}

} // namespace vx
