// Compiled kernels on disk, by canonical key.
#ifndef VX_LIB_DRIVER_KERNELCACHE_H
#define VX_LIB_DRIVER_KERNELCACHE_H

#include "vx/Target/TargetBackend.h"
#include <mutex>
#include <optional>
#include <string>

namespace vx {

/// What tells this compiler's code from another's: the build ids of the libraries that make the code (the compiler's
/// own and those of LLVM and MLIR), or, for one without an id, its size and the time of its last change.
std::string getCompilerIdentity();

/// All that a variant says, as text: two specs have the same text only when they are equal in every field.
std::string serializeSpec(const TargetSpec &spec);

/// Thread-safe. A cache that cannot be read or written is no error: the kernel is compiled instead, and `problem` says
/// why. An entry carries a hash of its bytes, and one that does not match is ignored.
class KernelCache {
public:
  /// `folder` is made when needed; an empty one switches the cache off.
  explicit KernelCache(std::string folder);

  std::optional<KernelBinary> load(llvm::StringRef kernelKey, const TargetSpec &spec);
  void store(llvm::StringRef kernelKey, const TargetSpec &spec, const KernelBinary &binary);

  /// The first reason why the cache could not be used, with its name; empty when there was none.
  std::string problem() const;

private:
  std::string getPath(llvm::StringRef kernelKey, const TargetSpec &spec) const;
  void setProblem(const std::string &reason);

  std::string folder;
  std::string compilerIdentity; // another compiler, another key
  std::once_flag isCleaned;
  mutable std::mutex mutex;
  std::string firstProblem;
};

} // namespace vx

#endif
