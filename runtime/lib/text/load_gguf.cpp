// Tokenizers of the tables in GGUF files.
#include "text/characters.h"
#include "text/implementation.h"
#include "text/read_components.h"

#include "vx/base/gguf.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace vx::text {

namespace {

constexpr char spaceMark[] = "\xe2\x96\x81"; // U+2581

[[noreturn]] void fail(const std::string &what) { throw Error(Error::Kind::file, what); }

// The kinds of tokens in tokenizer.ggml.token_type.
enum class TokenKind : int64_t { normal = 1, unknown, control, userDefined, unused, byte };

/// The keys below tokenizer.ggml.
class Keys {
public:
  explicit Keys(const GgufFile &file) : file(file) {}

  const GgufValue *find(const char *name) const { return file.find(std::string("tokenizer.ggml.") + name); }

  std::string string(const char *name, const char *otherwise) const {
    const GgufValue *value = find(name);
    if (!value)
      return otherwise;
    if (value->kind() != GgufKind::string)
      refuse(name, *value, "a string");
    return std::string(*value->stringAt(0));
  }
  bool boolean(const char *name, bool otherwise) const {
    const GgufValue *value = find(name);
    if (!value)
      return otherwise;
    if (value->kind() != GgufKind::boolean)
      refuse(name, *value, "a bool");
    return *value->booleanAt(0);
  }
  /// An array of `count` elements, or of any count for 0; null where the key is missing.
  const GgufValue *array(const char *name, size_t count) const {
    const GgufValue *value = find(name);
    if (value && value->kind() != GgufKind::array)
      refuse(name, *value, "an array");
    if (value && count && value->size() != count)
      fail(std::string("key 'tokenizer.ggml.") + name + "' has " + std::to_string(value->size()) +
           " elements, expected one per token, " + std::to_string(count));
    return value;
  }
  /// The number of a token; nothing where no key of the names is there.
  std::optional<int32_t> token(std::initializer_list<const char *> names, size_t count) const {
    for (const char *name : names)
      if (const GgufValue *value = find(name)) {
        const std::optional<uint64_t> id = value->kind() == GgufKind::array ? std::nullopt : value->unsignedAt(0);
        if (!id || *id >= count)
          refuse(name, *value, "a token's number below " + std::to_string(count));
        return static_cast<int32_t>(*id);
      }
    return {};
  }
  [[noreturn]] static void refuse(const char *name, const GgufValue &value, const std::string &wanted) {
    fail(std::string("key 'tokenizer.ggml.") + name + "' is " + printableLine(value.text()) + ", expected " + wanted);
  }

private:
  const GgufFile &file;
};

/// The tables that all kinds have.
struct Tables {
  std::vector<std::string> tokens;
  std::vector<TokenKind> kinds;
  std::vector<float> scores; // empty where there are none
};

Tables readTables(const Keys &keys) {
  Tables tables;
  const GgufValue *tokens = keys.array("tokens", 0);
  if (!tokens || tokens->elementKind() != GgufKind::string)
    fail("the file has no vocabulary: expected the key 'tokenizer.ggml.tokens' with an array of strings, got " +
         std::string(tokens ? printableLine(tokens->text(2)) : "none"));
  const size_t count = tokens->size();
  if (count == 0 || count >= static_cast<size_t>(mostTokens))
    fail("key 'tokenizer.ggml.tokens' has " + std::to_string(count) + " elements, expected 1 to " +
         std::to_string(mostTokens - 1));
  std::unordered_map<std::string_view, size_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view token = *tokens->stringAt(i);
    if (findIllFormed(token) != token.size())
      fail("token " + std::to_string(i) + " is not UTF-8: '" + printableLine(token) + "'");
    if (const auto [found, isNew] = numbers.emplace(token, i); !isNew && !token.empty())
      fail("token '" + printableLine(token) + "' is in 'tokenizer.ggml.tokens' twice, as " +
           std::to_string(found->second) + " and " + std::to_string(i));
    tables.tokens.emplace_back(token);
  }
  tables.kinds.assign(count, TokenKind::normal);
  if (const GgufValue *kinds = keys.array("token_type", count))
    for (size_t i = 0; i < count; ++i) {
      const std::optional<int64_t> kind = kinds->signedAt(i);
      if (!kind || *kind < 0 || *kind > 6)
        fail("key 'tokenizer.ggml.token_type' has for token " + std::to_string(i) + " another kind than 0 to 6");
      if (*kind > 0) // 0: undefined
        tables.kinds[i] = static_cast<TokenKind>(*kind);
    }
  if (const GgufValue *scores = keys.array("scores", count))
    for (size_t i = 0; i < count; ++i) {
      const std::optional<double> score = scores->numberAt(i);
      if (!score || *score != *score)
        fail("key 'tokenizer.ggml.scores' has no number for token " + std::to_string(i));
      tables.scores.push_back(static_cast<float>(*score));
    }
  return tables;
}

Vocabulary vocabularyOf(std::vector<std::string> tokens) {
  Vocabulary vocabulary;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (!tokens[i].empty())
      vocabulary.set(static_cast<int32_t>(i), std::move(tokens[i]));
  return vocabulary;
}

// How texts become words, by the name in tokenizer.ggml.pre.
struct Words {
  std::vector<const char *> expressions; // each cuts the pieces of the one before
  bool cutsContractions = false;         // GPT-2's expression after them
  bool isComposed = false;               // NFC first
  bool takesWholeWords = false, addsBos = false;
};

// GPT-2's contractions in any case, letters with a character in front, numbers by `digits`, the rest with line feeds.
#define VX_LETTERS_AND_NUMBERS(letters, digits, excluded)                                                              \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?" letters "|" digits "| ?[^\\s" excluded                         \
  "]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define VX_CASED_WORDS(contractions)                                                                                   \
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" contractions             \
  "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*" contractions

constexpr char Gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
constexpr char Llama3[] = VX_LETTERS_AND_NUMBERS("\\p{L}+", "\\p{N}{1,3}", "\\p{L}\\p{N}");
constexpr char Qwen2[] = VX_LETTERS_AND_NUMBERS("\\p{L}+", "\\p{N}", "\\p{L}\\p{N}");
constexpr char Qwen35[] = VX_LETTERS_AND_NUMBERS("[\\p{L}\\p{M}]+", "\\p{N}", "\\p{L}\\p{M}\\p{N}");
constexpr char Gpt4o[] = VX_CASED_WORDS(
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr char Tekken[] = VX_CASED_WORDS("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
// DeepSeek's letters: those that have a case.
constexpr char DeepSeekLetters[] = "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-"
                                   "ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-"
                                   "ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻"
                                   "𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
constexpr char DeepSeekPunctuation[] = "\\s?[!-/:-~！-／：-～‘-‟　-。]+";
constexpr char DeepSeekIdeographs[] = "[一-龥ࠀ-一가-퟿]+";
constexpr char DeepSeek3[] =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

struct NamedWords {
  std::vector<std::string_view> names;
  Words words;
};

const std::vector<NamedWords> &knownWords() {
  static const std::vector<NamedWords> all = {
      {{"gpt-2", "phi-2", "exaone4", "jais", "trillion", "granite-docling", "roberta-bpe", "jina-v2-code", "jina-v2-es",
        "jina-v2-de"},
       {{}, true}},
      {{"mpt", "olmo"}, {{}, true, true}},
      {{"starcoder", "refact", "smollm", "codeshell", "exaone", "minerva-7b"}, {{"\\p{N}"}, true}},
      {{"command-r"}, {{"\\p{N}"}, true, true}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"}, {{Llama3}, false, false, true, true}},
      {{"dbrx", "smaug-bpe"}, {{Llama3}}},
      {{"qwen2", "deepseek-r1-qwen", "megrez"}, {{Qwen2}, false, true}},
      {{"stablelm2"}, {{Qwen2}}},
      {{"qwen35"}, {{Qwen35}}},
      {{"gpt-4o", "llama4"}, {{Gpt4o}}},
      {{"tekken"}, {{Tekken}, false, false, true, true}},
      {{"default"}, {{"[\\p{P}\\$\\+<=>\\^~\\|]+", Gpt2, "\\p{N}+", "[0-9][0-9][0-9]"}}},
      {{"deepseek-llm"}, {{"[\\r\\n]", DeepSeekLetters, DeepSeekPunctuation, "\\s+$", DeepSeekIdeographs, "\\p{N}"}}},
      {{"deepseek-coder"}, {{"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", DeepSeekIdeographs, "\\p{N}"}}},
      {{"deepseek-v3"}, {{"\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DeepSeek3}}},
  };
  return all;
}
#undef VX_LETTERS_AND_NUMBERS
#undef VX_CASED_WORDS

/// Falcon cuts at the digits among the characters that stand for bytes, so words are not bytes.
PreTokenizerPointer makeFalconWords() {
  std::vector<PreTokenizerPointer> parts;
  parts.push_back(makePunctuation(Behaviour::Contiguous));
  parts.push_back(makeByteLevel(false, true, false));
  parts.push_back(makeDigits(false));
  parts.push_back(makeSplit(Pattern::fromExpression("[0-9][0-9][0-9]"), Behaviour::Isolated, false));
  return makeSequence(std::move(parts));
}

const Words *findWords(const std::string &name) {
  for (const NamedWords &known : knownWords())
    if (std::ranges::find(known.names, name) != known.names.end())
      return &known.words;
  return nullptr;
}

std::string knownNames() {
  std::string names = "falcon";
  for (const NamedWords &known : knownWords())
    for (std::string_view name : known.names)
      names += ", " + std::string(name);
  return names;
}

PreTokenizerPointer makeWords(const Words &words) {
  std::vector<PreTokenizerPointer> parts;
  for (const char *expression : words.expressions)
    parts.push_back(makeSplit(Pattern::fromExpression(expression), Behaviour::Isolated, false));
  parts.push_back(makeByteLevel(false, words.cutsContractions, true));
  return makeSequence(std::move(parts));
}

std::vector<std::pair<std::string, std::string>> readMerges(const Keys &keys) {
  const GgufValue *merges = keys.array("merges", 0);
  if (!merges || merges->elementKind() != GgufKind::string)
    fail("expected the key 'tokenizer.ggml.merges' with an array of strings, got " +
         std::string(merges ? printableLine(merges->text(2)) : "none"));
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(merges->size());
  for (size_t i = 0; i < merges->size(); ++i) {
    const std::string_view merge = *merges->stringAt(i);
    // A token may begin with a space in no vocabulary of bytes.
    const size_t space = merge.find(' ');
    if (space == merge.npos || merge.find(' ', space + 1) != merge.npos)
      fail("merge " + std::to_string(i) + " is '" + printableLine(merge) +
           "', expected two tokens with a space between");
    pairs.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return pairs;
}

void addSpecialTokens(const Tables &tables, bool isNormalized, Tokenizer::Implementation &all) {
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < tables.tokens.size(); ++i) {
    const TokenKind kind = tables.kinds[i];
    if (tables.tokens[i].empty() ||
        (kind != TokenKind::unknown && kind != TokenKind::control && kind != TokenKind::userDefined))
      continue;
    AddedToken token;
    token.id = static_cast<int32_t>(i);
    token.content = tables.tokens[i];
    token.isSpecial = kind != TokenKind::userDefined;
    token.isNormalized = isNormalized && !token.isSpecial;
    token.pattern = all.patternOf(token);
    tokens.push_back(std::move(token));
  }
  all.added = AddedTokens(std::move(tokens));
}

/// The tokens at the begin and the end of a text.
void addTemplate(const Keys &keys, size_t count, bool begins, bool ends, bool isPairOfTypes, bool joinsByEnd,
                 Tokenizer::Implementation &all) {
  begins = keys.boolean("add_bos_token", begins);
  ends = keys.boolean("add_eos_token", ends);
  std::vector<TemplatePart> single;
  const auto token = [&](std::initializer_list<const char *> names) {
    const std::optional<int32_t> id = keys.token(names, count);
    if (!id)
      fail(std::string("expected the key 'tokenizer.ggml.") + *names.begin() +
           "', since the token is added to texts, got none");
    return TemplatePart{-1, {*id}, 0};
  };
  std::optional<TemplatePart> first, last;
  if (begins)
    first = token({"bos_token_id", "cls_token_id"});
  if (ends)
    last = token({"eos_token_id", "separator_token_id", "seperator_token_id"});
  if (!first && !last)
    return;
  if (first)
    single.push_back(*first);
  single.push_back({0, {}, 0});
  if (last)
    single.push_back(*last);
  std::vector<TemplatePart> pair = single;
  const int32_t type = isPairOfTypes ? 1 : 0;
  if (joinsByEnd && first && last)
    pair.push_back(*last);
  else if (!joinsByEnd && first)
    pair.push_back({-1, first->ids, type});
  pair.push_back({1, {}, type});
  if (last)
    pair.push_back({-1, last->ids, type});
  PostProcessor processor;
  processor.parts = Template{std::move(single), std::move(pair)};
  all.processors.push_back(std::move(processor));
}

void makeGpt2(const Keys &keys, Tables tables, Tokenizer::Implementation &all) {
  const std::string name = keys.string("pre", "default");
  const Words *words = findWords(name);
  const bool isFalcon = name == "falcon";
  if (!words && !isFalcon)
    fail("key 'tokenizer.ggml.pre' is '" + printableLine(name) + "', which is not supported; known are " +
         knownNames());
  static const Words falcon;
  if (isFalcon)
    words = &falcon;
  if (words->isComposed)
    all.normalizer = makeNormalForm(true, false);
  all.preTokenizer = isFalcon ? makeFalconWords() : makeWords(*words);
  const size_t count = tables.tokens.size();
  BpeRules rules;
  rules.merges = readMerges(keys);
  rules.isOfBytes = !isFalcon;
  rules.takesWholeWords = words->takesWholeWords;
  all.model = makeBpe(vocabularyOf(tables.tokens), rules);
  all.decoder = makeByteLevelDecoder();
  PostProcessor trim;
  trim.trim = PostProcessor::Trim{false};
  all.processors.push_back(std::move(trim));
  addSpecialTokens(tables, true, all);
  addTemplate(keys, count, words->addsBos, false, true, false, all);
}

size_t countKind(const Tables &tables, TokenKind kind) {
  return static_cast<size_t>(std::ranges::count(tables.kinds, kind));
}

void wantScores(const Tables &tables) {
  if (tables.scores.empty())
    fail("expected the key 'tokenizer.ggml.scores', got none");
}

/// SentencePiece's BPE: of all pairs whose text is a token, that of the best score merges first.
void makeLlama(const Keys &keys, Tables tables, Tokenizer::Implementation &all) {
  wantScores(tables);
  const bool addsSpace = keys.boolean("add_space_prefix", true);
  std::vector<NormalizerPointer> normalizers;
  if (addsSpace)
    normalizers.push_back(makePrepend(spaceMark));
  normalizers.push_back(makeReplace(Pattern::fromLiteral(" "), spaceMark));
  all.normalizer = makeSequence(std::move(normalizers));
  std::vector<DecoderPointer> decoders;
  decoders.push_back(makeReplaceDecoder(Pattern::fromLiteral(spaceMark), " "));
  decoders.push_back(makeByteFallbackDecoder());
  decoders.push_back(makeFuseDecoder());
  if (addsSpace)
    decoders.push_back(makeStripDecoder(" ", 1, 0));
  all.decoder = makeSequence(std::move(decoders));

  const size_t count = tables.tokens.size(), bytes = countKind(tables, TokenKind::byte);
  if (bytes != 0 && bytes != 256)
    fail("the vocabulary has " + std::to_string(bytes) + " tokens of bytes, expected 256 or none");
  SentencePieces pieces;
  pieces.fallsBackToBytes = bytes == 256;
  pieces.scores = tables.scores;
  std::optional<int32_t> unknown = keys.token({"unknown_token_id"}, count);
  const auto found = std::ranges::find(tables.kinds, TokenKind::unknown);
  if (!unknown && found != tables.kinds.end())
    unknown = static_cast<int32_t>(found - tables.kinds.begin());
  if (!unknown)
    fail("expected the key 'tokenizer.ggml.unknown_token_id', or a token of the kind 2, got none");
  for (size_t i = 0; i < count; ++i)
    // Tokens of the user are cut out of the text first.
    pieces.kinds.push_back(tables.tokens[i].empty() ? SentencePieces::Kind::Control
                           : tables.kinds[i] == TokenKind::userDefined
                               ? SentencePieces::Kind::Control
                               : static_cast<SentencePieces::Kind>(tables.kinds[i]));
  pieces.unknown = *unknown;
  pieces.kinds[static_cast<size_t>(*unknown)] = SentencePieces::Kind::Unknown;
  pieces.vocabulary = vocabularyOf(tables.tokens);
  all.model = makeSentencePieceBpe(std::move(pieces));
  addSpecialTokens(tables, false, all);
  addTemplate(keys, count, true, false, true, false, all);
}

/// SentencePiece's Unigram, as T5 and XLM-R have it.
void makeT5(const Keys &keys, Tables tables, Tokenizer::Implementation &all) {
  wantScores(tables);
  std::vector<NormalizerPointer> normalizers;
  if (const GgufValue *map = keys.array("precompiled_charsmap", 0)) {
    std::string bytes;
    for (size_t i = 0; i < map->size(); ++i) {
      const std::optional<int64_t> byte = map->signedAt(i);
      if (!byte || *byte < -128 || *byte > 255)
        Keys::refuse("precompiled_charsmap", *map, "an array of bytes");
      bytes += static_cast<char>(*byte);
    }
    normalizers.push_back(makePrecompiled(std::move(bytes)));
  }
  normalizers.push_back(makeReplace(Pattern::fromExpression(" {2,}"), " "));
  all.normalizer = makeSequence(std::move(normalizers));
  std::vector<PreTokenizerPointer> words;
  words.push_back(makeWhitespaceSplit());
  words.push_back(makeMetaspace(spaceMark, PrependScheme::Always, true));
  all.preTokenizer = makeSequence(std::move(words));
  all.decoder = makeMetaspaceDecoder(spaceMark, true);
  const size_t count = tables.tokens.size();
  const std::optional<int32_t> unknown = keys.token({"unknown_token_id"}, count);
  if (!unknown)
    fail("expected the key 'tokenizer.ggml.unknown_token_id', got none");
  all.model = makeUnigram(vocabularyOf(tables.tokens), {tables.scores.begin(), tables.scores.end()}, unknown, false);
  addSpecialTokens(tables, false, all);
  addTemplate(keys, count, false, true, false, true, all);
}

void makeBertPieces(const Keys &keys, Tables tables, Tokenizer::Implementation &all) {
  const size_t count = tables.tokens.size();
  // A token that begins a word has a mark in the file, one that goes on has none.
  for (size_t i = 0; i < count; ++i) {
    std::string &token = tables.tokens[i];
    if (token.starts_with(spaceMark))
      token.erase(0, sizeof spaceMark - 1);
    else if (!token.empty() && tables.kinds[i] != TokenKind::control && tables.kinds[i] != TokenKind::unknown &&
             !(token.size() > 2 && token.starts_with('[') && token.ends_with(']')))
      token.insert(0, "##");
  }
  const bool lowercases = keys.boolean("normalizer.lowercase", true);
  all.normalizer = makeBert({true, true, keys.boolean("normalizer.strip_accents", lowercases), lowercases});
  all.preTokenizer = makeBertWords();
  const std::optional<int32_t> unknown = keys.token({"unknown_token_id"}, count);
  const std::string spelled = unknown ? tables.tokens[static_cast<size_t>(*unknown)] : "[UNK]";
  std::unordered_map<std::string_view, size_t> numbers;
  for (size_t i = 0; i < count; ++i)
    if (const auto [found, isNew] = numbers.emplace(tables.tokens[i], i); !isNew && !tables.tokens[i].empty())
      fail("tokens " + std::to_string(found->second) + " and " + std::to_string(i) + " are both '" +
           printableLine(tables.tokens[i]) + "'");
  all.model = makeWordPiece(vocabularyOf(tables.tokens), spelled, "##", 100);
  all.decoder = makeWordPieceDecoder("##", true);
  addSpecialTokens(tables, false, all);
  const std::optional<int32_t> first = keys.token({"cls_token_id", "bos_token_id"}, count),
                               separator =
                                   keys.token({"separator_token_id", "seperator_token_id", "eos_token_id"}, count);
  if (!first || !separator)
    fail(std::string("expected the key 'tokenizer.ggml.") + (first ? "separator_token_id" : "cls_token_id") +
         "', got none");
  const TemplatePart a{0, {}, 0}, b{1, {}, 1}, begin{-1, {*first}, 0}, middle{-1, {*separator}, 0},
      end{-1, {*separator}, 1};
  PostProcessor processor;
  processor.parts = Template{{begin, a, middle}, {begin, a, middle, b, end}};
  all.processors.push_back(std::move(processor));
}

} // namespace

Tokenizer Tokenizer::from_gguf(const GgufFile &file) {
  const Keys keys(file);
  if (!keys.find("model"))
    fail("the file has no tokenizer: expected the key 'tokenizer.ggml.model', got none");
  const std::string kind = keys.string("model", "");
  auto all = std::make_shared<Implementation>();
  if (kind == "gpt2")
    makeGpt2(keys, readTables(keys), *all);
  else if (kind == "llama")
    makeLlama(keys, readTables(keys), *all);
  else if (kind == "t5")
    makeT5(keys, readTables(keys), *all);
  else if (kind == "bert")
    makeBertPieces(keys, readTables(keys), *all);
  else
    fail("key 'tokenizer.ggml.model' is '" + printableLine(kind) +
         "', which is not supported; known are gpt2, llama, t5, bert");
  all->findSpaces();
  return Tokenizer(std::move(all));
}

} // namespace vx::text
