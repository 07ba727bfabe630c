// Files that are either whole or not there.
#ifndef VX_TOOLS_OUTPUT_FILE_H
#define VX_TOOLS_OUTPUT_FILE_H

#include "vx/base/partial_file.h"

#include <span>
#include <string>
#include <string_view>

#include <cstdint>

namespace vx::tools {

// Written piece by piece beside the name, and renamed when the bytes are on the disk; partial files of killed processes
// in the folder are removed. /dev/stdout and its like are written where they stand, and a device in place.
class FileWriter {
public:
  // Throws a ToolError that names the file and the reason: exit 2 for a folder, a pipe or a socket, else exit 1.
  explicit FileWriter(const std::string &path);
  // Leaves nothing of what has not been committed.
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  // Takes room for so many bytes in all, so that a disk that has less is an error before the work is done and not after
  // it. Does nothing for streams, devices, and file systems that cannot. Throws a ToolError, exit 1.
  void reserve(uint64_t bytes);

  // Throw a ToolError, exit 1.
  void write(std::span<const uint8_t> bytes);
  void write(std::string_view text);
  void commit();

private:
  const std::string path;
  int descriptor = -1; // of a stream or a device
  bool isDevice = false;
  PartialFile partial;
};

// Throws as a FileWriter does, and leaves nothing half-written.
void writeFile(const std::string &path, std::span<const uint8_t> bytes);
void writeFile(const std::string &path, std::string_view text);

} // namespace vx::tools

#endif
