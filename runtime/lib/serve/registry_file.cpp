#include "registry_file.h"

#include "failure.h"
#include "file_hash.h"
#include "file_text.h"

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

// An object whose keys are known, each of its own type. Throws the message.
class Reader {
public:
  Reader(const Json &object, std::string path) : object(object), path(std::move(path)) {
    if (!object.is_object())
      throw dataError("{}expected an object, got {}", at(""), object.type_name());
  }
  void expectKeys(const std::vector<std::string> &known) const {
    for (const auto &[key, value] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw dataError("{}unknown key '{}'{}", at(""), printableLine(key), didYouMean(key, known));
  }
  const Json &get(const char *key, Json::value_t type, const char *name) const {
    const auto found = object.find(key);
    if (found == object.end())
      throw dataError("{}expected the key '{}'", at(""), key);
    if (found->type() != type)
      throw dataError("{}expected {}, got {}", at(key), name, found->type_name());
    return *found;
  }
  std::string text(const char *key) const { return get(key, Json::value_t::string, "a string").get<std::string>(); }
  int64_t time(const char *key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer())
      (void)get(key, Json::value_t::number_integer, "a whole number");
    if (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX)
      throw dataError("{}expected at most {}, got {}", at(key), INT64_MAX, found->get<uint64_t>());
    return found->get<int64_t>();
  }
  uint64_t number(const char *key) const {
    return get(key, Json::value_t::number_unsigned, "a number of 0 or more").get<uint64_t>();
  }
  const Json &list(const char *key) const { return get(key, Json::value_t::array, "a list"); }
  // "models[3].name: "
  std::string at(const std::string &key) const {
    const std::string place = path.empty() || key.empty() ? path + key : path + "." + key;
    return place.empty() ? "" : place + ": ";
  }

private:
  const Json &object;
  const std::string path;
};

RegistryFile::File readFile(const Json &json, const std::string &path) {
  const Reader file(json, path);
  file.expectKeys({"path", "bytes", "modified", "sha256"});
  RegistryFile::File result{file.text("path"), file.number("bytes"), file.time("modified"), file.text("sha256")};
  if (!isInside(result.path))
    throw dataError("{}expected a path within the model folder, got '{}'", file.at("path"), printableLine(result.path));
  if (!isHash(result.sha256))
    throw dataError("{}expected 64 digits of 0 to 9 and a to f, got '{}'", file.at("sha256"),
                    printableLine(result.sha256));
  return result;
}

RegistryFile::Model readModel(const Json &json, const std::string &path) {
  const Reader model(json, path);
  model.expectKeys({"name", "kind", "bytes", "files", "functions"});
  RegistryFile::Model result;
  result.name = model.text("name");
  const std::string kind = model.text("kind");
  bool isKnown = false;
  for (ModelKind one : {ModelKind::module, ModelKind::onnx, ModelKind::folder})
    if (kind == modelKindName(one)) {
      result.kind = one;
      isKnown = true;
    }
  if (!isKnown)
    throw dataError("{}expected module, onnx or folder, got '{}'", model.at("kind"), printableLine(kind));
  model.number("bytes");
  const Json &files = model.list("files");
  for (size_t i = 0; i < files.size(); ++i)
    result.files.push_back(readFile(files[i], fmt::format("{}.files[{}]", path, i)));
  return result;
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
  const auto refuse = [&](const std::string &reason) {
    registry.models.clear();
    registry.refusal = fmt::format("{}: {}", RegistryFileName, reason);
  };
  std::string text;
  if (const std::string error = readWhole(folder + "/" + RegistryFileName, text); !error.empty()) {
    refuse(error);
    return registry;
  }
  if (text.empty())
    return registry;
  try {
    const Json json = Json::parse(text, [](int depth, Json::parse_event_t, Json &) {
      if (depth > deepestJson)
        throw dataError("expected values in at most {} others, got more", deepestJson);
      return true;
    });
    const Reader root(json, "");
    if (const uint64_t version = root.number("version"); version != 1)
      throw dataError("version: expected 1, got {}", version);
    root.expectKeys({"version", "models"});
    const Json &models = root.list("models");
    for (size_t i = 0; i < models.size(); ++i)
      registry.models.push_back(readModel(models[i], fmt::format("models[{}]", i)));
  } catch (const Json::exception &error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 9: ..."
    const std::string_view what = error.what();
    const size_t begin = what.find("line ");
    refuse(
        fmt::format("expected JSON: {}", printableLine(std::string(begin == what.npos ? what : what.substr(begin)))));
  } catch (const Error &error) {
    refuse(error.what());
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
