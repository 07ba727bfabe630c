// A file as memory.
#ifndef VX_BASE_MAPPED_FILE_H
#define VX_BASE_MAPPED_FILE_H

#include <cstdint>
#include <span>
#include <string>

namespace vx {

// A whole regular file, mapped for reading. The file must not change while it is mapped. Movable; its bytes stay at
// their address. Thread-safe for reading.
class MappedFile {
public:
  MappedFile() = default; // no bytes
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  // False with a reason that names the file: "m.gguf: cannot be opened: No such file or directory".
  static bool open(const std::string &path, MappedFile &result, std::string &error);

  std::span<const uint8_t> bytes() const { return content; }

private:
  std::span<const uint8_t> content;
};

} // namespace vx

#endif
