// The driver: from a module of the `import` phase to a module file, or to the text of a phase on the way.
#ifndef VX_DRIVER_COMPILATION_H
#define VX_DRIVER_COMPILATION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Module/ModuleWriter.h"
#include "vx/Pipelines/Pipelines.h"
#include "vx/Target/TargetBackend.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vx {

class KernelCache;

/// The backends a compiler was built with, by name. Filled once, then immutable.
class TargetRegistry {
public:
  void add(std::unique_ptr<TargetBackend> backend, void (*registerDialects)(mlir::DialectRegistry &));
  /// Null for an unknown name.
  const TargetBackend *lookup(llvm::StringRef name) const;
  std::vector<std::string> names() const;
  /// Dialects that any backend's pipeline needs.
  void registerDialects(mlir::DialectRegistry &registry) const;
  /// Those that one target needs. Loading those of all takes longer than compiling many a kernel.
  void registerDialects(mlir::DialectRegistry &registry, llvm::StringRef target) const;

private:
  struct Entry {
    std::unique_ptr<TargetBackend> backend;
    void (*registerDialects)(mlir::DialectRegistry &);
  };
  std::map<std::string, Entry> entries;
};

/// One `--dim`: a symbol with one value (specialised), several (a bucket each, beside the general version) or a range.
struct DimOption {
  std::string name;
  std::vector<int64_t> values;
  std::optional<SymbolRange> range;
  std::vector<std::string> namesakes = {}; // symbols that have the same name in the model, and get the same values
};

struct CompilationOptions {
  std::string modelName;
  std::vector<std::string> targets;                         // at least one
  std::map<std::string, std::vector<std::string>> variants; // target -> names; absent: the target's default
  std::vector<DimOption> dims;
  /// An output and what its gradient is taken with respect to, by `vx-add-gradient-function`; empty: no such function.
  std::string gradientOf;
  std::vector<std::string> gradientWrt;
  std::optional<TrainingOptions> training; // none: no functions that train are added
  /// Bytes that the arena of a training step may take on each target; 0: any number. What it keeps of its forward part
  /// is chosen by that, at the sizes that are planned with.
  int64_t memory = 0;
  int64_t plannedBatch = 0; // rows of a batch that are planned with, where no `dims` tells; 0: nothing is known
  /// What an export of the module completes, of a module of the phase grad; nothing, with the reason in `error`, where
  /// the model cannot be written again. Null: the module has none.
  std::function<std::optional<ExportSkeleton>(mlir::ModuleOp module, std::string &error)> makeSkeleton;
  Phase stopAfter = Phase::Module;
  /// With `stopAfter`: MLIR's bytecode instead of text, whole, of the general version and one target.
  bool toBytecode = false;
  bool strictMath = false;
  std::string precision = "f32"; // as vx-apply-precision takes it
  bool externalWeights = false;
  std::vector<ModuleAsset> assets;      // of the module, in this order
  std::vector<std::string> assumptions; // for the report: what was taken for granted where the model does not say
  std::string cacheFolder;              // empty: no cache
  unsigned threads = 0;                 // 0: one for each processor
  std::function<void(const std::string &)> progress;          // called now and then with what is going on
  std::function<std::string(const std::string &path)> verify; // why no runtime would load this module file; or empty
  /// Called when the module's bytes are written, before it has its name. False gives it up, with the reason in `error`.
  std::function<bool(std::string &error)> confirm;
  /// Asked before each version of the model, each kernel and the writing, from any thread, one call at a time: true
  /// ends the compilation. Nothing is written then.
  std::function<bool()> isCancelled;
};

/// What the compilation of one kernel for one variant gave, for reports.
struct KernelReport {
  std::string target, variant, name, key;
  std::string strategy;                     // that was asked for
  std::string takenStrategy, declineReason; // the name of the one that was taken instead, and why; mostly empty
  std::string products;                     // how contractions and convolutions multiply; empty for kernels without
  std::vector<std::string> sources;
  uint64_t dispatches = 0;         // of the general version, or of the special one that alone has the kernel
  uint64_t dispatchesAtLoad = 0;   // likewise, for derived constants
  uint64_t dispatchesOnChange = 0; // likewise, for what is derived from variables
  std::string flops, bytes; // of one dispatch, over the model's symbols, or the kernel's own where dispatches differ
  uint64_t binarySize = 0;
  bool fromCache = false;
  double milliseconds = 0;
};

/// What a node of the model wants of the inputs' sizes: a call is refused where it does not hold.
struct ConstraintReport {
  std::string function, node, want;
};

/// What a call of one function does.
struct FunctionReport {
  std::string name;
  uint64_t dispatches = 0, copies = 0;
  uint64_t segments = 0; // of commands, each of which is recorded once and then replayed
  std::string arenaSize, arenaLowerBound;
};

struct ProgramReport {
  std::string target;
  std::vector<std::pair<std::string, int64_t>> constraints;
  std::string arenaSize, arenaLowerBound; // expressions over the symbols, in bytes
  uint64_t dispatches = 0;                // of a call
  uint64_t dispatchesAtLoad = 0;          // for derived constants, which are computed once
  uint64_t derivedConstants = 0, derivedBytes = 0;
  uint64_t dispatchesOnChange = 0; // for what is derived from variables, which is computed when they have changed
  uint64_t derivedOfVariables = 0, derivedOfVariablesBytes = 0;
  std::vector<FunctionReport> functions;
};

/// Sizes of `--dim` that get no version of their own, since a node can never take them together.
struct SkippedBucket {
  std::vector<std::pair<std::string, int64_t>> dims;
  std::string node, reason; // "wants sizes 'n' and 'm' equal, got 3 and 5"
};

struct CompilationReport {
  std::vector<KernelReport> kernels;
  std::vector<ProgramReport> programs;
  std::vector<ConstraintReport> constraints;
  std::vector<SkippedBucket> skipped;
  std::vector<std::string> assumptions; // as the options have them
  SavedReport saved;                    // of the functions that train
  uint64_t sourceOps = 0;               // vx ops of the optimised phase, of the general version
};

/// How a compilation ended; the numbers are exit codes of the tools, but for the last one.
enum class Outcome { Done = 0, Failed = 1, Usage = 2, Unsupported = 3, Cancelled = 5 };

/// One compilation. Errors go to the context's diagnostic handlers, located at the source nodes.
class Compilation {
public:
  Compilation(const TargetRegistry &registry, CompilationOptions options);
  ~Compilation();

  /// Compiles `module` (phase import) to `output`. With a `stopAfter` before `module`, `text` is the IR of that phase
  /// instead, for each version of the model and target in turn, and no file is written.
  Outcome run(mlir::ModuleOp module, llvm::StringRef output, std::string &text);

  /// The same to memory; `externalWeights` and `verify` are for files.
  Outcome run(mlir::ModuleOp module, ModuleBytes &output, std::string &text);

  /// No code: finds every op that some target cannot take, and reports each with its reason.
  Outcome check(mlir::ModuleOp module);

  const CompilationReport &report() const { return results; }

private:
  struct Bucket {
    using Dims = std::vector<std::pair<std::string, int64_t>>;
    Dims constraints;
    mlir::OwningOpRef<mlir::ModuleOp> module; // phase optimised
  };

  /// Writes what was made: with these options, or fails with the reason.
  using WriteFunction = llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<TargetContents>,
                                                               const ModuleWriterOptions &options, std::string &error)>;

  Outcome run(mlir::ModuleOp module, llvm::StringRef destination, std::string &text, WriteFunction write);
  Outcome applyRanges(mlir::ModuleOp module);
  /// import -> graph -> grad, for all versions of the model at once.
  Outcome normalise(mlir::ModuleOp module);
  /// The most that the arena of a function takes that trains.
  struct ArenaNeed {
    uint64_t bytes = 0;
    std::string function, target;
  };

  /// graph -> grad, with what fits `options.memory`.
  Outcome fitMemory(mlir::ModuleOp module);
  /// Of a module of the phase grad, for all targets and versions.
  Outcome measureArena(mlir::ModuleOp module, ArenaNeed &need);
  /// "batch=32" for each symbol.
  std::vector<std::string> getPlannedSizes(mlir::ModuleOp module) const;
  /// grad -> optimised, for each version of `general`, which comes last.
  Outcome optimise(mlir::ModuleOp general, std::vector<Bucket> &buckets);
  mlir::LogicalResult specialise(mlir::ModuleOp general, Bucket &bucket);
  Outcome scheduleFor(const TargetBackend &backend, const std::vector<TargetSpec> &specs, std::vector<Bucket> &buckets,
                      std::vector<mlir::OwningOpRef<mlir::ModuleOp>> &scheduled, std::string &text);
  Outcome compileKernels(const TargetBackend &backend, const std::vector<TargetSpec> &specs, TargetContents &contents,
                         std::string &text);
  void progress(const std::string &message) const {
    if (options.progress)
      options.progress(message);
  }
  /// True from the first time on that the caller says so.
  bool isCancelled();

  const TargetRegistry &registry;
  CompilationOptions options;
  std::unique_ptr<KernelCache> cache;
  CompilationReport results;
  std::mutex cancellation;
  bool wasCancelled = false;
};

} // namespace vx

#endif
