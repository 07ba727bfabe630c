#include "vx/base/mapped_file.h"

#include "vx/base/printable.h"
#include "vx/base/regular_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx {

MappedFile::MappedFile(MappedFile &&other) noexcept : content(std::exchange(other.content, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(content, other.content);
  return *this;
}

MappedFile::~MappedFile() {
  if (!content.empty())
    ::munmap(const_cast<uint8_t *>(content.data()), content.size());
}

bool MappedFile::open(const std::string &path, MappedFile &result, std::string &error) {
  FileError reason;
  const int file = openRegularFile(path, reason);
  if (file < 0) {
    error = printableLine(path) + ": " + (reason.number ? "" : "it ") + reason.text;
    return false;
  }
  struct stat info{};
  int number = ::fstat(file, &info) == 0 ? 0 : errno;
  MappedFile mapped;
  if (!number && info.st_size > 0) {
    const size_t size = static_cast<size_t>(info.st_size);
    void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED)
      number = errno;
    else
      mapped.content = {static_cast<const uint8_t *>(address), size};
  }
  ::close(file); // the mapping outlives the descriptor
  if (number) {
    error = printableLine(path) + ": cannot be mapped: " + std::strerror(number);
    return false;
  }
  result = std::move(mapped);
  return true;
}

} // namespace vx
