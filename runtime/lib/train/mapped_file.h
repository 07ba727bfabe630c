// A file as memory.
#ifndef VX_TRAIN_MAPPED_FILE_H
#define VX_TRAIN_MAPPED_FILE_H

#include <cstdint>
#include <span>
#include <string>

namespace vx::train {

// A whole file, mapped for reading. It must not change meanwhile.
class MappedFile {
public:
  // Throws Error::data that names the file and the reason.
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const uint8_t> bytes() const { return content; }

private:
  std::span<const uint8_t> content;
};

} // namespace vx::train

#endif
