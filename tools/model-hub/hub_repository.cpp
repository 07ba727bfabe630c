#include "hub_repository.h"

#include "tool_error.h"

#include "vx/base/names.h"
#include "vx/base/printable.h"
#include "vx/base/utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::tools {
namespace {

constexpr size_t mostPath = 1024, mostFiles = 100'000;
constexpr int deepestJson = 16;

bool isName(std::string_view name) {
  return !name.empty() && name.size() <= 96 && name != "." && name != ".." &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == name.npos;
}

bool isHex(const std::string &text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Read beside a model by vx-compile.
constexpr std::string_view wantedNames[] = {"config.json",
                                            "modules.json",
                                            "config_sentence_transformers.json",
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "special_tokens_map.json",
                                            "vocab.txt",
                                            "tokenizer.model",
                                            "spiece.model",
                                            "sentencepiece.bpe.model"};

bool isBeside(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  const std::string_view folder = slash == path.npos ? "" : path.substr(0, slash);
  // "1_Pooling", "2_Dense": a number and a module of sentence-transformers.
  const bool isModule = !folder.empty() && folder.find('/') == folder.npos && folder[0] >= '0' && folder[0] <= '9' &&
                        folder.find('_') != folder.npos;
  if (isModule)
    return name == "config.json" || name == "model.safetensors";
  if (!folder.empty() && folder != "onnx")
    return false;
  return std::find(std::begin(wantedNames), std::end(wantedNames), name) != std::end(wantedNames) ||
         (name.starts_with("sentence_") && name.ends_with("_config.json"));
}

std::vector<std::string> withEnding(const HubListing &listing, std::string_view folder, std::string_view ending) {
  std::vector<std::string> paths;
  for (const HubFile &file : listing.files)
    if (file.path.starts_with(folder) && file.path.ends_with(ending) &&
        file.path.find('/', folder.size()) == std::string::npos)
      paths.push_back(file.path);
  return paths;
}

// The one of several: "model.onnx", or the only one.
std::string chooseModel(const HubListing &listing, const HubAddress &address) {
  for (const auto &[folder, ending] :
       {std::pair<std::string, std::string>{"", ".onnx"}, {"onnx/", ".onnx"}, {"", ".vxm"}, {"", ".gguf"}}) {
    const std::vector<std::string> paths = withEnding(listing, folder, ending);
    if (ending == ".onnx" && std::find(paths.begin(), paths.end(), folder + "model.onnx") != paths.end())
      return folder + "model.onnx";
    if (paths.size() == 1)
      return paths[0];
    if (!paths.empty())
      throw fileError("'{}' has several {} files: expected one of them as hf:{}:FILE, there are {}",
                      address.repository(), ending, address.repository(), quoteNames(paths));
  }
  throw fileError("'{}' has no .onnx, .vxm or .gguf file", address.repository());
}

} // namespace

HubAddress parseHubAddress(std::string_view text) {
  const auto refuse = [&] {
    return usageError("pull: expected hf:ORG/NAME or hf:ORG/NAME:FILE, got '{}'", printableLine(std::string(text)));
  };
  if (!text.starts_with("hf:"))
    throw refuse();
  std::string_view rest = text.substr(3);
  HubAddress address;
  if (const size_t colon = rest.find(':'); colon != rest.npos) {
    address.file = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!isSafePath(address.file))
      throw refuse();
  }
  const size_t slash = rest.find('/');
  if (slash == rest.npos || !isName(rest.substr(0, slash)) || !isName(rest.substr(slash + 1)))
    throw refuse();
  address.organisation = rest.substr(0, slash);
  address.name = rest.substr(slash + 1);
  return address;
}

bool isSafePath(std::string_view path) {
  if (path.empty() || path.size() > mostPath || !isUtf8(path) || printableLine(std::string(path)) != path)
    return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    // Hidden files are none of a model's, and may be this tool's own.
    if (part.empty() || part.starts_with('.') || part.find('\\') != part.npos)
      return false;
    begin = end + 1;
  }
  return true;
}

HubListing parseListing(const std::string &text, const std::string &repository) {
  const auto refuse = [&](const std::string &reason) {
    return fileError("'{}': expected the hub's list of files, got {}", repository, printableLine(reason));
  };
  HubJson json;
  try {
    json = HubJson::parse(text, [&](int depth, HubJson::parse_event_t, HubJson &) {
      if (depth > deepestJson)
        throw refuse(fmt::format("JSON of more than {} levels", deepestJson));
      return true;
    });
  } catch (const HubJson::exception &error) {
    throw refuse(fmt::format("no JSON: {}", error.what()));
  }
  if (!json.is_object() || !json.contains("siblings") || !json["siblings"].is_array())
    throw refuse("no list 'siblings'");
  if (json["siblings"].size() > mostFiles)
    throw refuse(fmt::format("{} files, which is more than {}", json["siblings"].size(), mostFiles));
  HubListing listing;
  if (json.contains("sha") && json["sha"].is_string())
    listing.commit = json["sha"].get<std::string>();
  if (!isHex(listing.commit, 40))
    throw refuse("no commit 'sha' of 40 hexadecimal digits");
  for (const HubJson &one : json["siblings"]) {
    if (!one.is_object() || !one.contains("rfilename") || !one["rfilename"].is_string())
      throw refuse("a file without 'rfilename'");
    HubFile file;
    file.path = one["rfilename"].get<std::string>();
    if (!isSafePath(file.path)) {
      if (file.path.starts_with('.') && file.path.find('/') == std::string::npos)
        continue; // as .gitattributes
      throw refuse(fmt::format("the file name '{}', which leads out of the folder", file.path));
    }
    const auto sizeOf = [](const HubJson &object) {
      return object.contains("size") && object["size"].is_number_unsigned()
                 ? std::optional(object["size"].get<uint64_t>())
                 : std::nullopt;
    };
    file.size = sizeOf(one);
    if (one.contains("lfs") && one["lfs"].is_object()) {
      const HubJson &lfs = one["lfs"];
      if (lfs.contains("sha256") && lfs["sha256"].is_string())
        file.hash = lfs["sha256"].get<std::string>();
      if (const std::optional<uint64_t> size = sizeOf(lfs))
        file.size = size;
    } else if (one.contains("blobId") && one["blobId"].is_string()) {
      file.hash = one["blobId"].get<std::string>();
    }
    if (!file.hash.empty() && !isHex(file.hash, 64) && !isHex(file.hash, 40))
      throw refuse(fmt::format("the hash '{}' of '{}'", file.hash, file.path));
    listing.files.push_back(std::move(file));
  }
  std::sort(listing.files.begin(), listing.files.end(),
            [](const HubFile &a, const HubFile &b) { return a.path < b.path; });
  return listing;
}

std::vector<HubFile> chooseFiles(const HubListing &listing, const HubAddress &address) {
  const auto find = [&](const std::string &path) -> const HubFile * {
    const auto place = std::find_if(listing.files.begin(), listing.files.end(),
                                    [&](const HubFile &file) { return file.path == path; });
    return place == listing.files.end() ? nullptr : &*place;
  };
  std::string model = address.file;
  if (!model.empty() && !find(model)) {
    std::vector<std::string> names;
    for (const HubFile &file : listing.files)
      names.push_back(file.path);
    throw usageError("'{}' has no file '{}'{}", address.repository(), model, didYouMean(model, names));
  }
  if (model.empty())
    model = chooseModel(listing, address);
  std::vector<HubFile> files;
  if (address.file.empty() && model.ends_with(".onnx"))
    for (const HubFile &file : listing.files)
      if (isBeside(file.path))
        files.push_back(file);
  // Weights of an .onnx file beside it, as exporters name them.
  if (model.ends_with(".onnx"))
    for (const std::string &name : {model + "_data", model + ".data"})
      for (const HubFile &file : listing.files)
        if (file.path == name || (file.path.starts_with(name + "_") &&
                                  file.path.find_first_not_of("0123456789", name.size() + 1) == std::string::npos))
          files.push_back(file);
  files.push_back(*find(model));
  return files;
}

} // namespace vx::tools
