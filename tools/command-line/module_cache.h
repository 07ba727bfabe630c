// Modules that tools have made of models, kept for the next time.
#ifndef VX_TOOLS_MODULE_CACHE_H
#define VX_TOOLS_MODULE_CACHE_H

#include <filesystem>
#include <string>

namespace vx::tools {

// Where the module of a model stands, in "models" of the folder of compiled kernels. Its name says which model and
// targets it is of, and what the model's files and the compiler were then: another one is made when they have changed.
class ModuleCache {
public:
  // `model` is a file or a folder; `compiler` is the file that does the work, and `version` what it says of itself.
  // With `hasFolder` the module has a folder of its own, for files that it refers to. Throws a ToolError (exit 3) where
  // the model cannot be read.
  ModuleCache(const std::string &cache, const std::string &model, const std::string &targets,
              const std::string &version, const std::string &compiler, bool hasFolder = false);

  // That of the module.
  std::filesystem::path folder() const { return module().parent_path(); }
  std::filesystem::path module() const {
    return hasFolder ? models / (prefix + state) / "model.vxm" : models / (prefix + state + ".vxm");
  }
  // The same in another folder.
  std::filesystem::path moduleIn(const std::filesystem::path &other) const { return other / module().filename(); }

  // Makes the folder. What is in the way, or nothing: "cannot write '/cache/models': Read-only file system".
  std::string makeFolder() const;
  // Those of what the model was before.
  void removeOlder() const;

private:
  std::filesystem::path models;
  std::string prefix, state;
  bool hasFolder;
};

} // namespace vx::tools

#endif
