#include "vx/Frontend/Parts/ConfigFile.h"

#include "vx/base/json_place.h"
#include "vx/base/names.h"
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

std::string placeIn(const std::string &path, llvm::StringRef text, size_t offset) {
  return path + ":" + textPlaceAt(text, offset).text() + ": ";
}

struct ParsedFile {
  std::shared_ptr<const std::string> text;
  llvm::json::Value value = nullptr;
};

llvm::Expected<ParsedFile> parseFile(const std::string &path) {
  llvm::Expected<std::string> text = readWholeFile(path);
  if (!text)
    return text.takeError();
  llvm::StringRef json(*text);
  json.consume_front("\xef\xbb\xbf");
  if (isTooDeep(json))
    return makeConfigError(path + ": expected values in at most " + llvm::Twine(kDeepest) + " others, got more");
  auto kept = std::make_shared<const std::string>(json.str());
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(*kept);
  if (value)
    return ParsedFile{std::move(kept), std::move(*value)};
  // "[1:2, byte=2]: Expected object key"
  const std::string message = llvm::toString(value.takeError());
  auto [place, reason] = llvm::StringRef(message).split("]: ");
  size_t offset = 0;
  if (place.rsplit("byte=").second.getAsInteger(10, offset))
    return makeConfigError(path + ": expected JSON: " + message);
  return makeConfigError(placeIn(path, *kept, offset) + "expected JSON: " + reason);
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

llvm::Expected<ConfigFile> ConfigFile::read(const std::string &path) {
  if (!llvm::sys::fs::exists(path))
    return ConfigFile(path, nullptr, "", "", {});
  llvm::Expected<ParsedFile> file = parseFile(path);
  if (!file)
    return file.takeError();
  if (llvm::json::Object *object = file->value.getAsObject())
    return ConfigFile(path, std::move(file->text), "", "", std::move(*object));
  return makeConfigError(placeIn(path, *file->text, findJsonValue(*file->text, "")) + "expected an object, got " +
                         showJson(file->value));
}

llvm::Expected<std::vector<ConfigFile>> ConfigFile::readList(const std::string &path, llvm::StringRef what) {
  llvm::Expected<ParsedFile> file = parseFile(path);
  if (!file)
    return file.takeError();
  llvm::json::Array *list = file->value.getAsArray();
  if (!list)
    return makeConfigError(placeIn(path, *file->text, findJsonValue(*file->text, "")) + "expected a list, got " +
                           showJson(file->value));
  std::vector<ConfigFile> objects;
  for (auto [number, value] : llvm::enumerate(*list)) {
    std::string pointer = jsonPointerStep(number), label = (what + " " + llvm::Twine(number) + ": ").str();
    if (!value.getAsObject())
      return makeConfigError(placeIn(path, *file->text, findJsonValue(*file->text, pointer)) + label +
                             "expected an object, got " + showJson(value));
    objects.push_back(
        ConfigFile(path, file->text, std::move(pointer), std::move(label), std::move(*value.getAsObject())));
  }
  return std::move(objects);
}

ConfigFile ConfigFile::getObject(llvm::StringRef path) const {
  const llvm::json::Object *inner = &object;
  std::string place = pointer, quoted = label;
  for (llvm::StringRef key : llvm::split(path, '.')) {
    inner = inner ? inner->getObject(key) : nullptr;
    place += jsonPointerStep(key);
    quoted += "'" + key.str() + "': ";
  }
  return ConfigFile(name, source, std::move(place), std::move(quoted), inner ? *inner : llvm::json::Object());
}

const llvm::json::Value *ConfigFile::lookup(llvm::StringRef key) const {
  readKeys.insert(key);
  const llvm::json::Value *value = object.get(key);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

std::string ConfigFile::getPrefix(std::optional<size_t> offset) const {
  return (offset && source ? placeIn(name, *source, *offset) : name + ": ") + label;
}

size_t ConfigFile::findKey(llvm::StringRef key) const {
  return source ? findJsonKey(*source, pointer + jsonPointerStep(key)) : 0;
}

void ConfigFile::setProblem(std::string message) {
  if (problem.empty())
    problem = std::move(message);
}

void ConfigFile::fail(const llvm::Twine &message) {
  const std::vector<Slip> slips = listSlips({});
  if (slips.empty())
    return setProblem(getPrefix(std::nullopt) + message.str());
  setProblem(getPrefix(findKey(slips.front().key)) + message.str() + ". '" + slips.front().key + "' is not read" +
             slips.front().meant);
}

void ConfigFile::fail(llvm::StringRef key, const llvm::Twine &want, const llvm::json::Value &got) {
  failAt(key, "expected " + want + ", got " + showJson(got));
}

void ConfigFile::failAt(llvm::StringRef key, const llvm::Twine &message) {
  const std::string text = ("'" + key + "': " + message).str();
  if (!source)
    return fail(text);
  // A key may lead into a value: "prompts.query".
  std::string place = pointer;
  if (object.get(key))
    place += jsonPointerStep(key);
  else if (object.get(key.split('.').first))
    for (llvm::StringRef step : llvm::split(key, '.'))
      place += jsonPointerStep(step);
  if (place != pointer)
    return setProblem(getPrefix(findJsonValue(*source, place)) + text);
  for (const std::string &other : listUnread({}))
    if (const std::string meant = didYouMean(other, {key.str()}); !meant.empty())
      return setProblem(getPrefix(findKey(other)) + text + ". The file has '" + other + "'" + meant);
  setProblem(getPrefix(findJsonValue(*source, pointer)) + text);
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

std::vector<std::string> ConfigFile::listUnread(llvm::ArrayRef<llvm::StringRef> unused) const {
  std::vector<std::string> unread;
  for (const auto &[key, value] : object)
    if (value.kind() != llvm::json::Value::Null && !readKeys.contains(key) &&
        !llvm::is_contained(unused, llvm::StringRef(key)))
      unread.push_back(key.str());
  llvm::sort(unread);
  return unread;
}

void ConfigFile::expectAllRead(llvm::ArrayRef<llvm::StringRef> unused, llvm::StringRef reader) {
  const std::vector<std::string> unread = listUnread(unused);
  if (unread.empty())
    return;
  std::vector<std::string> known;
  for (const auto &entry : readKeys)
    known.push_back(entry.getKey().str());
  for (llvm::StringRef key : unused)
    known.push_back(key.str());
  const std::string &key = unread.front();
  setProblem(getPrefix(findKey(key)) + "'" + key + "' is " + showJson(*object.get(key)) + ", but " + reader.str() +
             " does not read this key" + didYouMean(key, known) +
             ": it may change the results. Remove the key if it does not");
}

std::vector<ConfigFile::Slip> ConfigFile::listSlips(llvm::ArrayRef<llvm::StringRef> unused) const {
  std::vector<std::string> missing;
  for (const auto &entry : readKeys)
    if (!object.get(entry.getKey()))
      missing.push_back(entry.getKey().str());
  std::vector<Slip> slips;
  for (const std::string &key : listUnread(unused))
    if (std::string meant = didYouMean(key, missing); !meant.empty())
      slips.push_back({key, std::move(meant)});
  return slips;
}

std::vector<std::string> ConfigFile::findSlips(llvm::ArrayRef<llvm::StringRef> unused) const {
  std::vector<std::string> messages;
  for (const Slip &slip : listSlips(unused))
    messages.push_back(getPrefix(findKey(slip.key)) + "'" + slip.key + "' is not read" + slip.meant);
  return messages;
}

} // namespace vx
