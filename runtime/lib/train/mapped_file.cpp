#include "mapped_file.h"

#include "failure.h"
#include "vx/base/regular_file.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx::train {

MappedFile::MappedFile(const std::string &path) {
  FileError reason;
  const int file = openRegularFile(path, reason);
  if (file < 0)
    throw dataError("{}: {}{}", path, reason.number ? "" : "it ", reason.text);
  struct stat info{};
  int error = ::fstat(file, &info) == 0 ? 0 : errno;
  if (!error && info.st_size > 0) {
    const size_t size = static_cast<size_t>(info.st_size);
    void *place = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (place == MAP_FAILED)
      error = errno;
    else
      content = {static_cast<const uint8_t *>(place), size};
  }
  ::close(file);
  if (error)
    throw dataError("{}: cannot be mapped: {}", path, std::strerror(error));
}

MappedFile::~MappedFile() {
  if (!content.empty())
    ::munmap(const_cast<uint8_t *>(content.data()), content.size());
}

} // namespace vx::train
