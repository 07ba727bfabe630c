#include "cubin_cache.h"

#include "vx/abi/module_header.h"
#include "vx/base/partial_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace vx::cuda {

namespace {

struct Header {
  uint64_t sourceSize, cubinSize, hash;
};

struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

} // namespace

std::string CubinCache::path(std::span<const uint8_t> source, std::string_view assembler) const {
  return fmt::format("{}/{:016x}{:016x}.cubin", folder, vx_hash64(source.data(), source.size()),
                     vx_hash64(assembler.data(), assembler.size()));
}

std::optional<std::vector<uint8_t>> CubinCache::load(std::span<const uint8_t> source,
                                                     std::string_view assembler) const {
  if (folder.empty())
    return std::nullopt;
  File file(std::fopen(path(source, assembler).c_str(), "rb"));
  Header header{};
  if (!file || std::fread(&header, sizeof(header), 1, file.get()) != 1 || header.sourceSize != source.size())
    return std::nullopt;
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path(source, assembler), error);
  if (error || size < sizeof(header) || header.cubinSize != size - sizeof(header))
    return std::nullopt;
  std::vector<uint8_t> cubin(header.cubinSize);
  if (std::fread(cubin.data(), 1, cubin.size(), file.get()) != cubin.size() ||
      vx_hash64(cubin.data(), cubin.size()) != header.hash)
    return std::nullopt;
  return cubin;
}

void CubinCache::store(std::span<const uint8_t> source, std::string_view assembler,
                       std::span<const uint8_t> cubin) const {
  if (folder.empty())
    return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string name = path(source, assembler);
  const Header header{source.size(), cubin.size(), vx_hash64(cubin.data(), cubin.size())};
  removeLeftoverFiles(name);
  PartialFile file;
  std::string ignored;
  if (file.open(name) == 0 && file.write(&header, sizeof(header)) == 0 && file.write(cubin.data(), cubin.size()) == 0)
    (void)file.commit(ignored);
}

} // namespace vx::cuda
