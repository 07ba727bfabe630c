// Compiled kernels on disk, by canonical key.
#ifndef VX_LIB_DRIVER_KERNELCACHE_H
#define VX_LIB_DRIVER_KERNELCACHE_H

#include "vx/Target/TargetBackend.h"
#include <optional>
#include <string>

namespace vx {

/// Thread-safe. A cache that cannot be read or written is no error: the kernel is compiled instead. An entry carries a
/// hash of its bytes, and one that does not match is ignored.
class KernelCache {
public:
  /// `folder` is made when needed; an empty one switches the cache off.
  explicit KernelCache(std::string folder);

  std::optional<KernelBinary> load(llvm::StringRef kernelKey, const TargetSpec &spec) const;
  void store(llvm::StringRef kernelKey, const TargetSpec &spec, const KernelBinary &binary) const;

private:
  std::string getPath(llvm::StringRef kernelKey, const TargetSpec &spec) const;

  std::string folder;
  std::string compilerIdentity; // another compiler, another key
};

} // namespace vx

#endif
