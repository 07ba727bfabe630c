// Writes module files (docs/module-format.md) from scheduled modules and linked kernels.
#ifndef VX_MODULE_MODULEWRITER_H
#define VX_MODULE_MODULEWRITER_H

#include "mlir/IR/BuiltinOps.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Dialect/VX/IR/ExportSkeleton.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace vx {

/// A schedule of one target: a module of the `schedule` phase, used when every symbol has its value.
struct ScheduledModule {
  mlir::ModuleOp module;
  std::vector<std::pair<std::string, int64_t>> constraints; // empty: any size
};

/// The contents of a module file for one target.
struct TargetContents {
  std::string target;
  std::string triple;                     // cpu
  std::vector<ScheduledModule> schedules; // the special ones first, the general one last
  std::vector<KernelOp> kernels;          // each key once; images have this order
  struct Variant {
    TargetSpec spec;
    LinkedImage image;
    std::vector<std::string> entries; // one per kernel
  };
  std::vector<Variant> variants; // best first
};

/// Bytes that come along with a module; programs never read them.
struct ModuleAsset {
  std::string name; // unique
  std::string kind; // a media type
  std::string bytes;
};

/// A file of the model that a module may read constants from. Its folder is the module's.
struct ReferencedFile {
  std::string path;
  llvm::ArrayRef<char> bytes; // of the whole file; constants that point into them are read from the file
};

struct ModuleWriterOptions {
  std::string modelName;
  bool externalWeights = false;
  llvm::ArrayRef<ReferencedFile> referencedFiles = {};
  const ExportSkeleton *skeleton = nullptr; // of a module that trains; null: none
  llvm::ArrayRef<ModuleAsset> assets = {};
  std::function<std::string(const std::string &path)>
      verify; // why no runtime would load this file; empty when one would
  /// Called when all bytes are written, before a file has its name. False discards them, with a reason.
  std::function<bool(std::string &error)> confirm;
};

/// The path of external weights: OUT.weights beside OUT.vxm.
std::string getWeightsPath(llvm::StringRef modulePath);

/// A module in memory. It begins at a page, as in a file that is mapped.
class ModuleBytes {
public:
  static constexpr size_t pageSize = 4096;

  const char *data() const { return reinterpret_cast<const char *>(pages.data()); }
  size_t size() const { return used; }
  void reserve(uint64_t bytes) { pages.reserve(bytes / pageSize + 1); }
  void append(const void *bytes, size_t count);
  /// Of bytes that were appended before.
  void overwrite(size_t offset, const void *bytes, size_t count);

private:
  struct alignas(pageSize) Page {
    char bytes[pageSize];
  };
  std::vector<Page> pages;
  size_t used = 0;
};

/// Writes a module to `bytes`, which are empty before, and again when it fails. `options` must have no external
/// weights, no referenced files and no `verify`, which are for files.
llvm::LogicalResult writeModule(ModuleBytes &bytes, llvm::ArrayRef<TargetContents> targets,
                                const ModuleWriterOptions &options, std::string &error);

/// Writes `path` and, with external weights, `getWeightsPath(path)`. A file is written beside its name and renamed when
/// it is complete and verified. So a failure leaves no file, and of a pair both files are written or none. Fails with
/// `error` set; all schedules are of one MLIR context.
llvm::LogicalResult writeModule(llvm::StringRef path, llvm::ArrayRef<TargetContents> targets,
                                const ModuleWriterOptions &options, std::string &error);

} // namespace vx

#endif
