#include "base/file_mapping.h"

#include "vx/base/regular_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx {

FileMapping::FileMapping(FileMapping &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

FileMapping &FileMapping::operator=(FileMapping &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

FileMapping::~FileMapping() {
  if (data)
    munmap(const_cast<uint8_t *>(data), size);
}

void FileMapping::releasePages(std::span<const uint8_t> range) const {
  const auto first = reinterpret_cast<uintptr_t>(data), wanted = reinterpret_cast<uintptr_t>(range.data());
  if (wanted < first || wanted + range.size() > first + size)
    return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = (wanted + page - 1) / page * page;
  uintptr_t end = (wanted + range.size()) / page * page;
  // Advice only: a refusal costs nothing but memory.
  if (begin < end)
    (void)madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

Status FileMapping::open(const std::string &path, FileMapping &mapping) {
  FileError reason;
  const int file = openRegularFile(path, reason);
  if (file < 0)
    return failure(reason.number == ENOENT ? VX_NOT_FOUND : VX_IO_ERROR, "{}: {}", path, reason.text);
  struct stat info;
  if (fstat(file, &info) != 0) {
    int error = errno;
    ::close(file);
    return failure(VX_IO_ERROR, "{}: cannot be examined: {}", path, std::strerror(error));
  }
  FileMapping result;
  if (info.st_size > 0) {
    void *address = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) {
      int error = errno;
      ::close(file);
      if (error == ENOMEM)
        return failure(VX_OUT_OF_MEMORY, "{}: asked for {} bytes, but the system has no more memory", path,
                       info.st_size);
      return failure(VX_IO_ERROR, "{}: cannot be mapped: {}", path, std::strerror(error));
    }
    result.data = static_cast<const uint8_t *>(address);
    result.size = static_cast<size_t>(info.st_size);
  }
  // The mapping outlives the descriptor.
  ::close(file);
  mapping = std::move(result);
  return okStatus();
}

} // namespace vx
