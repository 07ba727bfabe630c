#include "load_module.h"

#include "file_checks.h"
#include "tool_error.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace vx::tools {

vx::Module loadModule(const std::string &path) {
  try {
    return vx::Module(path);
  } catch (const vx::Error &error) {
    // A folder, or a file that may not be read, is a wrong file and no failure of the work.
    if (error.code() == VX_IO_ERROR)
      throw fileError("{}", error.what());
    throw;
  }
}

vx::Module loadModule(const std::string &path, CommandFiles &files) {
  files.addInput("the module", path);
  checkFiles(files);
  vx::Module module = loadModule(path);
  if (!files.hasOutputs())
    return module;
  const nlohmann::json description = nlohmann::json::parse(module.describe());
  for (const nlohmann::json &section : description["sections"])
    if (section.contains("external_file"))
      files.addInput(
          "the weights' file",
          (std::filesystem::path(path).parent_path() / section["external_file"].get<std::string>()).string());
  checkFiles(files);
  return module;
}

} // namespace vx::tools
