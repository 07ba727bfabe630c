// Tokenizers of tokenizer.json and of vocab.txt.
#include "text/implementation.h"
#include "text/read_components.h"

#include "text/characters.h"
#include "vx/base/gguf.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace vx::text {

namespace {

using Implementation = Tokenizer::Implementation;

Truncation readTruncation(const JsonNode &node) {
  Truncation truncation;
  truncation.max_length = node["max_length"].integer(0, UINT32_MAX);
  truncation.stride = node.has("stride") ? node["stride"].integer(0, UINT32_MAX) : 0;
  const std::string strategy = node.string("strategy", "LongestFirst"), side = node.string("direction", "Right");
  using Strategy = Truncation::Strategy;
  if (strategy != "LongestFirst" && strategy != "OnlyFirst" && strategy != "OnlySecond")
    node["strategy"].fail("expected LongestFirst, OnlyFirst or OnlySecond, got '" + strategy + "'");
  truncation.strategy = strategy == "LongestFirst" ? Strategy::longest_first
                        : strategy == "OnlyFirst"  ? Strategy::only_first
                                                   : Strategy::only_second;
  if (side != "Left" && side != "Right")
    node["direction"].fail("expected Left or Right, got '" + side + "'");
  truncation.side = side == "Left" ? Side::left : Side::right;
  return truncation;
}

Padding readPadding(const JsonNode &node) {
  Padding padding;
  const JsonNode strategy = node["strategy"];
  if (strategy.isObject())
    padding.length = strategy["Fixed"].integer(0, UINT32_MAX);
  else if (strategy.string() != "BatchLongest")
    strategy.fail("expected BatchLongest or Fixed, got '" + strategy.string() + "'");
  const std::string side = node.string("direction", "Right");
  if (side != "Left" && side != "Right")
    node["direction"].fail("expected Left or Right, got '" + side + "'");
  padding.side = side == "Left" ? Side::left : Side::right;
  padding.multiple_of = node.has("pad_to_multiple_of") ? node["pad_to_multiple_of"].integer(0, UINT32_MAX) : 0;
  padding.id = static_cast<int32_t>(node["pad_id"].integer(0, mostTokens - 1));
  padding.type_id = static_cast<int32_t>(node["pad_type_id"].integer(0, INT32_MAX));
  return padding;
}

AddedTokens readAddedTokens(const JsonNode &list, const Implementation &all) {
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < list.wantArray().size(); ++i) {
    const JsonNode node = list.at(i);
    AddedToken token;
    token.id = static_cast<int32_t>(node["id"].integer(0, mostTokens - 1));
    token.content = node["content"].string();
    token.isSpecial = node.boolean("special", false);
    token.isSingleWord = node.boolean("single_word", false);
    token.takesLeft = node.boolean("lstrip", false);
    token.takesRight = node.boolean("rstrip", false);
    token.isNormalized = node.boolean("normalized", !token.isSpecial);
    if (token.content.empty())
      continue;
    if (const int32_t id = all.model->find(token.content); id >= 0 && id != token.id)
      node["id"].fail("expected the number that the model has for '" + token.content + "', " + std::to_string(id) +
                      ", got " + std::to_string(token.id));
    token.pattern = all.patternOf(token);
    tokens.push_back(std::move(token));
  }
  return AddedTokens(std::move(tokens));
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf()))
    throw Error(Error::Kind::file, "cannot read '" + printableLine(path) + "'");
  return std::move(bytes).str();
}

} // namespace

Tokenizer Tokenizer::from_json(std::string_view tokenizer_json) {
  const JsonDocument document(tokenizer_json);
  const JsonNode root(document);
  auto all = std::make_shared<Implementation>();
  if (root.has("normalizer"))
    all->normalizer = readNormalizer(root["normalizer"]);
  const JsonNode model = root["model"];
  const bool isOfBytes = root.has("pre_tokenizer") && endsInByteLevel(root["pre_tokenizer"]) &&
                         model.string("type", "BPE") == "BPE" && model.has("merges") &&
                         model.string("continuing_subword_prefix", "").empty() &&
                         model.string("end_of_word_suffix", "").empty() && !model.boolean("byte_fallback", false);
  if (root.has("pre_tokenizer"))
    all->preTokenizer = readPreTokenizer(root["pre_tokenizer"], isOfBytes);
  all->model = readModel(model, isOfBytes);
  if (root.has("post_processor"))
    readPostProcessor(root["post_processor"], all->processors);
  if (root.has("decoder"))
    all->decoder = readDecoder(root["decoder"]);
  if (root.has("added_tokens"))
    all->added = readAddedTokens(root["added_tokens"], *all);
  if (root.has("truncation"))
    all->defaults.truncation = readTruncation(root["truncation"]);
  if (root.has("padding"))
    all->defaults.padding = readPadding(root["padding"]);
  all->findSpaces();
  return Tokenizer(std::move(all));
}

Tokenizer Tokenizer::from_vocabulary(std::string_view vocab_txt, const WordPieceOptions &options) {
  if (const size_t at = findIllFormed(vocab_txt); at != vocab_txt.size())
    throw Error(Error::Kind::file, "a list of tokens is UTF-8, got a byte that is not at " + std::to_string(at));
  Vocabulary vocabulary;
  for (size_t at = 0; at < vocab_txt.size();) {
    const size_t end = std::min(vocab_txt.find('\n', at), vocab_txt.size());
    std::string_view line = vocab_txt.substr(at, end - at);
    // White space behind a token is not of it.
    while (!line.empty()) {
      size_t last = line.size() - 1;
      while (isContinuation(line[last]))
        --last;
      if (!isWhiteSpace(codePointAt(line, last).code))
        break;
      line = line.substr(0, last);
    }
    vocabulary.set(static_cast<int32_t>(vocabulary.tokens.size()), std::string(line));
    at = end + 1;
  }
  auto all = std::make_shared<Implementation>();
  all->normalizer = makeBert(
      {true, options.chinese_characters, options.strip_accents.value_or(options.lowercase), options.lowercase});
  all->preTokenizer = makeBertWords();
  all->model = makeWordPiece(std::move(vocabulary), options.unknown, "##", 100);
  all->decoder = makeWordPieceDecoder("##", true);
  std::vector<AddedToken> tokens;
  for (const std::string &name : {options.padding, options.unknown, options.first, options.separator, options.mask})
    if (const int32_t id = all->model->find(name); id >= 0 && !name.empty()) {
      AddedToken token;
      token.id = id;
      token.content = token.pattern = name;
      token.isSpecial = true;
      tokens.push_back(std::move(token));
    }
  all->added = AddedTokens(std::move(tokens));
  const int32_t first = all->model->find(options.first), separator = all->model->find(options.separator);
  if (first < 0 || separator < 0)
    throw Error(Error::Kind::file, "the vocabulary has tokens for the begin and the end of a text, got none for '" +
                                       (first < 0 ? options.first : options.separator) + "'");
  const TemplatePart a{0, {}, 0}, b{1, {}, 1}, begin{-1, {first}, 0}, middle{-1, {separator}, 0},
      end{-1, {separator}, 1};
  PostProcessor processor;
  processor.parts = Template{{begin, a, middle}, {begin, a, middle, b, end}};
  all->processors.push_back(std::move(processor));
  return Tokenizer(std::move(all));
}

Tokenizer Tokenizer::load(const std::string &path) {
  if (path.ends_with(".json"))
    return from_json(readFile(path));
  if (path.ends_with(".txt"))
    return from_vocabulary(readFile(path));
  if (path.ends_with(".model"))
    return from_sentencepiece(readFile(path));
  if (path.ends_with(".gguf")) {
    GgufModel model;
    std::string error;
    if (!GgufModel::open(path, model, error))
      throw Error(Error::Kind::file, error);
    return from_gguf(model.file());
  }
  throw Error(Error::Kind::argument,
              "a vocabulary is a file .json, .txt, .model or .gguf, got '" + printableLine(path) + "'");
}

} // namespace vx::text
