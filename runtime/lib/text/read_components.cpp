#include "text/read_components.h"

#include "text/characters.h"

#include "vx/base/base64.h"

#include <algorithm>

namespace vx::text {

namespace {

/// Makes each of a list of components.
template <typename Pointer, typename Read>
std::vector<Pointer> readAll(const JsonNode &list, Read read) {
  std::vector<Pointer> parts;
  for (size_t i = 0; i < list.wantArray().size(); ++i)
    parts.push_back(read(list.at(i)));
  return parts;
}

std::string readBase64(const JsonNode &node) {
  const std::string text = node.string();
  size_t end = 0;
  std::string bytes = decodeBase64(text, end);
  if (end < text.size() && text[end] != '=')
    node.fail("expected base64, got a character of number " + std::to_string(static_cast<unsigned char>(text[end])));
  return bytes;
}

Behaviour readBehaviour(const JsonNode &node) {
  static constexpr std::string_view names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                               "Contiguous"};
  const auto found = std::ranges::find(names, node.string());
  if (found == std::end(names))
    node.fail("expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got '" + node.string() +
              "'");
  return static_cast<Behaviour>(found - std::begin(names));
}

PrependScheme readPrependScheme(const JsonNode &node) {
  if (!node.has("prepend_scheme"))
    return node.boolean("add_prefix_space", true) ? PrependScheme::Always : PrependScheme::Never;
  const std::string scheme = node["prepend_scheme"].string();
  if (scheme != "first" && scheme != "never" && scheme != "always")
    node["prepend_scheme"].fail("expected first, never or always, got '" + scheme + "'");
  return scheme == "first" ? PrependScheme::First : scheme == "never" ? PrependScheme::Never : PrependScheme::Always;
}

std::string spell(char32_t code) {
  std::string text;
  appendCodePoint(text, code);
  return text;
}

} // namespace

char32_t readCharacter(const JsonNode &node) {
  const std::string &text = node.string();
  if (text.empty() || codePointAt(text, 0).size != text.size())
    node.fail("expected one character, got '" + text + "'");
  return codePointAt(text, 0).code;
}

Pattern readPattern(const JsonNode &node) {
  if (node.has("String"))
    return Pattern::fromLiteral(node["String"].string());
  if (!node.has("Regex"))
    node.fail("expected 'String' or 'Regex'");
  return Pattern::fromExpression(node["Regex"].string());
}

NormalizerPointer readNormalizer(const JsonNode &node) {
  const std::string type = node.type();
  if (type == "Sequence")
    return makeSequence(readAll<NormalizerPointer>(node["normalizers"], readNormalizer));
  if (type == "BertNormalizer") {
    BertRules rules;
    rules.cleans = node["clean_text"].boolean();
    rules.splitsChinese = node["handle_chinese_chars"].boolean();
    rules.lowercases = node["lowercase"].boolean();
    rules.stripsAccents = node.boolean("strip_accents", rules.lowercases);
    return makeBert(rules);
  }
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD")
    return makeNormalForm(type.back() == 'C', type[2] == 'K');
  if (type == "Lowercase")
    return makeLowercase();
  if (type == "Strip")
    return makeStrip(node["strip_left"].boolean(), node["strip_right"].boolean());
  if (type == "StripAccents")
    return makeStripAccents();
  if (type == "Replace")
    return makeReplace(readPattern(node["pattern"]), node["content"].string());
  if (type == "Prepend")
    return makePrepend(node["prepend"].string());
  if (type == "Append")
    return makeAppend(node["append"].string());
  if (type == "Nmt")
    return makeNmt();
  if (type == "ByteLevel")
    return makeByteCharacters();
  if (type == "Precompiled")
    return makePrecompiled(readBase64(node["precompiled_charsmap"]));
  node.fail("the normalizer '" + type + "' is not supported");
}

bool endsInByteLevel(const JsonNode &node) {
  const std::string type = node.type();
  if (type != "Sequence")
    return type == "ByteLevel";
  const JsonNode list = node["pretokenizers"];
  for (size_t i = 0; i < list.wantArray().size(); ++i) {
    const std::string part = list.at(i).type();
    if ((part == "ByteLevel") != (i + 1 == list.size()) || part == "Sequence")
      return false;
  }
  return list.size() > 0;
}

PreTokenizerPointer readPreTokenizer(const JsonNode &node, bool keepsBytes) {
  const std::string type = node.type();
  if (type == "Sequence")
    return makeSequence(readAll<PreTokenizerPointer>(
        node["pretokenizers"], [&](const JsonNode &part) { return readPreTokenizer(part, keepsBytes); }));
  if (type == "BertPreTokenizer")
    return makeBertWords();
  if (type == "Whitespace")
    return makeWhitespace();
  if (type == "WhitespaceSplit")
    return makeWhitespaceSplit();
  if (type == "Punctuation")
    return makePunctuation(node.has("behavior") ? readBehaviour(node["behavior"]) : Behaviour::Isolated);
  if (type == "Digits")
    return makeDigits(node["individual_digits"].boolean());
  if (type == "CharDelimiterSplit")
    return makeDelimiter(readCharacter(node["delimiter"]));
  if (type == "FixedLength")
    return makeFixedLength(node.has("length") ? node["length"].integer(1, INT32_MAX) : 5);
  if (type == "Split")
    return makeSplit(readPattern(node["pattern"]), readBehaviour(node["behavior"]), node.boolean("invert", false));
  if (type == "UnicodeScripts")
    return makeScripts();
  if (type == "Metaspace")
    return makeMetaspace(spell(readCharacter(node["replacement"])), readPrependScheme(node),
                         node.boolean("split", true));
  if (type == "ByteLevel")
    return makeByteLevel(node["add_prefix_space"].boolean(), node.boolean("use_regex", true), keepsBytes);
  node.fail("the pre-tokenizer '" + type + "' is not supported");
}

namespace {

int32_t readId(const JsonNode &node) { return static_cast<int32_t>(node.integer(0, mostTokens - 1)); }

std::vector<TemplatePart> readTemplate(const JsonNode &list, const JsonNode &specials) {
  std::vector<TemplatePart> parts;
  for (size_t i = 0; i < list.wantArray().size(); ++i) {
    TemplatePart part;
    const JsonNode node = list.at(i);
    const bool isText = node.has("Sequence");
    const JsonNode piece = node[isText ? "Sequence" : "SpecialToken"];
    part.type = static_cast<int32_t>(piece["type_id"].integer(0, INT32_MAX));
    const std::string &id = piece["id"].string();
    if (isText) {
      if (id != "A" && id != "B")
        piece["id"].fail("expected A or B, got '" + id + "'");
      part.text = id == "B";
    } else {
      const JsonNode ids = specials[id.c_str()]["ids"];
      for (size_t at = 0; at < ids.wantArray().size(); ++at)
        part.ids.push_back(readId(ids.at(at)));
    }
    parts.push_back(part);
  }
  return parts;
}

} // namespace

void readPostProcessor(const JsonNode &node, std::vector<PostProcessor> &processors) {
  const std::string type = node.type();
  PostProcessor processor;
  if (type == "Sequence") {
    const JsonNode list = node["processors"];
    for (size_t i = 0; i < list.wantArray().size(); ++i)
      readPostProcessor(list.at(i), processors);
    return;
  }
  if (type == "ByteLevel") {
    if (node.boolean("trim_offsets", true))
      processor.trim = PostProcessor::Trim{node.boolean("add_prefix_space", true)};
  } else if (type == "TemplateProcessing") {
    processor.parts = Template{readTemplate(node["single"], node["special_tokens"]),
                               readTemplate(node["pair"], node["special_tokens"])};
    if (std::ranges::any_of(processor.parts->single, [](const TemplatePart &part) { return part.text == 1; }))
      node["single"].fail("expected no second text, got one");
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const bool isRoberta = type == "RobertaProcessing";
    const TemplatePart first{-1, {readId(node["cls"].at(1))}, 0}, separator{-1, {readId(node["sep"].at(1))}, 0};
    TemplatePart last = separator, a, b;
    a.text = 0;
    b.text = 1;
    last.type = b.type = isRoberta ? 0 : 1;
    processor.parts = Template{{first, a, separator}, {first, a, separator, b, last}};
    if (isRoberta) {
      processor.parts->pair.insert(processor.parts->pair.begin() + 3, separator);
      processor.hasOneType = true;
      if (node.boolean("trim_offsets", true))
        processor.trim = PostProcessor::Trim{node.boolean("add_prefix_space", true)};
    }
  } else {
    node.fail("the post-processor '" + type + "' is not supported");
  }
  if (processor.parts &&
      std::ranges::any_of(processors, [](const PostProcessor &other) { return other.parts.has_value(); }))
    node.fail("expected one template, got a second one");
  processors.push_back(std::move(processor));
}

DecoderPointer readDecoder(const JsonNode &node) {
  const std::string type = node.type();
  if (type == "Sequence")
    return makeSequence(readAll<DecoderPointer>(node["decoders"], readDecoder));
  if (type == "WordPiece")
    return makeWordPieceDecoder(node.string("prefix", "##"), node.boolean("cleanup", true));
  if (type == "ByteLevel")
    return makeByteLevelDecoder();
  if (type == "Metaspace")
    return makeMetaspaceDecoder(spell(readCharacter(node["replacement"])),
                                readPrependScheme(node) != PrependScheme::Never);
  if (type == "BPEDecoder")
    return makeBpeDecoder(node.string("suffix", "</w>"));
  if (type == "ByteFallback")
    return makeByteFallbackDecoder();
  if (type == "Fuse")
    return makeFuseDecoder();
  if (type == "Strip")
    return makeStripDecoder(spell(readCharacter(node["content"])), node["start"].integer(0, INT32_MAX),
                            node["stop"].integer(0, INT32_MAX));
  if (type == "Replace")
    return makeReplaceDecoder(readPattern(node["pattern"]), node["content"].string());
  if (type == "CTC")
    return makeCtcDecoder(node["pad_token"].string(), node["word_delimiter_token"].string(),
                          node.boolean("cleanup", true));
  node.fail("the decoder '" + type + "' is not supported");
}

} // namespace vx::text
