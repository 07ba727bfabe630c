#include "vx/base/command_files.h"

#include "vx/base/regular_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace vx {

namespace fs = std::filesystem;

namespace {

// Where a name leads to. A file need not be there, nor its folder; a link as the last part is followed although it
// leads to nothing. The walk ends at a descriptor of this process.
fs::path resolve(const std::string &path, std::optional<int> &descriptor) {
  std::error_code error;
  fs::path place = fs::absolute(path, error);
  if (error)
    return path;
  const fs::path own = "/proc/" + std::to_string(::getpid()) + "/fd";
  for (int links = 0; links < 40; ++links) {
    if (!place.has_filename() || place.filename() == "." || place.filename() == "..")
      break;
    const fs::path folder = fs::weakly_canonical(place.parent_path(), error);
    if (error)
      return place.lexically_normal();
    place = folder / place.filename();
    if (folder == own) {
      const std::string name = place.filename().string();
      int number = -1;
      const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (failure == std::errc() && end == name.data() + name.size())
        descriptor = number;
      return place;
    }
    if (!fs::is_symlink(place, error))
      return place;
    const fs::path target = fs::read_symlink(place, error);
    if (error)
      return place;
    place = folder / target; // an absolute one replaces the folder
  }
  const fs::path canonical = fs::weakly_canonical(place, error);
  return error ? place.lexically_normal() : canonical;
}

} // namespace

std::optional<int> descriptorOf(const std::string &path) {
  std::optional<int> descriptor;
  resolve(path, descriptor);
  return descriptor;
}

CommandFiles::Entry CommandFiles::examine(std::string what, const std::string &path) const {
  Entry entry;
  entry.what = std::move(what);
  entry.path = path;
  std::optional<int> descriptor;
  entry.place = resolve(path, descriptor).string();
  entry.isStream = descriptor.has_value();
  struct stat info{};
  // Only regular files can be overwritten.
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    entry.exists = true;
    entry.device = info.st_dev;
    entry.inode = info.st_ino;
  }
  return entry;
}

bool CommandFiles::isSame(const Entry &a, const Entry &b) {
  if (a.isStream && b.isStream)
    return false; // written in turns
  if (a.exists && b.exists)
    return a.device == b.device && a.inode == b.inode;
  struct stat info{};
  return a.place == b.place && (::stat(a.place.c_str(), &info) != 0 || S_ISREG(info.st_mode));
}

void CommandFiles::addInput(std::string what, const std::string &path) {
  entries.push_back(examine(std::move(what), path));
}

void CommandFiles::addOutput(std::string what, const std::string &path, Kind kind) {
  Entry entry = examine(std::move(what), path);
  entry.isOutput = true;
  struct stat info{};
  const bool isThere = ::stat(path.c_str(), &info) == 0;
  const bool isTaken = kind == Kind::RegularFile
                           ? !entry.isStream && (!isThere || S_ISREG(info.st_mode))
                           : entry.isStream || !isThere || S_ISREG(info.st_mode) || S_ISCHR(info.st_mode);
  if (!isTaken && firstProblem.empty())
    firstProblem = "cannot write '" + path + "': expected a name for a file, got " +
                   (entry.isStream ? "a stream" : fileKind(info.st_mode));
  entries.push_back(std::move(entry));
}

void CommandFiles::addStandardOutput() {
  struct stat info{};
  if (::fstat(STDOUT_FILENO, &info) != 0 || !S_ISREG(info.st_mode))
    return;
  Entry entry;
  entry.what = "standard output";
  std::error_code error;
  entry.path = fs::read_symlink("/proc/self/fd/1", error).string();
  entry.isOutput = entry.isStream = entry.exists = true;
  entry.device = info.st_dev;
  entry.inode = info.st_ino;
  entries.push_back(std::move(entry));
}

std::string CommandFiles::unwritable() const {
  for (const Entry &entry : entries) {
    if (!entry.isOutput || entry.isStream)
      continue;
    // A file is written beside its name and renamed, a device where it stands.
    struct stat info{};
    const bool isDevice = ::stat(entry.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
    const fs::path folder = fs::path(entry.place).parent_path();
    if (::access(isDevice ? entry.path.c_str() : folder.c_str(), isDevice ? W_OK : W_OK | X_OK) != 0)
      return "cannot write '" + entry.path + "': " + std::strerror(errno);
  }
  return {};
}

bool CommandFiles::hasOutputs() const {
  return std::any_of(entries.begin(), entries.end(), [](const Entry &entry) { return entry.isOutput; });
}

std::string CommandFiles::problem() const {
  if (!firstProblem.empty())
    return firstProblem;
  for (size_t i = 0; i < entries.size(); ++i)
    for (size_t j = 0; j < entries.size(); ++j) {
      const Entry &output = entries[i], &other = entries[j];
      // Of two outputs the later one is named first.
      if (!output.isOutput || i == j || (other.isOutput && j > i) || !isSame(output, other))
        continue;
      return output.what + " '" + output.path + "' is the same file as " + other.what + " '" + other.path +
             "', expected another name for it";
    }
  return {};
}

} // namespace vx
