// Feeds bytes to the reader of registry.json, and compares what it has read with a folder: a refusal, or models whose
// files are within the folder; and lines of a log without a control character.
#include "mutate_text.h"
#include "registry_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using namespace vx::serve;

void check(bool condition) {
  if (!condition)
    std::abort();
}

void checkLine(const std::string &line) {
  check(!line.empty() && std::none_of(line.begin(), line.end(), [](char c) { return static_cast<uint8_t>(c) < ' '; }));
}

// A folder with the one model `m`, which goes with the process.
class Folder {
public:
  Folder() : path(std::filesystem::temp_directory_path() / ("registry-fuzzer-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
    write("m.vxm", "hello");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string &name, std::string_view text) const {
    std::ofstream(path / name, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  const std::filesystem::path path;
};

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = size > 0 && seed % 4 != 0 ? vx::fuzz::mutateText(data, size, maxSize, seed / 4) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  folder.write(RegistryFileName, std::string_view(reinterpret_cast<const char *>(data), size));
  const RegistryFile registry = readRegistryFile(folder.path.string());
  check(registry.refusal.empty() || registry.models.empty());
  if (!registry.refusal.empty())
    checkLine(registry.refusal);
  for (const RegistryFile::Model &model : registry.models)
    for (const RegistryFile::File &file : model.files) {
      const std::filesystem::path normal = std::filesystem::path(file.path).lexically_normal();
      check(!file.path.empty() && normal.is_relative() && *normal.begin() != "..");
      check(file.sha256.size() == 64);
    }
  ModelPlace place;
  place.name = "m";
  place.path = (folder.path / "m.vxm").string();
  for (const std::string &line : compareWithRegistry(folder.path.string(), registry, std::span(&place, 1)))
    checkLine(line);
  return 0;
}
