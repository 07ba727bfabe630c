#include "vx/base/file_state.h"

#include <filesystem>
#include <set>
#include <sys/stat.h>

namespace vx {

namespace fs = std::filesystem;

std::string stateOfFile(const std::string &path, bool withInodes) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return "";
  std::string text = path;
  for (const uint64_t number : {static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_mtim.tv_sec),
                                static_cast<uint64_t>(info.st_mtim.tv_nsec), withInodes ? info.st_ino : uint64_t(0)})
    text += ' ' + std::to_string(number);
  return text + '\n';
}

std::string stateOfFiles(const std::string &path, bool withInodes) {
  static constexpr int deepest = 3;
  std::error_code error;
  const bool isFolder = fs::is_directory(path, error);
  const fs::path place = path, folder = isFolder ? place : place.parent_path();
  const std::string beginning = isFolder ? "" : place.stem().string();
  std::set<std::string> files;
  for (fs::recursive_directory_iterator
           entry(folder.empty() ? fs::path(".") : folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && entry != end; entry.increment(error)) {
    if (!isFolder || entry.depth() >= deepest)
      entry.disable_recursion_pending();
    if (entry->path().filename().string().starts_with(beginning))
      files.insert(entry->path().string());
  }
  std::string text;
  for (const std::string &file : files)
    text += stateOfFile(file, withInodes);
  return text;
}

} // namespace vx
