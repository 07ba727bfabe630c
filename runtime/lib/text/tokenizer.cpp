#include "text/implementation.h"

#include "text/characters.h"

#include <algorithm>
#include <cstdio>

namespace vx::text {

namespace {

/// Numbers of code points of places in a text, which lie near the ones that were asked for before.
class CodePointCounter {
public:
  explicit CodePointCounter(std::string_view text) : text(text) {}
  uint32_t at(uint32_t byte) {
    for (; place < byte && place < text.size(); ++place)
      count += !isContinuation(text[place]);
    while (place > byte)
      count -= !isContinuation(text[--place]);
    return count;
  }

private:
  std::string_view text;
  uint32_t place = 0, count = 0;
};

/// White space at the ends of a token: what stands for a space in vocabularies of bytes too.
TokenSpace spacesOf(std::string_view token, OffsetUnit unit) {
  constexpr char32_t space = 0x120;
  TokenSpace found;
  bool isLeading = true;
  for (size_t at = 0; at < token.size();) {
    const CodePoint point = codePointAt(token, at);
    const bool isSpace = point.code == space || isWhiteSpace(point.code);
    const uint32_t size = unit == OffsetUnit::bytes && point.code != space ? point.size : 1;
    isLeading &= isSpace;
    if (isLeading)
      found.leading += size;
    found.trailing = isSpace ? found.trailing + size : 0;
    at += point.size;
  }
  return found;
}

void checkText(std::string_view text) {
  if (text.size() > UINT32_MAX / 8)
    throw Error(Error::Kind::argument,
                "a text has at most " + std::to_string(UINT32_MAX / 8) + " bytes, got " + std::to_string(text.size()));
  if (const size_t at = findIllFormed(text); at != text.size()) {
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
    throw Error(Error::Kind::argument, "a text is UTF-8, got a byte " + std::string(byte) + " at " +
                                           std::to_string(at) + " where no character begins or one ends too early");
  }
}

/// The first space from `begin` on, before `end`, that stands between two small letters; npos where there is none.
size_t findSpace(std::string_view text, size_t begin, size_t end) {
  const auto isLetter = [](char c) { return c >= 'a' && c <= 'z'; };
  for (size_t at = begin; at < end && at + 1 < text.size(); ++at)
    if (text[at] == ' ' && isLetter(text[at - 1]) && isLetter(text[at + 1]))
      return at;
  return text.npos;
}

/// How much of a long text is looked at first where only so many tokens are wanted; then four times as much.
constexpr size_t firstLook(size_t wanted) { return 16 * wanted + 4096; }

} // namespace

std::string Tokenizer::Implementation::patternOf(const AddedToken &token) const {
  if (!token.isNormalized || !normalizer)
    return token.content;
  WorkMemory memory;
  AlignedText text;
  text.assign(token.content, 0, false);
  normalizer->normalize(text, memory);
  return std::string(text.view());
}

void Tokenizer::Implementation::findSpaces() {
  trims = std::ranges::any_of(processors, [](const PostProcessor &one) { return one.trim.has_value(); });
  if (!trims)
    return;
  for (const std::string &token : model->vocabulary().tokens)
    spaces.push_back(spacesOf(token, OffsetUnit::code_points));
}

const std::string *Tokenizer::Implementation::spelling(int32_t id) const {
  if (const AddedToken *token = added.find(id))
    return token->isNormalized && !token->pattern.empty() ? &token->pattern : &token->content;
  const Vocabulary &all = model->vocabulary();
  return id >= 0 && static_cast<size_t>(id) < all.tokens.size() && all.isThere[id] ? &all.tokens[id] : nullptr;
}

std::unique_ptr<CallMemory> Tokenizer::Implementation::takeMemory() const {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<CallMemory> memory = std::move(idle.back());
      idle.pop_back();
      return memory;
    }
  }
  return std::make_unique<CallMemory>();
}

void Tokenizer::Implementation::giveBack(std::unique_ptr<CallMemory> memory) const {
  // What one long text has needed is not kept for all short ones.
  constexpr size_t mostBuffers = 4096, mostSymbols = 1 << 16;
  if (memory->pieces.buffers.size() > mostBuffers || memory->model.symbols.capacity() > mostSymbols ||
      memory->model.best.capacity() > mostSymbols || memory->pieces.list.capacity() > mostSymbols)
    return;
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(memory));
}

void Tokenizer::Implementation::cutText(std::string_view text, const EncodeOptions &options, CallMemory &memory) const {
  Pieces &pieces = memory.pieces;
  pieces.clear();
  const bool keepsPlaces = options.offsets != OffsetUnit::none || (preTokenizer && preTokenizer->needsPlaces());
  pieces.addBuffer().assign(text, 0, keepsPlaces);
  if (!text.empty())
    pieces.list.push_back({0, 0, static_cast<uint32_t>(text.size())});
  added.split(pieces, false, options.match_special_tokens);
  if (normalizer) {
    for (Piece &piece : pieces.list) {
      if (piece.token >= 0)
        continue;
      AlignedText &copy = pieces.addBuffer();
      copy.assign(pieces.buffers[piece.buffer], piece.begin, piece.end);
      normalizer->normalize(copy, memory.work);
      piece = {static_cast<uint32_t>(pieces.count - 1), 0, static_cast<uint32_t>(copy.view().size())};
    }
    std::erase_if(pieces.list, [](const Piece &piece) { return piece.begin == piece.end; });
  }
  added.split(pieces, true, options.match_special_tokens);
  if (preTokenizer)
    preTokenizer->split(pieces, memory.work);
}

// A front that has as many tokens as are wanted is as good as the whole.
Encoding Tokenizer::Implementation::encodeOne(std::string_view text, const EncodeOptions &options, int32_t type,
                                              size_t limit) const {
  checkText(text);
  if (limit < text.size() && isLocal())
    for (size_t size = firstLook(limit); size < text.size() / 2; size *= 4)
      if (const size_t end = findSpace(text, size, 2 * size); end != text.npos)
        if (Encoding front = encodeWhole(text.substr(0, end), options, type, limit); front.ids.size() >= limit)
          return front;
  return encodeWhole(text, options, type, limit);
}

void Tokenizer::Implementation::tokenizeWord(std::string_view word, size_t wanted, CallMemory &memory) const {
  std::vector<WordToken> &tokens = memory.tokens;
  if (wanted < word.size())
    for (size_t size = firstLook(wanted); size < word.size() / 2; size *= 4)
      if (const size_t end = model->findBoundary(word, size, 2 * size); end != word.npos) {
        model->tokenize(word.substr(0, end), memory.model, tokens);
        if (tokens.size() >= wanted)
          return;
        tokens.clear();
      }
  model->tokenize(word, memory.model, tokens);
}

Encoding Tokenizer::Implementation::encodeWhole(std::string_view text, const EncodeOptions &options, int32_t type,
                                                size_t limit) const {
  std::unique_ptr<CallMemory> memory = takeMemory();
  cutText(text, options, *memory);
  const Pieces &pieces = memory->pieces;
  const bool hasOffsets = options.offsets != OffsetUnit::none;
  Encoding encoding;
  std::vector<TokenSpace> around;
  CodePointCounter counter(text);
  const auto addSpan = [&](const Piece &piece, uint32_t begin, uint32_t end) {
    Span span = pieces.buffers[piece.buffer].place(piece.begin + begin, piece.begin + end);
    if (options.offsets == OffsetUnit::code_points)
      span = {counter.at(span.begin), counter.at(span.end)};
    encoding.offsets.push_back(span);
  };
  const bool hasSpaces = trims && hasOffsets;
  for (size_t word = 0; word < pieces.list.size() && encoding.ids.size() < limit; ++word) {
    const Piece &piece = pieces.list[word];
    const std::string_view view = pieces.view(piece);
    if (piece.token >= 0) {
      encoding.ids.push_back(piece.token);
      if (hasOffsets)
        addSpan(piece, 0, static_cast<uint32_t>(view.size()));
      if (hasSpaces)
        around.push_back(spacesOf(view, options.offsets));
    } else {
      std::vector<WordToken> &tokens = memory->tokens;
      tokens.clear();
      const bool isShort = view.size() <= WordCache::longestWord;
      const uint64_t hash = isShort ? hashBytes(view) : 0;
      if (!isShort || !memory->cache.find(view, hash, tokens)) {
        tokenizeWord(view, limit - encoding.ids.size(), *memory);
        if (isShort)
          memory->cache.insert(view, hash, tokens);
      }
      for (const WordToken &token : tokens) {
        encoding.ids.push_back(token.id);
        if (hasOffsets)
          addSpan(piece, token.begin, token.end);
        if (hasSpaces)
          around.push_back(spaces[token.id]);
      }
    }
    encoding.words.resize(encoding.ids.size(), static_cast<int32_t>(word));
  }
  for (const PostProcessor &processor : processors)
    if (hasSpaces && processor.trim)
      trimSpans(encoding, around, processor.trim->keepsFirstSpace);
  encoding.type_ids.assign(encoding.ids.size(), type);
  encoding.attention_mask.assign(encoding.ids.size(), 1);
  encoding.special_tokens_mask.assign(encoding.ids.size(), 0);
  giveBack(std::move(memory));
  return encoding;
}

Encoding Tokenizer::Implementation::encodeAll(std::span<const std::string_view> texts,
                                              const EncodeOptions &options) const {
  size_t length = SIZE_MAX, limit = SIZE_MAX;
  if (options.truncation) {
    const size_t around = options.add_special_tokens ? countAdded(processors, texts.size() == 2) : 0;
    if (options.truncation->max_length < around)
      throw Error(Error::Kind::argument, "truncation leaves room for the " + std::to_string(around) +
                                             " tokens of the template, got a length of " +
                                             std::to_string(options.truncation->max_length));
    length = options.truncation->max_length - around;
    // Nobody looks at what comes behind.
    if (!options.overflowing && options.truncation->side == Side::right &&
        options.truncation->strategy == Truncation::Strategy::longest_first)
      limit = length + 1;
  }
  std::vector<Encoding> encodings;
  for (size_t i = 0; i < texts.size(); ++i)
    encodings.push_back(encodeOne(texts[i], options, static_cast<int32_t>(i), limit));
  bool isTruncated = false;
  if (options.truncation) {
    size_t count = 0;
    for (const Encoding &encoding : encodings)
      count += encoding.ids.size();
    isTruncated = count > length;
    truncate(encodings, *options.truncation, length, options.overflowing);
  }
  Encoding whole =
      postProcess(std::move(encodings), processors, options.add_special_tokens, options.offsets != OffsetUnit::none);
  whole.is_truncated = isTruncated;
  return whole;
}

std::string Tokenizer::Implementation::decode(std::span<const int32_t> ids, bool skipsSpecial, bool keepsBytes) const {
  std::vector<std::string> tokens;
  for (int32_t id : ids)
    if (const std::string *token = spelling(id); token && !(skipsSpecial && added.isSpecialContent(*token)))
      tokens.push_back(*token);
  if (decoder && !tokens.empty())
    decoder->decode(tokens, keepsBytes);
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!decoder && i > 0)
      text += ' ';
    text += tokens[i];
  }
  return keepsBytes || findIllFormed(text) == text.size() ? text : replaceIllFormed(text);
}

const EncodeOptions &Tokenizer::default_options() const { return shared->defaults; }

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions &options) const {
  Encoding encoding = shared->encodeAll(std::span(&text, 1), options);
  if (options.padding)
    pad(std::span(&encoding, 1), *options.padding, options.offsets != OffsetUnit::none);
  return encoding;
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions &options) const {
  const std::string_view texts[] = {first, second};
  Encoding encoding = shared->encodeAll(texts, options);
  if (options.padding)
    pad(std::span(&encoding, 1), *options.padding, options.offsets != OffsetUnit::none);
  return encoding;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                              const EncodeOptions &options) const {
  std::vector<Encoding> encodings;
  for (const std::string_view &text : texts)
    encodings.push_back(shared->encodeAll(std::span(&text, 1), options));
  if (options.padding)
    pad(encodings, *options.padding, options.offsets != OffsetUnit::none);
  return encodings;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  return shared->decode(ids, skip_special_tokens, false);
}

size_t Tokenizer::vocabulary_size() const {
  return std::max<size_t>(shared->model->vocabulary().tokens.size(), static_cast<size_t>(shared->added.largest() + 1));
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken *found = shared->added.find(token))
    return found->id;
  const int32_t id = shared->model->find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string> Tokenizer::id_to_token(int32_t id) const {
  if (const AddedToken *token = shared->added.find(id))
    return token->content;
  const std::string *token = shared->spelling(id);
  return token ? std::optional(*token) : std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const {
  const AddedToken *token = shared->added.find(id);
  return token && token->isSpecial;
}

} // namespace vx::text
