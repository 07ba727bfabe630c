// A file's bytes, mapped for reading.
#ifndef VX_RUNTIME_BASE_FILE_MAPPING_H
#define VX_RUNTIME_BASE_FILE_MAPPING_H

#include "base/status.h"

#include <cstdint>
#include <span>
#include <string>

namespace vx {

class FileMapping {
public:
  FileMapping() = default;
  FileMapping(FileMapping &&other) noexcept;
  FileMapping &operator=(FileMapping &&other) noexcept;
  ~FileMapping();

  // Maps a whole regular file, and waits for no pipe. VX_NOT_FOUND when there is none, VX_IO_ERROR when it cannot be
  // opened or mapped. An empty file maps to no bytes.
  static Status open(const std::string &path, FileMapping &mapping);

  std::span<const uint8_t> bytes() const { return {data, size}; }

  // Gives the memory of the whole pages inside `range` back; reading them again reads the file again. Nothing of a
  // range that is not this mapping's. Thread-safe.
  void releasePages(std::span<const uint8_t> range) const;

private:
  const uint8_t *data = nullptr;
  size_t size = 0;
};

} // namespace vx

#endif
