#include "api_keys.h"

#include "file_access.h"
#include "file_text.h"

#include "vx/base/names.h"
#include "vx/base/printable.h"
#include "vx/base/regular_file.h"

#include <fmt/format.h>

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <unistd.h>

namespace vx::serve {
namespace {

constexpr size_t mostKeysFileBytes = 1 << 20;

using Digest = std::array<uint8_t, 32>;

Digest digestOf(std::string_view text) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char *>(text.data()), text.size(), digest.data());
  return digest;
}

int hexDigit(char letter) {
  if (letter >= '0' && letter <= '9')
    return letter - '0';
  if (letter >= 'a' && letter <= 'f')
    return letter - 'a' + 10;
  return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

std::optional<Digest> parseDigest(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.size())
    return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = hexDigit(text[2 * i]), low = hexDigit(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    digest[i] = static_cast<uint8_t>(16 * high + low);
  }
  return digest;
}

// A key's name goes into logs and metrics.
bool isKeyName(std::string_view name) {
  return name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
         });
}

struct Word {
  std::string_view text;
  size_t column = 0; // from 1 on
};

std::vector<Word> wordsOf(std::string_view line) {
  static constexpr std::string_view blanks = " \t\r";
  std::vector<Word> words;
  for (size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back({line.substr(at, end - at), at + 1});
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

class Parser {
public:
  Parser(std::string_view text, const std::string &path) : text(text), path(path) {}

  ApiKeysReading run() {
    size_t number = 1;
    for (size_t begin = 0; begin < text.size(); ++number) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view whole = text.substr(begin, end - begin);
      parseLine(wordsOf(whole.substr(0, whole.find('#'))), number);
      begin = end + 1;
    }
    if (keys.empty() && reading.messages.empty())
      reading.messages.push_back(
          {ConfigurationMessage::Kind::error, {Origin::Kind::file, path}, "expected a key, got none"});
    if (reading.messages.empty())
      reading.keys.emplace(std::move(keys));
    return std::move(reading);
  }

private:
  void parseLine(const std::vector<Word> &words, size_t line) {
    if (words.empty())
      return;
    const auto fail = [&](const Word &word, const std::string &message) {
      reading.messages.push_back({ConfigurationMessage::Kind::error,
                                  {Origin::Kind::file, fmt::format("{}:{}:{}", path, line, word.column)},
                                  printableLine(message)});
    };
    // The first word may be a key that somebody wrote in place of its hash: it is not repeated.
    const std::optional<Digest> digest = parseDigest(words[0].text);
    if (!digest)
      fail(words[0],
           fmt::format("expected the SHA-256 of a key, 64 hexadecimal digits, got a word of {}", words[0].text.size()));
    if (words.size() != 3)
      return fail(words.back(), fmt::format("expected a hash, a name and a role, got {} word{}", words.size(),
                                            words.size() == 1 ? "" : "s"));
    if (!isKeyName(words[1].text))
      fail(words[1], fmt::format("expected a name of at most 64 letters, digits and ._-, got '{}'", words[1].text));
    const bool isAdmin = words[2].text == "admin";
    if (!isAdmin && words[2].text != "user")
      fail(words[2], fmt::format("expected the role user or admin, got '{}'{}", words[2].text,
                                 didYouMean(words[2].text, {"user", "admin"})));
    for (const auto &[name, first] : names)
      if (name == words[1].text)
        fail(words[1], fmt::format("'{}' is given twice, first in line {}", name, first));
    for (const ApiKey &key : keys)
      if (digest && key.digest == *digest)
        fail(words[0], fmt::format("this is the key of '{}' too", key.name));
    names.emplace_back(words[1].text, line);
    keys.push_back({std::string(words[1].text), isAdmin ? Role::admin : Role::user, digest.value_or(Digest{})});
  }

  const std::string_view text;
  const std::string &path;
  std::vector<std::pair<std::string, size_t>> names;
  std::vector<ApiKey> keys;
  ApiKeysReading reading;
};

} // namespace

const ApiKey *ApiKeys::find(std::string_view presented) const {
  const Digest digest = digestOf(presented);
  // Every key is compared, and nothing depends on which it was.
  size_t found = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t isSame = CRYPTO_memcmp(keys[i].digest.data(), digest.data(), digest.size()) == 0;
    found |= (i + 1) & (size_t(0) - isSame);
  }
  return found ? &keys[found - 1] : nullptr;
}

bool ApiKeys::hasAdmin() const {
  return std::any_of(keys.begin(), keys.end(), [](const ApiKey &key) { return key.role == Role::admin; });
}

ApiKeysReading parseApiKeys(std::string_view text, const std::string &path) { return Parser(text, path).run(); }

ApiKeysReading readApiKeys(const std::string &path) {
  ApiKeysReading reading;
  const auto fail = [&](const std::string &message) {
    reading.messages.push_back({ConfigurationMessage::Kind::error, {Origin::Kind::file, path}, message});
  };
  FileError error;
  const int descriptor = openRegularFile(path, error);
  if (descriptor < 0) {
    fail(error.text);
    return reading;
  }
  std::string text, wrong;
  FileAccess access;
  AccessVerdict verdict;
  if (readFileAccess(descriptor, access, wrong)) {
    verdict = judgeKeyAccess(access, ProcessUser::current());
    wrong = verdict.refusal;
  }
  if (wrong.empty())
    wrong = readText(descriptor, mostKeysFileBytes, text);
  ::close(descriptor);
  if (!wrong.empty()) {
    fail(wrong);
    return reading;
  }
  reading = parseApiKeys(text, path);
  if (!verdict.warning.empty())
    reading.messages.push_back(
        {ConfigurationMessage::Kind::warning, {Origin::Kind::file, path}, std::move(verdict.warning)});
  return reading;
}

} // namespace vx::serve
