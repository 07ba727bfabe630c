#include "registry_file.h"

#include "failure.h"
#include "file_hash.h"
#include "file_text.h"

#include "vx/base/json_place.h"
#include "vx/base/json_text.h"
#include "vx/base/names.h"
#include "vx/base/printable.h"
#include "vx/base/regular_file.h"
#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>

#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t mostRegistryBytes = size_t(64) << 20;
constexpr int deepestJson = 8;
constexpr int deepestFolder = 3; // as a model's folder is looked through

int64_t timeOf(const struct stat &info) {
  return int64_t(info.st_mtim.tv_sec) * 1'000'000'000 + int64_t(info.st_mtim.tv_nsec);
}

bool isInside(const std::string &path) {
  const fs::path parts(path);
  return !path.empty() && parts.is_relative() &&
         std::none_of(parts.begin(), parts.end(), [](const fs::path &part) { return part == ".." || part == "."; });
}

bool isHash(const std::string &text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// The text of registry.json. Errors begin with its name, and a line and column of it.
class Source {
public:
  explicit Source(std::string_view text) : text(text) {}

  template <typename... Arguments>
  Error errorAt(size_t offset, fmt::format_string<Arguments...> format, Arguments &&...arguments) const {
    return dataError("{}:{}: {}", RegistryFileName, textPlaceAt(text, offset).text(),
                     fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  size_t keyAt(const std::string &pointer) const { return findJsonKey(text, pointer); }
  size_t valueAt(const std::string &pointer) const { return findJsonValue(text, pointer); }

private:
  const std::string_view text;
};

// An object whose keys are known, each of its own type. Throws the message.
class Reader {
public:
  // `path` is "models[3]", and `pointer` the same as a JSON pointer.
  Reader(const Source &source, const Json &object, std::string path, std::string pointer)
      : source(source), object(object), path(std::move(path)), pointer(std::move(pointer)) {
    if (!object.is_object())
      throw source.errorAt(source.valueAt(this->pointer), "{}expected an object, got {}", at(""), show(object));
  }
  void expectKeys(const std::vector<std::string> &known) const {
    for (const auto &[key, value] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw source.errorAt(source.keyAt(pointer + jsonPointerStep(key)), "{}unknown key '{}'{}", at(""),
                             printableLine(key), didYouMean(key, known));
  }
  const Json &get(const char *key, Json::value_t type, const char *expected) const {
    const auto found = object.find(key);
    if (found == object.end())
      throw source.errorAt(source.valueAt(pointer), "{}expected the key '{}'", at(""), key);
    if (found->type() != type)
      throw wrong(key, "expected {}, got {}", expected, show(*found));
    return *found;
  }
  std::string text(const char *key) const { return get(key, Json::value_t::string, "a string").get<std::string>(); }
  int64_t time(const char *key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer())
      (void)get(key, Json::value_t::number_integer, "a whole number");
    if (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX)
      throw wrong(key, "expected at most {}, got {}", INT64_MAX, found->get<uint64_t>());
    return found->get<int64_t>();
  }
  uint64_t number(const char *key) const {
    return get(key, Json::value_t::number_unsigned, "a number of 0 or more").get<uint64_t>();
  }
  // The objects of a list, each of which `read` takes.
  template <typename Function>
  void list(const char *key, Function read) const {
    const Json &elements = get(key, Json::value_t::array, "a list");
    for (size_t i = 0; i < elements.size(); ++i)
      read(Reader(source, elements[i], fmt::format("{}[{}]", pathOf(key), i),
                  pointer + jsonPointerStep(key) + jsonPointerStep(i)));
  }
  template <typename... Arguments>
  Error wrong(const char *key, fmt::format_string<Arguments...> format, Arguments &&...arguments) const {
    return source.errorAt(source.valueAt(pointer + jsonPointerStep(key)), "{}{}", at(key),
                          fmt::format(format, std::forward<Arguments>(arguments)...));
  }

private:
  std::string pathOf(const std::string &key) const {
    return path.empty() || key.empty() ? path + key : path + "." + key;
  }
  // "models[3].name: "
  std::string at(const std::string &key) const {
    const std::string place = pathOf(key);
    return place.empty() ? "" : place + ": ";
  }
  static std::string show(const Json &value) {
    if (value.is_object() || value.is_array())
      return value.is_object() ? "an object" : "a list";
    const std::string text = printableLine(jsonText(value));
    return text.size() <= 60 ? text : value.type_name();
  }

  const Source &source;
  const Json &object;
  const std::string path, pointer;
};

RegistryFile::File readFile(const Reader &file) {
  file.expectKeys({"path", "bytes", "modified", "sha256"});
  RegistryFile::File result{file.text("path"), file.number("bytes"), file.time("modified"), file.text("sha256")};
  if (!isInside(result.path))
    throw file.wrong("path", "expected a path within the model folder, got '{}'", printableLine(result.path));
  if (!isHash(result.sha256))
    throw file.wrong("sha256", "expected 64 digits of 0 to 9 and a to f, got '{}'", printableLine(result.sha256));
  return result;
}

RegistryFile::Model readModel(const Reader &model) {
  model.expectKeys({"name", "kind", "bytes", "files", "functions"});
  RegistryFile::Model result;
  result.name = model.text("name");
  const std::string kind = model.text("kind");
  std::vector<std::string> kinds;
  for (ModelKind one : {ModelKind::module, ModelKind::onnx, ModelKind::folder}) {
    kinds.emplace_back(modelKindName(one));
    if (kind == kinds.back())
      result.kind = one;
  }
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw model.wrong("kind", "expected {}, got '{}'{}", joinWords(kinds, "or"), printableLine(kind),
                      didYouMean(kind, kinds));
  model.number("bytes");
  model.list("files", [&](const Reader &file) { result.files.push_back(readFile(file)); });
  return result;
}

RegistryFile readDocument(const std::string &text) {
  const Source source(text);
  Json json;
  try {
    json = Json::parse(text, [](int depth, Json::parse_event_t, Json &) {
      if (depth > deepestJson)
        throw dataError("{}: expected values in at most {} others, got more", RegistryFileName, deepestJson);
      return true;
    });
  } catch (const Json::exception &error) {
    const auto *syntax = dynamic_cast<const Json::parse_error *>(&error);
    const JsonMistake mistake = findJsonMistake(text, error.what(), syntax ? syntax->byte : 0);
    throw source.errorAt(mistake.offset, "expected JSON: {}", printableLine(mistake.reason));
  }
  const std::vector<std::string> known = {"version", "models"};
  const Reader root(source, json, "", "");
  if (!json.contains("version"))
    root.expectKeys(known);
  if (const uint64_t version = root.number("version"); version != 1)
    throw root.wrong("version", "expected 1, got {}", version);
  root.expectKeys(known);
  RegistryFile registry;
  root.list("models", [&](const Reader &model) { registry.models.push_back(readModel(model)); });
  return registry;
}

std::string readWhole(const std::string &path, std::string &text) {
  FileError reason;
  const int file = openRegularFile(path, reason);
  if (file < 0)
    return reason.number == ENOENT ? "" : reason.text;
  std::string error = readText(file, mostRegistryBytes, text);
  ::close(file);
  return error;
}

// Paths within `folder` of all of a model's files but hidden ones.
void collectFiles(const fs::path &folder, const fs::path &path, int depth, std::vector<std::string> &files) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    files.push_back(path.lexically_relative(folder).string());
    return;
  }
  if (depth > deepestFolder)
    return;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (!entry->path().filename().string().starts_with('.'))
      collectFiles(folder, entry->path(), depth + 1, files);
}

// Of a model: the file that it is, and those beside an .onnx file whose names begin as its own does.
std::vector<std::string> filesOf(const std::string &given, const ModelPlace &model) {
  const fs::path folder = given.ends_with('/') ? fs::path(given).parent_path() : fs::path(given);
  std::vector<std::string> files;
  collectFiles(folder, model.path, 0, files);
  if (model.kind == ModelKind::onnx) {
    const fs::path own(model.path);
    std::error_code error;
    for (fs::directory_iterator entry(own.parent_path(), error), end; !error && entry != end; entry.increment(error))
      if (const std::string name = entry->path().filename().string();
          entry->is_regular_file(error) && name != own.filename() && name.starts_with(own.stem().string()) &&
          !name.ends_with(".vxm") && !name.ends_with(".onnx"))
        files.push_back(entry->path().lexically_relative(folder).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The inputs and outputs of a module's functions; null for a model that has not been compiled.
Json functionsOf(const ModelPlace &model) {
  if (model.kind != ModelKind::module)
    return nullptr;
  Json functions = Json::array();
  const Module module(model.path);
  for (const vx_function_info &function : module.functions()) {
    Json inputs = Json::array(), outputs = Json::array();
    const auto describe = [](const vx_argument_info &argument) {
      Json dims = Json::array();
      for (uint32_t i = 0; i < argument.rank; ++i)
        dims.push_back(argument.dims[i].size >= 0 ? Json(argument.dims[i].size) : Json(argument.dims[i].expression));
      return Json{{"name", argument.name}, {"type", vx_element_type_name(argument.element_type)}, {"dims", dims}};
    };
    for (size_t i = 0; i < function.input_count; ++i)
      inputs.push_back(describe(function.inputs[i]));
    for (size_t i = 0; i < function.output_count; ++i)
      outputs.push_back(describe(function.outputs[i]));
    functions.push_back({{"name", function.name}, {"inputs", inputs}, {"outputs", outputs}});
  }
  return functions;
}

// The hash of a file, which is read again only if its size or time has changed since this process read it.
std::string hashOnce(const std::string &path, const struct stat &info, std::string &error) {
  using Key = std::tuple<std::string, int64_t, int64_t>;
  static std::mutex lock;
  static std::map<Key, std::string> known;
  const Key key(path, int64_t(info.st_size), timeOf(info));
  {
    std::lock_guard guard(lock);
    if (const auto found = known.find(key); found != known.end())
      return found->second;
  }
  std::string hash = hashFile(path, error);
  if (hash.empty())
    return hash;
  std::lock_guard guard(lock);
  return known[key] = std::move(hash);
}

// The difference of a file, or nothing.
std::string compareFile(const std::string &folder, const RegistryFile::File &file) {
  const std::string path = folder + "/" + file.path, shown = printableLine(file.path);
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return fmt::format("'{}': expected a file of {} bytes, got none: {}", shown, file.bytes, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return fmt::format("'{}': expected a file of {} bytes, got {}", shown, file.bytes, fileKind(info.st_mode));
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (bytes == file.bytes && timeOf(info) == file.modified)
    return "";
  if (bytes != file.bytes)
    return fmt::format("'{}': expected {} bytes, got {}", shown, file.bytes, bytes);
  std::string error;
  const std::string hash = hashOnce(path, info, error);
  if (hash.empty())
    return fmt::format("'{}' {}", shown, error);
  return hash == file.sha256 ? "" : fmt::format("'{}': expected the SHA-256 {}, got {}", shown, file.sha256, hash);
}

} // namespace

RegistryFile readRegistryFile(const std::string &folder) {
  RegistryFile registry;
  std::string text;
  if (const std::string error = readWhole(folder + "/" + RegistryFileName, text); !error.empty())
    registry.refusal = fmt::format("{}: {}", RegistryFileName, error);
  if (text.empty() || !registry.refusal.empty())
    return registry;
  try {
    return readDocument(text);
  } catch (const Error &error) {
    registry.refusal = error.what();
  }
  return registry;
}

Json describeRegistry(const std::string &folder, std::span<const ModelPlace> models, std::vector<std::string> &notes) {
  Json list = Json::array();
  for (const ModelPlace &model : models) {
    Json files = Json::array();
    uint64_t all = 0;
    for (const std::string &file : filesOf(folder, model)) {
      const std::string path = folder + "/" + file;
      struct stat before, after;
      std::string error;
      if (::stat(path.c_str(), &before) != 0)
        throw ioError("{}: {}", path, std::strerror(errno));
      const std::string hash = hashFile(path, error);
      if (hash.empty())
        throw ioError("{}: {}", path, error);
      if (::stat(path.c_str(), &after) != 0 || timeOf(before) != timeOf(after) || before.st_size != after.st_size)
        throw ioError("{}: changed while it was read: scan again", path);
      files.push_back({{"path", file},
                       {"bytes", static_cast<uint64_t>(after.st_size)},
                       {"modified", timeOf(after)},
                       {"sha256", hash}});
      all += static_cast<uint64_t>(after.st_size);
    }
    Json functions;
    try {
      functions = functionsOf(model);
    } catch (const vx::Error &error) {
      notes.push_back(fmt::format("model '{}': {}", model.name, error.what()));
    }
    list.push_back({{"name", model.name},
                    {"kind", modelKindName(model.kind)},
                    {"bytes", all},
                    {"files", std::move(files)},
                    {"functions", std::move(functions)}});
  }
  return {{"version", 1}, {"models", std::move(list)}};
}

std::vector<std::string> compareWithRegistry(const std::string &folder, const RegistryFile &registry,
                                             std::span<const ModelPlace> models) {
  std::vector<std::string> lines;
  if (!registry.refusal.empty())
    return {registry.refusal};
  for (const RegistryFile::Model &model : registry.models) {
    const bool isThere =
        std::any_of(models.begin(), models.end(), [&](const ModelPlace &place) { return place.name == model.name; });
    if (!isThere) {
      lines.push_back(fmt::format("{}: model '{}' is not in the folder; 'vx-models scan --write' makes the file anew",
                                  RegistryFileName, printableLine(model.name)));
      continue;
    }
    for (const RegistryFile::File &file : model.files)
      if (const std::string line = compareFile(folder, file); !line.empty())
        lines.push_back(fmt::format("{}: model '{}': {}", RegistryFileName, printableLine(model.name), line));
  }
  return lines;
}

} // namespace vx::serve
