#include "written_file.h"

#include "failure.h"
#include "vx/base/command_files.h"

#include <cstring>

namespace vx::train {

WrittenFile::WrittenFile(const std::string &path) : path(path) {
  CommandFiles files;
  files.addOutput("the file", path);
  if (const std::string problem = files.problem(); !problem.empty())
    throw ioError("{}", problem);
  removeLeftoverFiles(path);
  if (const int error = file.open(path))
    throw ioError("cannot write '{}': {}", path, std::strerror(error));
}

void WrittenFile::write(const void *data, size_t size) {
  if (const int error = file.write(data, size))
    throw ioError("cannot write '{}': {}", path, std::strerror(error));
}

void WrittenFile::commit() {
  WrittenFile *const files[] = {this};
  commitAll(files);
}

void WrittenFile::commitAll(std::span<WrittenFile *const> files) {
  std::vector<PartialFile *> parts;
  for (WrittenFile *one : files)
    parts.push_back(&one->file);
  std::string error;
  if (!PartialFile::commitAll(parts, error) || !syncFolderOf(files.front()->path, error))
    throw ioError("{}", error);
}

} // namespace vx::train
