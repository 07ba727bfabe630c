#include "vx/Frontend/Parts/ConfigFile.h"

#include "vx/base/regular_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <unistd.h>

namespace vx {

namespace {

/// No file of JSON here is larger; a vocabulary of a million words has some 60 MB.
constexpr uint64_t kLargestFile = uint64_t(1) << 30;

/// LLVM's parser calls itself for each value in a value.
constexpr unsigned kDeepest = 64;

bool isTooDeep(llvm::StringRef text) {
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      i += c == '\\';
      isString = c != '"';
    } else if (c == '"') {
      isString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest)
        return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> parseFile(const std::string &path) {
  llvm::Expected<std::string> text = readWholeFile(path);
  if (!text)
    return text.takeError();
  llvm::StringRef json(*text);
  json.consume_front("\xef\xbb\xbf");
  if (isTooDeep(json))
    return makeConfigError(path + ": expected values in at most " + llvm::Twine(kDeepest) + " others, got more");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return makeConfigError(path + ": expected JSON: " + llvm::toString(value.takeError()));
  return value;
}

} // namespace

std::string joinPath(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

llvm::Error makeConfigError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::string> readWholeFile(const std::string &path) {
  FileError reason;
  int file = openRegularFile(path, reason);
  if (file < 0)
    return makeConfigError(path + ": it " + reason.text);
  auto buffer = llvm::MemoryBuffer::getOpenFile(llvm::sys::fs::convertFDToNativeFile(file), path, /*FileSize=*/-1,
                                                /*RequiresNullTerminator=*/false);
  ::close(file);
  if (!buffer)
    return makeConfigError(path + ": cannot be read: " + buffer.getError().message());
  if ((*buffer)->getBufferSize() > kLargestFile)
    return makeConfigError(path + ": expected at most " + llvm::Twine(kLargestFile) + " bytes, got " +
                           llvm::Twine((*buffer)->getBufferSize()));
  return (*buffer)->getBuffer().str();
}

std::string showJson(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << value;
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

llvm::Expected<llvm::json::Array> readJsonArray(const std::string &path) {
  llvm::Expected<llvm::json::Value> value = parseFile(path);
  if (!value)
    return value.takeError();
  if (llvm::json::Array *array = value->getAsArray())
    return std::move(*array);
  return makeConfigError(path + ": expected a list, got " + showJson(*value));
}

llvm::Expected<ConfigFile> ConfigFile::read(const std::string &path) {
  if (!llvm::sys::fs::exists(path))
    return ConfigFile(path);
  llvm::Expected<llvm::json::Value> value = parseFile(path);
  if (!value)
    return value.takeError();
  if (llvm::json::Object *object = value->getAsObject())
    return ConfigFile(path, std::move(*object));
  return makeConfigError(path + ": expected an object, got " + showJson(*value));
}

const llvm::json::Value *ConfigFile::lookup(llvm::StringRef key) const {
  readKeys.insert(key);
  const llvm::json::Value *value = object.get(key);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

void ConfigFile::fail(const llvm::Twine &message) {
  if (problem.empty())
    problem = (name + ": " + message).str();
}

void ConfigFile::fail(llvm::StringRef key, const llvm::Twine &want, const llvm::json::Value &got) {
  fail("'" + key + "': expected " + want + ", got " + showJson(got));
}

llvm::Error ConfigFile::takeError() {
  return problem.empty() ? llvm::Error::success() : makeConfigError(std::exchange(problem, std::string()));
}

std::optional<std::string> ConfigFile::getString(llvm::StringRef key) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return std::nullopt;
  if (std::optional<llvm::StringRef> text = value->getAsString())
    return text->str();
  return fail(key, "a string", *value), std::nullopt;
}

std::optional<bool> ConfigFile::getBool(llvm::StringRef key) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return std::nullopt;
  if (std::optional<bool> answer = value->getAsBoolean())
    return answer;
  return fail(key, "true or false", *value), std::nullopt;
}

std::optional<int64_t> ConfigFile::getCount(llvm::StringRef key) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return std::nullopt;
  if (std::optional<int64_t> number = value->getAsInteger(); number && *number >= 0)
    return number;
  // "No limit" is written as 1e30.
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 9.2e18 && std::isfinite(*number))
    return INT64_MAX;
  return fail(key, "a whole number of 0 or more", *value), std::nullopt;
}

std::optional<double> ConfigFile::getNumber(llvm::StringRef key) {
  const llvm::json::Value *value = lookup(key);
  if (!value)
    return std::nullopt;
  if (std::optional<double> number = value->getAsNumber(); number && std::isfinite(*number))
    return number;
  return fail(key, "a number", *value), std::nullopt;
}

void ConfigFile::expectBool(llvm::StringRef key, bool expected) {
  if (getBool(key).value_or(expected) != expected)
    fail(key, expected ? "true" : "false", *lookup(key));
}

void ConfigFile::expectString(llvm::StringRef key, llvm::StringRef expected) {
  if (getString(key).value_or(expected.str()) != expected)
    fail(key, "\"" + expected + "\"", *lookup(key));
}

void ConfigFile::expectAllRead(llvm::ArrayRef<llvm::StringRef> unused, llvm::StringRef reader) {
  std::vector<llvm::StringRef> unknown;
  for (const auto &[key, value] : object)
    if (value.kind() != llvm::json::Value::Null && !readKeys.contains(key) &&
        !llvm::is_contained(unused, llvm::StringRef(key)))
      unknown.push_back(key);
  llvm::sort(unknown);
  if (!unknown.empty())
    fail("'" + unknown.front() + "' is " + showJson(*object.get(unknown.front())) + ", but " + reader +
         " does not read this key: it may change the results. Remove the key if it does not");
}

} // namespace vx
