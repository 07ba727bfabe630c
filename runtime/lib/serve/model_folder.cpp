#include "model_folder.h"

#include "file_access.h"

#include "vx/abi/module_header.h"
#include "vx/base/names.h"
#include "vx/base/printable.h"
#include "vx/base/regular_file.h"
#include "vx/runtime/vx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {
namespace {

namespace fs = std::filesystem;

constexpr size_t mostEntries = 10000; // of one folder
constexpr int deepest = 3;            // folders in a model's folder that are looked through

// As the tokenizers' readers know them, the one that is taken first.
constexpr std::string_view tokenizers[] = {"tokenizer.json", "vocab.txt", "tokenizer.model", "spiece.model",
                                           "sentencepiece.bpe.model"};
// What says that a model's input is text.
constexpr std::string_view textFiles[] = {"modules.json", "sentence_bert_config.json",
                                          "config_sentence_transformers.json", "tokenizer_config.json",
                                          "special_tokens_map.json"};
// What says that a folder is a model rather than a folder of models.
constexpr std::string_view modelFiles[] = {"config.json", "modules.json", "tokenizer.json", "tokenizer_config.json"};

bool hasEnding(const std::string &name, std::string_view ending) {
  return name.size() > ending.size() && name.ends_with(ending);
}

struct FolderEntry {
  std::string name;
  bool isFolder = false;
};

// A file system's own folder at the root of a volume, which only root may read.
constexpr std::string_view recovered = "lost+found";

// Names in a folder but hidden ones, in their order. False with the reason.
bool listFolder(const std::string &folder, std::vector<FolderEntry> &entries, std::string &error) {
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') || name == recovered)
      continue;
    if (entries.size() == mostEntries) {
      error = fmt::format("expected at most {} files in one folder, got more", mostEntries);
      return false;
    }
    std::error_code unused;
    entries.push_back({name, at->is_directory(unused)});
  }
  if (code) {
    error = fmt::format("cannot be read: {}", code.message());
    return false;
  }
  std::sort(entries.begin(), entries.end(), [](const FolderEntry &a, const FolderEntry &b) { return a.name < b.name; });
  return true;
}

// The place with all links followed; empty where it cannot be had.
std::string realPath(const std::string &path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? "" : real.string();
}

bool isWithin(const std::string &path, const std::string &folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

// Looks through all of a model's files: none is others' to change, no link leads out, and how many bytes they have.
class FileCheck {
public:
  explicit FileCheck(std::string root) : root(std::move(root)) {}

  // What is wrong, or nothing.
  std::string check(const std::string &path, const std::string &shown, int depth = 0) {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0)
      return fmt::format("'{}' cannot be read: {}", shown, std::strerror(errno));
    if (const std::string real = realPath(path); !root.empty() && !isWithin(real, root))
      return fmt::format("'{}' is a link out of the model folder, to '{}'", shown, real);
    const AccessVerdict verdict = judgeModelAccess(path);
    if (!verdict.refusal.empty())
      return fmt::format("'{}': {}", shown, verdict.refusal);
    if (!verdict.warning.empty() && warning.empty())
      warning = fmt::format("'{}': {}", path, verdict.warning);
    if (S_ISREG(info.st_mode))
      bytes += static_cast<uint64_t>(info.st_size);
    if (!S_ISDIR(info.st_mode) || depth == deepest || !seen.emplace(info.st_dev, info.st_ino).second)
      return "";
    std::vector<FolderEntry> entries;
    std::string wrong;
    if (!listFolder(path, entries, wrong))
      return fmt::format("'{}': {}", shown, wrong);
    for (const FolderEntry &entry : entries)
      if (wrong = check(path + "/" + entry.name, depth == 0 ? entry.name : shown + "/" + entry.name, depth + 1);
          !wrong.empty())
        return wrong;
    return "";
  }

  uint64_t bytes = 0;
  std::string warning; // the first one

private:
  const std::string root;
  std::set<std::pair<dev_t, ino_t>> seen; // a link may lead to a folder that it is in
};

bool isThere(const std::vector<FolderEntry> &entries, std::string_view name, bool isFolder = false) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const FolderEntry &entry) { return entry.isFolder == isFolder && entry.name == name; });
}

std::vector<std::string> namesWith(const std::vector<FolderEntry> &entries, std::string_view ending) {
  std::vector<std::string> names;
  for (const FolderEntry &entry : entries)
    if (!entry.isFolder && hasEnding(entry.name, ending))
      names.push_back(entry.name);
  return names;
}

// For weights that other tools read.
std::string adviceOnCompiling(std::string_view model) {
  return fmt::format("compile a model of embeddings with 'vx-compile {}', run a language model with 'vx-llm run {}'",
                     model, model);
}

// Which of the .onnx files is the model, "model.onnx" before any other; empty with the reason in `refusal`.
std::string chooseOnnx(const std::string &folder, const std::vector<FolderEntry> &entries, std::string &refusal) {
  std::vector<std::string> names = namesWith(entries, ".onnx");
  std::string prefix;
  if (names.empty() && isThere(entries, "onnx", true)) {
    std::vector<FolderEntry> inner;
    if (!listFolder(folder + "/onnx", inner, refusal))
      return "";
    names = namesWith(inner, ".onnx");
    prefix = "onnx/";
  }
  if (std::find(names.begin(), names.end(), "model.onnx") != names.end())
    return prefix + "model.onnx";
  if (names.size() == 1)
    return prefix + names.front();
  if (!names.empty()) {
    refusal = fmt::format("expected one .onnx file or a model.onnx, got {}", quoteNames(names));
    return "";
  }
  for (const auto &[ending, advice] :
       {std::pair(".gguf", adviceOnCompiling("FILE")), std::pair(".safetensors", adviceOnCompiling("FOLDER")),
        std::pair(".bin", std::string("export the model to ONNX")),
        std::pair(".pt", std::string("export the model to ONNX"))})
    if (const std::vector<std::string> others = namesWith(entries, ending); !others.empty()) {
      refusal = fmt::format("no .onnx file: '{}' is of a format that is not served: {}", others.front(), advice);
      return "";
    }
  refusal = "no .onnx file";
  return "";
}

// A name that cannot be written as it is is no name to ask for: the model is refused by what can be written of it.
void setName(ModelPlace &place, const std::string &name) {
  place.name = printableLine(name);
  if (place.name != name)
    place.refusal = "expected a name of UTF-8 without control characters";
}

// Why a module that can be loaded is not served; empty: it is.
std::string moduleRefusal(const Module &module) {
  for (const vx_asset_info &asset : module.assets())
    if (asset.name == std::string_view("language_model.json"))
      return "is a language model, and vx-serve serves none yet: run it with 'vx-llm run FILE' or 'vx-llm chat FILE'";
  for (const vx_function_info &function : module.functions())
    for (size_t i = 0; i < function.symbol_count; ++i)
      if (function.symbols[i].instance)
        return fmt::format("has the size '{}', which is bound when an instance is made, and vx-serve binds none",
                           function.symbols[i].name);
  return "";
}

// What is wrong with a module that cannot be loaded is said when it is loaded, except that it is no module.
std::string checkModule(const std::string &path) {
  FileError error;
  const int descriptor = openRegularFile(path, error);
  if (descriptor < 0)
    return error.text;
  char magic[8] = {};
  const ssize_t got = ::read(descriptor, magic, sizeof(magic));
  ::close(descriptor);
  if (got != sizeof(magic) || std::memcmp(magic, VX_MODULE_MAGIC, sizeof(magic)) != 0)
    return "is no module: it does not begin with " VX_MODULE_MAGIC;
  try {
    return moduleRefusal(Module(path));
  } catch (const vx::Error &) {
    return "";
  }
}

// True if the folder is a module that somebody has put on a volume: it has no .onnx file, and .vxm files.
bool takeModule(ModelPlace &place, const std::vector<FolderEntry> &entries) {
  const std::vector<std::string> modules = namesWith(entries, ".vxm");
  if (modules.empty() || !namesWith(entries, ".onnx").empty() || isThere(entries, "onnx", true))
    return false;
  if (modules.size() > 1) {
    place.refusal = fmt::format("expected one .vxm file in the folder, got {}: name the file", quoteNames(modules));
    return true;
  }
  place.kind = ModelKind::module;
  place.path += "/" + modules.front();
  place.refusal = checkModule(place.path);
  return true;
}

void lookAtFolder(ModelPlace &place) {
  std::vector<FolderEntry> entries;
  if (!listFolder(place.path, entries, place.refusal) || takeModule(place, entries))
    return;
  for (std::string_view name : tokenizers)
    if (place.tokenizer.empty() && isThere(entries, name))
      place.tokenizer = name;
  place.onnx = chooseOnnx(place.path, entries, place.refusal);
  if (place.onnx.empty() || !place.tokenizer.empty())
    return;
  bool isOfText = isThere(entries, "1_Pooling", true);
  for (std::string_view name : textFiles)
    isOfText |= isThere(entries, name);
  if (isOfText)
    place.refusal = "no tokenizer.json (nor vocab.txt, tokenizer.model, spiece.model, sentencepiece.bpe.model)";
}

std::optional<ModelKind> kindOfFile(const std::string &name) {
  if (hasEnding(name, ".vxm"))
    return ModelKind::module;
  return hasEnding(name, ".onnx") ? std::optional(ModelKind::onnx) : std::nullopt;
}

// Whether a folder is a model, and not only a folder of some.
bool isModelFolder(const std::vector<FolderEntry> &entries) {
  bool is = !namesWith(entries, ".onnx").empty() || isThere(entries, "onnx", true) ||
            !namesWith(entries, ".safetensors").empty() || !namesWith(entries, ".gguf").empty();
  for (std::string_view name : modelFiles)
    is |= isThere(entries, name);
  return is;
}

void findIn(const std::string &folder, const std::string &root, const std::string &prefix,
            std::vector<ModelPlace> &places, std::string &refusal) {
  std::vector<FolderEntry> entries;
  if (!listFolder(folder, entries, refusal))
    return;
  for (const auto &[name, isFolder] : entries) {
    const std::string path = folder + "/" + name;
    if (isFolder) {
      std::vector<FolderEntry> inner;
      std::string unused;
      const bool isReadable = listFolder(path, inner, unused);
      if (isReadable && prefix.empty() && !isModelFolder(inner)) {
        // Nothing is read through a link that leads elsewhere.
        if (isWithin(realPath(path), root))
          findIn(path, root, name + "/", places, unused);
        continue;
      }
      if (isReadable && !isModelFolder(inner))
        continue;
    } else if (!kindOfFile(name) && !hasEnding(name, ".gguf")) {
      continue;
    }
    ModelPlace &place = places.emplace_back(lookAtModel(path, root));
    const std::string own = place.name;
    place.name = printableLine(prefix) + own;
    if (place.refusal.empty())
      setName(place, prefix + own);
  }
}

} // namespace

std::string_view modelKindName(ModelKind kind) {
  switch (kind) {
  case ModelKind::module:
    return "module";
  case ModelKind::onnx:
    return "onnx";
  case ModelKind::folder:
    break;
  }
  return "folder";
}

ModelPlace lookAtModel(const std::string &path, const std::string &root) {
  ModelPlace place;
  place.path = path;
  const fs::path name = fs::path(path).filename();
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    setName(place, name.stem().string());
    place.refusal = fmt::format("'{}' cannot be opened: {}", path, std::strerror(errno));
    return place;
  }
  const bool isFolder = S_ISDIR(info.st_mode);
  setName(place, isFolder ? name.string() : name.stem().string());
  if (!place.refusal.empty())
    return place;
  place.kind = isFolder ? ModelKind::folder : kindOfFile(name.string()).value_or(ModelKind::module);
  FileCheck files(root);
  place.refusal = files.check(path, name.string());
  place.bytes = files.bytes;
  place.warning = files.warning;
  if (!place.refusal.empty())
    return place;
  if (isFolder)
    lookAtFolder(place);
  else if (!kindOfFile(name.string()))
    place.refusal = fmt::format("expected a .vxm or .onnx file, or a folder, got '{}'{}", name.string(),
                                hasEnding(name.string(), ".gguf") ? ": " + adviceOnCompiling("FILE") : "");
  else if (place.kind == ModelKind::module)
    place.refusal = checkModule(path);
  return place;
}

std::vector<ModelPlace> findModels(const std::string &folder, std::string &refusal, std::string &warning) {
  struct stat info;
  const std::string root = realPath(folder);
  if (root.empty() || ::stat(folder.c_str(), &info) != 0) {
    refusal = fmt::format("'{}' cannot be opened: {}", folder, std::strerror(errno ? errno : ENOENT));
    return {};
  }
  if (!S_ISDIR(info.st_mode)) {
    refusal = fmt::format("'{}' is {}, expected a folder", folder, fileKind(info.st_mode));
    return {};
  }
  const AccessVerdict verdict = judgeModelAccess(folder);
  if (!verdict.refusal.empty()) {
    refusal = fmt::format("'{}': {}", folder, verdict.refusal);
    return {};
  }
  if (!verdict.warning.empty())
    warning = fmt::format("'{}': {}", folder, verdict.warning);
  std::vector<ModelPlace> places;
  findIn(folder, root, "", places, refusal);
  std::sort(places.begin(), places.end(), [](const ModelPlace &a, const ModelPlace &b) {
    return std::tie(a.name, a.path) < std::tie(b.name, b.path);
  });
  return places;
}

} // namespace vx::serve
