#include "text/decoders.h"

#include "text/byte_alphabet.h"
#include "text/characters.h"

#include <algorithm>

namespace vx::text {

namespace {

void replaceAll(std::string &text, std::string_view from, std::string_view to) {
  if (from.empty())
    return;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Spaces before marks, and English's short forms.
void cleanUp(std::string &text) {
  static constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[from, to] : rules)
    replaceAll(text, from, to);
}

class Sequence : public Decoder {
public:
  explicit Sequence(std::vector<DecoderPointer> parts) : parts(std::move(parts)) {}
  void decode(std::vector<std::string> &tokens, bool keepsBytes) const override {
    for (const DecoderPointer &part : parts)
      part->decode(tokens, keepsBytes);
  }

private:
  std::vector<DecoderPointer> parts;
};

class WordPiece : public Decoder {
public:
  WordPiece(std::string prefix, bool cleansUp) : prefix(std::move(prefix)), cleansUp(cleansUp) {}
  void decode(std::vector<std::string> &tokens, bool) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix))
          tokens[i].erase(0, prefix.size());
        else
          tokens[i].insert(0, " ");
      }
      if (cleansUp)
        cleanUp(tokens[i]);
    }
  }

private:
  std::string prefix;
  bool cleansUp;
};

class ByteLevel : public Decoder {
public:
  void decode(std::vector<std::string> &tokens, bool keepsBytes) const override {
    std::string bytes;
    for (const std::string &token : tokens) {
      const std::optional<std::string> spelled = bytesOfCharacters(token);
      bytes += spelled ? *spelled : token;
    }
    tokens.assign(1, keepsBytes ? bytes : replaceIllFormed(bytes));
  }
};

class Metaspace : public Decoder {
public:
  Metaspace(std::string replacement, bool dropsFirst) : replacement(std::move(replacement)), dropsFirst(dropsFirst) {}
  void decode(std::vector<std::string> &tokens, bool) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replaceAll(tokens[i], replacement, i == 0 && dropsFirst ? "" : " ");
  }

private:
  std::string replacement;
  bool dropsFirst;
};

class Bpe : public Decoder {
public:
  explicit Bpe(std::string suffix) : suffix(std::move(suffix)) {}
  void decode(std::vector<std::string> &tokens, bool) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replaceAll(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
  }

private:
  std::string suffix;
};

class ByteFallback : public Decoder {
public:
  void decode(std::vector<std::string> &tokens, bool keepsBytes) const override {
    std::vector<std::string> made;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty())
        return;
      if (keepsBytes || findIllFormed(bytes) == bytes.size())
        made.push_back(bytes);
      else
        made.insert(made.end(), bytes.size(), "\xef\xbf\xbd");
      bytes.clear();
    };
    for (std::string &token : tokens) {
      if (const int byte = byteOf(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      made.push_back(std::move(token));
    }
    flush();
    tokens = std::move(made);
  }

private:
  static int byteOf(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
      return -1;
    int value = 0;
    for (char c : token.substr(3, 2)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0)
        return -1;
      value = value * 16 + digit;
    }
    return value;
  }
};

class Fuse : public Decoder {
public:
  void decode(std::vector<std::string> &tokens, bool) const override {
    std::string all;
    for (const std::string &token : tokens)
      all += token;
    tokens.assign(1, all);
  }
};

class Strip : public Decoder {
public:
  Strip(std::string content, size_t start, size_t stop) : content(std::move(content)), start(start), stop(stop) {}
  void decode(std::vector<std::string> &tokens, bool) const override {
    for (std::string &token : tokens) {
      size_t begin = 0, end = token.size();
      for (size_t i = 0; i < start && token.compare(begin, content.size(), content) == 0; ++i)
        begin += content.size();
      for (size_t i = 0; i < stop && end >= begin + content.size() &&
                         token.compare(end - content.size(), content.size(), content) == 0;
           ++i)
        end -= content.size();
      token = token.substr(begin, end - begin);
    }
  }

private:
  std::string content;
  size_t start, stop;
};

class Replace : public Decoder {
public:
  Replace(Pattern pattern, std::string content) : pattern(std::move(pattern)), content(std::move(content)) {}
  void decode(std::vector<std::string> &tokens, bool) const override {
    PatternMemory memory;
    std::vector<Span> matches;
    for (std::string &token : tokens) {
      // Bytes of a part of a character are no text that a pattern could match.
      if (token.empty() || findIllFormed(token) != token.size())
        continue;
      pattern.findAll(token, memory, matches);
      std::string made;
      size_t at = 0;
      for (const Span &match : matches) {
        made.append(token, at, match.begin - at);
        made += content;
        at = match.end;
      }
      token = made.append(token, at);
    }
  }

private:
  Pattern pattern;
  std::string content;
};

class Ctc : public Decoder {
public:
  Ctc(std::string padding, std::string delimiter, bool cleansUp)
      : padding(std::move(padding)), delimiter(std::move(delimiter)), cleansUp(cleansUp) {}
  void decode(std::vector<std::string> &tokens, bool) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string &token : tokens) {
      replaceAll(token, padding, "");
      if (cleansUp) {
        cleanUp(token);
        replaceAll(token, delimiter, " ");
      }
    }
    std::erase_if(tokens, [](const std::string &token) { return token.empty(); });
  }

private:
  std::string padding, delimiter;
  bool cleansUp;
};

} // namespace

DecoderPointer makeSequence(std::vector<DecoderPointer> parts) { return std::make_unique<Sequence>(std::move(parts)); }
DecoderPointer makeWordPieceDecoder(std::string prefix, bool cleansUp) {
  return std::make_unique<WordPiece>(std::move(prefix), cleansUp);
}
DecoderPointer makeByteLevelDecoder() { return std::make_unique<ByteLevel>(); }
DecoderPointer makeMetaspaceDecoder(std::string replacement, bool dropsFirst) {
  return std::make_unique<Metaspace>(std::move(replacement), dropsFirst);
}
DecoderPointer makeBpeDecoder(std::string suffix) { return std::make_unique<Bpe>(std::move(suffix)); }
DecoderPointer makeByteFallbackDecoder() { return std::make_unique<ByteFallback>(); }
DecoderPointer makeFuseDecoder() { return std::make_unique<Fuse>(); }
DecoderPointer makeStripDecoder(std::string content, size_t start, size_t stop) {
  return std::make_unique<Strip>(std::move(content), start, stop);
}
DecoderPointer makeReplaceDecoder(Pattern pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
DecoderPointer makeCtcDecoder(std::string padding, std::string delimiter, bool cleansUp) {
  return std::make_unique<Ctc>(std::move(padding), std::move(delimiter), cleansUp);
}

} // namespace vx::text
