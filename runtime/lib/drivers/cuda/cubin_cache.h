// Assembled kernels on disk, so that PTX is assembled once for a driver and a GPU.
#ifndef VX_DRIVERS_CUDA_CUBIN_CACHE_H
#define VX_DRIVERS_CUDA_CUBIN_CACHE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::cuda {

// Files are named by what they were made of; each holds a hash of itself, so that a damaged one is as good as none.
// Thread-safe, also between processes: a file appears whole. Errors of the disk are no errors of the cache.
class CubinCache {
public:
  // An empty `folder` keeps nothing.
  explicit CubinCache(std::string folder) : folder(std::move(folder)) {}

  // `assembler` says everything but the source that the result depends on.
  std::optional<std::vector<uint8_t>> load(std::span<const uint8_t> source, std::string_view assembler) const;
  void store(std::span<const uint8_t> source, std::string_view assembler, std::span<const uint8_t> cubin) const;

private:
  std::string path(std::span<const uint8_t> source, std::string_view assembler) const;

  const std::string folder;
};

} // namespace vx::cuda

#endif
