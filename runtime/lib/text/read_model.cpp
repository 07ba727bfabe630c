// The model of tokenizer.json.
#include "text/read_components.h"

#include "text/characters.h"

namespace vx::text {

namespace {

int32_t readId(const nlohmann::json &value, const JsonNode &vocabulary, const std::string &token) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() >= mostTokens)
    vocabulary.fail("expected a whole number from 0 to " + std::to_string(mostTokens - 1) + " for '" + token +
                    "', got " + value.dump());
  return value.get<int32_t>();
}

Vocabulary readVocabulary(const JsonNode &node) {
  Vocabulary vocabulary;
  int64_t largest = -1;
  for (const auto &[token, id] : node.wantObject().raw().items())
    largest = std::max<int64_t>(largest, readId(id, node, token));
  // A number takes memory whether or not it has a token.
  if (largest > 16 * static_cast<int64_t>(node.size()) + 65536)
    node.fail("expected numbers near the count of tokens, " + std::to_string(node.size()) + ", got " +
              std::to_string(largest));
  for (const auto &[token, id] : node.raw().items())
    vocabulary.set(id.get<int32_t>(), token);
  return vocabulary;
}

BpeRules readBpeRules(const JsonNode &node, bool isOfBytes) {
  BpeRules rules;
  if (node.has("dropout") && node["dropout"].number() != 0)
    node["dropout"].fail("dropout, which is for training, is not supported");
  if (node.has("unk_token"))
    rules.unknown = node["unk_token"].string();
  rules.prefix = node.string("continuing_subword_prefix", "");
  rules.suffix = node.string("end_of_word_suffix", "");
  rules.fusesUnknown = node.boolean("fuse_unk", false);
  rules.fallsBackToBytes = node.boolean("byte_fallback", false);
  rules.takesWholeWords = node.boolean("ignore_merges", false);
  rules.isOfBytes = isOfBytes && rules.prefix.empty() && rules.suffix.empty() && !rules.fallsBackToBytes;
  const JsonNode merges = node["merges"];
  rules.merges.reserve(merges.wantArray().size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const nlohmann::json &merge = merges.raw()[i];
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      rules.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    const std::string &text = merges.at(i).string();
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      merges.at(i).fail("expected two tokens with a space between, got '" + text + "'");
    rules.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  return rules;
}

ModelPointer readUnigram(const JsonNode &node) {
  const JsonNode list = node["vocab"];
  if (list.wantArray().size() >= static_cast<size_t>(mostTokens))
    list.fail("expected fewer than " + std::to_string(mostTokens) + " tokens, got " + std::to_string(list.size()));
  Vocabulary vocabulary;
  std::vector<double> scores;
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonNode piece = list.at(i);
    vocabulary.set(static_cast<int32_t>(i), piece.at(0).string());
    scores.push_back(piece.at(1).number());
  }
  std::optional<int32_t> unknown;
  if (node.has("unk_id"))
    unknown = static_cast<int32_t>(node["unk_id"].integer(0, static_cast<int64_t>(list.size()) - 1));
  return makeUnigram(std::move(vocabulary), std::move(scores), unknown, node.boolean("byte_fallback", false));
}

/// Old files leave the type out.
std::string typeOf(const JsonNode &node) {
  if (node.has("type"))
    return node.type();
  return node.has("merges")                              ? "BPE"
         : node.has("unk_id") || node["vocab"].isArray() ? "Unigram"
         : node.has("continuing_subword_prefix")         ? "WordPiece"
                                                         : "WordLevel";
}

} // namespace

ModelPointer readModel(const JsonNode &node, bool isOfBytes) {
  const std::string type = typeOf(node);
  if (type == "BPE") {
    Vocabulary vocabulary = readVocabulary(node["vocab"]);
    return makeBpe(std::move(vocabulary), readBpeRules(node, isOfBytes));
  }
  if (type == "WordPiece")
    return makeWordPiece(readVocabulary(node["vocab"]), node.string("unk_token", "[UNK]"),
                         node.string("continuing_subword_prefix", "##"),
                         node.has("max_input_chars_per_word") ? node["max_input_chars_per_word"].integer(0, INT32_MAX)
                                                              : 100);
  if (type == "Unigram")
    return readUnigram(node);
  if (type == "WordLevel")
    return makeWordLevel(readVocabulary(node["vocab"]), node.string("unk_token", "<unk>"));
  node.fail("the model '" + type + "' is not supported");
}

} // namespace vx::text
