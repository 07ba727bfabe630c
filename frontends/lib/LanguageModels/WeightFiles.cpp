#include "WeightFiles.h"

#include "vx/Frontend/Parts/ConfigFile.h"
#include "vx/base/gguf.h"
#include "vx/base/mapped_file.h"
#include "vx/base/safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

namespace vx {

namespace {

namespace json = llvm::json;

/// Models of 1,000 files are not known; each mapped file takes an entry of the process's table.
constexpr size_t kMostShards = 10'000;

constexpr llvm::StringLiteral kSingle = "model.safetensors", kIndex = "model.safetensors.index.json";

bool isThere(const std::string &path) { return llvm::sys::fs::exists(path) && !llvm::sys::fs::is_directory(path); }

/// A file of the index lies beside it. The name may be that of a link: caches of downloaded models have links.
bool isPlainName(llvm::StringRef name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(llvm::StringRef("/\\\0", 3)) == name.npos;
}

struct Shard {
  std::string path;
  MappedFile mapping;
  SafeTensorsFile content;
};

llvm::Error openShard(Shard &shard) {
  std::string error;
  if (!MappedFile::open(shard.path, shard.mapping, error))
    return makeConfigError(error);
  if (!parseSafeTensors(shard.mapping.bytes(), shard.content, error))
    return makeConfigError(shard.path + ": " + error);
  return llvm::Error::success();
}

/// The file of each tensor, as the index has it.
llvm::Expected<std::map<std::string, std::string>> readIndex(const std::string &path) {
  llvm::Expected<ConfigFile> index = ConfigFile::read(path);
  if (!index)
    return index.takeError();
  (void)index->lookup("metadata"); // the sum of the sizes, which the files have themselves
  const json::Value *map = index->lookup("weight_map");
  const json::Object *object = map ? map->getAsObject() : nullptr;
  if (!object)
    index->failAt("weight_map",
                  "expected an object with the file of each tensor, got " + (map ? showJson(*map) : "none"));
  index->expectAllRead({}, "the reader of an index of safetensors files");
  if (llvm::Error error = index->takeError())
    return error;
  std::map<std::string, std::string> files;
  for (const auto &[tensor, file] : *object)
    files[tensor.str()] = file.getAsString().value_or("").str();
  ConfigFile tensors = index->getObject("weight_map");
  for (const auto &[tensor, file] : files)
    if (!isPlainName(file))
      tensors.fail(tensor, "the name of a file in the folder of the index", *object->get(tensor));
  if (llvm::Error error = tensors.takeError())
    return error;
  return files;
}

} // namespace

std::string WeightFiles::findIn(llvm::StringRef folder) {
  for (llvm::StringRef name : {llvm::StringRef(kSingle), llvm::StringRef(kIndex)})
    if (std::string path = joinPath(folder, name); isThere(path))
      return path;
  return "";
}

llvm::Expected<WeightFiles> WeightFiles::openFolder(llvm::StringRef folder) {
  WeightFiles result;
  result.name = findIn(folder);
  if (result.name.empty())
    return makeConfigError(folder + ": expected a " + kSingle + " or a " + kIndex + ", got neither");
  const bool hasIndex = llvm::sys::path::filename(result.name) == kIndex;
  std::map<std::string, std::string> fileOfTensor;
  std::map<std::string, size_t> numbers; // of the shards
  auto shards = std::make_shared<std::vector<Shard>>();
  result.files.paths.push_back(result.name);
  if (hasIndex) {
    llvm::Expected<std::map<std::string, std::string>> files = readIndex(result.name);
    if (!files)
      return files.takeError();
    fileOfTensor = std::move(*files);
    for (const auto &[tensor, file] : fileOfTensor)
      if (numbers.try_emplace(file, numbers.size()).second) {
        if (numbers.size() > kMostShards)
          return makeConfigError(result.name + ": expected at most " + llvm::Twine(kMostShards) + " files, got more");
        const std::string path = joinPath(folder, file);
        if (!isThere(path))
          return makeConfigError(path + ": expected a file, since " + kIndex + " has tensor '" + tensor +
                                 "' in it, got none");
        shards->push_back({path, {}, {}});
        result.files.paths.push_back(path);
      }
  } else {
    shards->push_back({result.name, {}, {}});
  }
  std::map<std::string, const Shard *> holders;
  for (Shard &shard : *shards) {
    if (llvm::Error error = openShard(shard))
      return error;
    result.files.weights.push_back({shard.path, shard.mapping.bytes()});
    for (const SafeTensorEntry &entry : shard.content.tensors) {
      auto [holder, isNew] = holders.try_emplace(entry.name, &shard);
      if (!isNew)
        return makeConfigError(shard.path + ": tensor '" + entry.name + "' is also in " + holder->second->path +
                               ", expected it in one file");
      if (hasIndex) {
        auto place = fileOfTensor.find(entry.name);
        if (place == fileOfTensor.end() || joinPath(folder, place->second) != shard.path)
          return makeConfigError(shard.path + ": tensor '" + entry.name + "' is " +
                                 (place == fileOfTensor.end()
                                      ? "not in the 'weight_map' of " + result.name
                                      : "in '" + place->second + "' by the 'weight_map' of " + result.name));
      }
      result.tensors[entry.name] = {entry.type->vxName, entry.dims, entry.bytes};
    }
  }
  for (const auto &[tensor, file] : fileOfTensor)
    if (!holders.contains(tensor))
      return makeConfigError(joinPath(folder, file) + ": expected tensor '" + tensor + "', as the 'weight_map' of " +
                             result.name + " has it, got none");
  result.owner = std::move(shards);
  return result;
}

WeightFiles WeightFiles::ofGguf(std::shared_ptr<const GgufModel> model) {
  WeightFiles result;
  result.files.paths = model->paths();
  result.name = result.files.paths.front();
  for (size_t i = 0; i < result.files.paths.size(); ++i)
    result.files.weights.push_back({result.files.paths[i], model->bytesOf(i)});
  for (const GgufTensor &tensor : model->tensors())
    result.tensors[tensor.name] = {tensor.type->name, tensor.dims, tensor.bytes};
  result.owner = std::move(model);
  return result;
}

void WeightFiles::addTo(ModelFiles &all) const {
  all.paths.insert(all.paths.end(), files.paths.begin(), files.paths.end());
  all.weights.insert(all.weights.end(), files.weights.begin(), files.weights.end());
}

const StoredTensor *WeightFiles::find(llvm::StringRef tensor) const {
  auto found = tensors.find(tensor);
  if (found == tensors.end())
    return nullptr;
  found->second.isRead = true;
  return &found->second;
}

std::string WeightFiles::findUnread(llvm::ArrayRef<llvm::StringRef> unused) const {
  std::string first;
  for (const auto &entry : tensors) {
    llvm::StringRef tensor = entry.getKey();
    if (!entry.second.isRead && (first.empty() || tensor < first) &&
        llvm::none_of(unused, [&](llvm::StringRef begin) { return tensor.starts_with(begin); }))
      first = tensor.str();
  }
  return first;
}

} // namespace vx
