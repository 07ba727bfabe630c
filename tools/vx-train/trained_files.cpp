#include "trained_files.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;

TrainedFiles::TrainedFiles(const std::string &checkpointFolder) {
  std::error_code ignored;
  auto add = [&](const fs::path &folder) {
    for (const std::string &known : folders)
      if (fs::equivalent(known, folder, ignored))
        return;
    folders.push_back(folder.string());
  };
  if (!checkpointFolder.empty())
    add(fs::absolute(fs::path(checkpointFolder) / ".", ignored).lexically_normal().parent_path().parent_path());
  const char *temporary = std::getenv("TMPDIR");
  add(temporary && *temporary ? temporary : "/tmp");
  add(fs::current_path(ignored));
}

void TrainedFiles::write(const std::string &what, std::span<const std::string> paths,
                         const std::function<void(const std::string &path)> &write) {
  bool isWritten = false;
  for (const std::string &path : paths) {
    try {
      write(path);
      isWritten = true;
    } catch (const std::exception &error) {
      tell(error.what());
    }
  }
  if (!isWritten && !paths.empty() && !rescue(what, paths.front(), write))
    tell(fmt::format("{} could not be written to another folder either", what));
}

bool TrainedFiles::rescue(const std::string &what, const std::string &path,
                          const std::function<void(const std::string &path)> &write) {
  const std::string name = fs::path(path).filename().string();
  std::error_code ignored;
  for (const std::string &folder : folders) {
    fs::path place = fs::path(folder) / ("rescued-" + name);
    for (int number = 2; fs::exists(place, ignored); ++number)
      place = fs::path(folder) / fmt::format("rescued-{}-{}", number, name);
    try {
      write(place.string());
      tell(fmt::format("{} is in '{}'", what, place.string()));
      return true;
    } catch (const std::exception &error) {
      tell(error.what());
    }
  }
  return false;
}

} // namespace vx::tools
