// Hashes of files.
#ifndef VX_SERVE_FILE_HASH_H
#define VX_SERVE_FILE_HASH_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace vx::serve {

// SHA-256, or the hash that git has for a file of a size: SHA-1 of a line with the size, then the bytes.
class FileHash {
public:
  enum class Kind : uint8_t { sha256, git };
  explicit FileHash(Kind kind = Kind::sha256, uint64_t gitSize = 0);
  ~FileHash();
  FileHash(FileHash &&) noexcept;
  FileHash &operator=(FileHash &&) noexcept;

  void add(const void *bytes, size_t size);
  // In lower-case hexadecimal: 64 digits of SHA-256, 40 of git. Call it once, after which nothing can be added.
  std::string digest();

private:
  struct State;
  std::unique_ptr<State> state;
};

// The hash of a regular file. If it cannot be read: empty, and `error` has the reason, "cannot be opened: ...".
std::string hashFile(const std::string &path, std::string &error, FileHash::Kind kind = FileHash::Kind::sha256);

} // namespace vx::serve

#endif
