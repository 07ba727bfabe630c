#include "checkpoint_file.h"

#include "failure.h"
#include "vx/abi/module_header.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace vx::train {

namespace fs = std::filesystem;

static constexpr std::string_view Prefix = "checkpoint-", Ending = ".safetensors";
static constexpr size_t Digits = 12;

std::string hashOf(std::span<const SafeTensor> tensors) {
  uint64_t hash = vx_hash64_begin(tensors.size());
  for (const SafeTensor &tensor : tensors)
    hash = vx_hash64_add(hash, vx_hash64(tensor.bytes.data(), tensor.bytes.size()));
  return fmt::format("{:016x}", vx_hash64_end(hash));
}

CheckpointFile::CheckpointFile(const std::string &path) : name(path), file(path) {
  if (std::string error; !parseSafeTensors(file.bytes(), content, error))
    throw dataError("{}: {}", path, error);
  if (!isCheckpoint())
    return;
  if (const std::string form = text(CheckpointKey); form != CheckpointForm)
    throw dataError("{}: a checkpoint of form '{}', this program reads '{}'", path, form, CheckpointForm);
  const std::string wanted = text(HashKey), got = hashOf(content.tensors);
  if (got != wanted)
    throw dataError("{}: damaged: the tensors' bytes have the hash {}, expected {}", path, got, wanted);
}

bool CheckpointFile::isCheckpoint() const { return content.metadata.count(CheckpointKey) != 0; }

std::string CheckpointFile::text(const std::string &key) const {
  const auto found = content.metadata.find(key);
  return found == content.metadata.end() ? std::string() : found->second;
}

uint64_t CheckpointFile::number(const std::string &key) const {
  const auto found = content.metadata.find(key);
  if (found == content.metadata.end())
    return 0;
  uint64_t value = 0;
  const char *begin = found->second.data(), *end = begin + found->second.size();
  const auto [last, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || last != end || value > INT64_MAX)
    if (key != "seed" || error != std::errc() || last != end)
      throw dataError("{}: the checkpoint's '{}': expected a number, got '{}'", name, key, found->second);
  return value;
}

std::string checkpointName(uint64_t step) { return fmt::format("{}{:0{}}{}", Prefix, step, Digits, Ending); }

std::vector<FoundCheckpoint> checkpointsIn(const std::string &folder) {
  std::error_code error;
  std::vector<FoundCheckpoint> found;
  fs::directory_iterator it(folder, error);
  for (const fs::directory_iterator none; !error && it != none; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(Prefix) || !name.ends_with(Ending) || name.size() < Prefix.size() + Ending.size() + Digits)
      continue;
    uint64_t step = 0;
    const char *begin = name.data() + Prefix.size(), *end = name.data() + name.size() - Ending.size();
    const auto [last, problem] = std::from_chars(begin, end, step);
    if (problem == std::errc() && last == end)
      found.push_back({step, it->path().string()});
  }
  if (error)
    throw dataError("{}: cannot be read: {}", folder, error.message());
  std::sort(found.begin(), found.end(),
            [](const FoundCheckpoint &a, const FoundCheckpoint &b) { return a.step > b.step; });
  return found;
}

} // namespace vx::train
