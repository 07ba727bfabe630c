#include "module_cache.h"

#include "tool_error.h"

#include "vx/abi/module_header.h"
#include "vx/base/file_state.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace vx::tools {

namespace fs = std::filesystem;

static std::string hashText(const std::string &text) {
  return fmt::format("{:016x}", vx_hash64(text.data(), text.size()));
}

ModuleCache::ModuleCache(const std::string &cache, const std::string &model, const std::string &targets,
                         const std::string &version, const std::string &compiler, bool hasFolder)
    : models(fs::path(cache) / "models"), hasFolder(hasFolder) {
  std::error_code error;
  const fs::path place = fs::canonical(model, error);
  if (error)
    throw fileError("cannot read '{}': {}", model, error.message());
  prefix = fmt::format("{}-{}-{}-", fs::is_directory(place, error) ? place.filename().string() : place.stem().string(),
                       hashText(place.string()), hashText(targets));
  state = hashText(version + "\n" + targets + "\n" + stateOfFile(compiler, /*withInodes=*/false) +
                   stateOfFiles(place.string(), /*withInodes=*/false));
}

std::string ModuleCache::makeFolder() const {
  std::error_code error;
  const fs::path place = folder();
  fs::create_directories(place, error);
  if (error)
    return fmt::format("cannot make the folder '{}': {}", place.string(), error.message());
  if (::access(place.c_str(), W_OK | X_OK) != 0)
    return fmt::format("cannot write '{}': {}", place.string(), std::strerror(errno));
  return "";
}

void ModuleCache::removeOlder() const {
  std::error_code error;
  for (const fs::directory_entry &other : fs::directory_iterator(models, error)) {
    std::error_code unused;
    const bool isModule = other.path().extension() == ".vxm" || fs::exists(other.path() / "model.vxm", unused);
    if (isModule && other.path() != module() && other.path() != folder() &&
        other.path().filename().string().starts_with(prefix))
      fs::remove_all(other.path(), unused); // links, and not the files that they name
  }
}

} // namespace vx::tools
