#include "file_hash.h"

#include "vx/base/regular_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vx::serve {

struct FileHash::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX *)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

FileHash::FileHash(Kind kind, uint64_t gitSize) : state(std::make_unique<State>()) {
  if (!state->context ||
      EVP_DigestInit_ex(state->context.get(), kind == Kind::git ? EVP_sha1() : EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("the system's OpenSSL has no SHA-256 or SHA-1");
  if (kind == Kind::git) {
    const std::string head = fmt::format("blob {}", gitSize);
    add(head.c_str(), head.size() + 1); // with the zero after it
  }
}

FileHash::~FileHash() = default;
FileHash::FileHash(FileHash &&) noexcept = default;
FileHash &FileHash::operator=(FileHash &&) noexcept = default;

void FileHash::add(const void *bytes, size_t size) { EVP_DigestUpdate(state->context.get(), bytes, size); }

std::string FileHash::digest() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(state->context.get(), bytes, &size);
  std::string text;
  for (unsigned int i = 0; i < size; ++i)
    text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string hashFile(const std::string &path, std::string &error, FileHash::Kind kind) {
  FileError reason;
  const int file = openRegularFile(path, reason);
  if (file < 0) {
    error = reason.text;
    return "";
  }
  struct stat info;
  FileHash hash(kind, ::fstat(file, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0);
  std::vector<char> block(size_t(1) << 20);
  ssize_t count = 0;
  while ((count = ::read(file, block.data(), block.size())) != 0) {
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      error = fmt::format("cannot be read: {}", std::strerror(errno));
      ::close(file);
      return "";
    }
    hash.add(block.data(), static_cast<size_t>(count));
  }
  ::close(file);
  return hash.digest();
}

} // namespace vx::serve
