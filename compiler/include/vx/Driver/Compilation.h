// The driver: from a module of the `import` phase to a module file, or to the text of a phase in between.
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
  /// Those that one target needs. Loading those of all targets takes longer than compiling a small kernel.
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
  /// An output and the values that its gradient is with respect to, for `vx-add-gradient-function`; empty: no such
  /// function.
  std::string gradientOf;
  std::vector<std::string> gradientWrt;
  std::optional<TrainingOptions> training; // none: no functions that train are added
  /// The most bytes of the arena of a training step on each target; 0: no limit. It decides which values of the forward
  /// part the step stores, at the planned sizes.
  int64_t memory = 0;
  int64_t plannedBatch = 0; // planned rows of a batch, if no `dims` states them; 0: not known
  /// Makes the skeleton that an export completes, for a module of the phase grad. Nothing, with the reason in `error`,
  /// if the model cannot be written again. Null: the module has none.
  std::function<std::optional<ExportSkeleton>(mlir::ModuleOp module, std::string &error)> makeSkeleton;
  Phase stopAfter = Phase::Module;
  /// With `stopAfter`: MLIR's bytecode instead of text, whole, of the general version and one target.
  bool toBytecode = false;
  bool strictMath = false;
  std::string precision = "f32"; // as vx-apply-precision takes it
  bool externalWeights = false;
  std::vector<ReferencedFile> referencedFiles; // the module reads weights from them
  std::vector<ModuleAsset> assets;             // of the module, in this order
  std::vector<std::string> assumptions;        // for the report: assumptions about facts that the model does not state
  std::string cacheFolder;                     // empty: no cache
  unsigned threads = 0;                        // 0: one for each processor
  std::function<void(const std::string &)> progress;          // called at times with the current step
  std::function<std::string(const std::string &path)> verify; // why no runtime would load this module file; or empty
  /// Called when the module's bytes are written, before it has its name. False discards it, with the reason in `error`.
  std::function<bool(std::string &error)> confirm;
  /// Called before each version of the model, each kernel and the writing, from any thread, one call at a time: true
  /// ends the compilation, and nothing is written.
  std::function<bool()> isCancelled;
};

/// The result of compiling one kernel for one variant, for reports.
struct KernelReport {
  std::string target, variant, name, key;
  std::string strategy;                     // that was asked for
  std::string takenStrategy, declineReason; // the name of the one that was used instead, and why; mostly empty
  std::string loopsReason;                  // of a product in plain loops
  std::string products;                     // how contractions and convolutions multiply; empty for kernels without
  std::vector<std::string> sources;
  uint64_t dispatches = 0;         // of the general version, or of the special one that alone has the kernel
  uint64_t dispatchesAtLoad = 0;   // likewise, for derived constants
  uint64_t dispatchesOnChange = 0; // likewise, for values derived from variables
  std::string flops, bytes; // of one dispatch, over the model's symbols, or the kernel's own where dispatches differ
  uint64_t binarySize = 0;
  bool fromCache = false;
  double milliseconds = 0;
};

/// A condition of a node on the inputs' sizes: a call that breaks it is refused.
struct ConstraintReport {
  std::string function, node, want;
};

/// The work of a call of one function.
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
  uint64_t dispatchesOnChange = 0; // for values derived from variables, which are computed when these have changed
  uint64_t derivedOfVariables = 0, derivedOfVariablesBytes = 0;
  std::vector<FunctionReport> functions;
};

/// Sizes of `--dim` that get no version of their own, since a node never accepts them together.
struct SkippedBucket {
  std::vector<std::pair<std::string, int64_t>> dims;
  std::string node, reason; // "needs sizes 'n' and 'm' equal, got 3 and 5"
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

/// How a compilation ended; the numbers are exit codes of the tools, except for the last one.
enum class Outcome { Done = 0, Failed = 1, Usage = 2, Unsupported = 3, Cancelled = 5 };

/// One compilation. Errors go to the context's diagnostic handlers, located at the source nodes.
class Compilation {
public:
  Compilation(const TargetRegistry &registry, CompilationOptions options);
  ~Compilation();

  /// Compiles `module` (phase import) to `output`. With a `stopAfter` before `module`, `text` is the IR of that phase
  /// instead, for each version of the model and each target, and no file is written.
  Outcome run(mlir::ModuleOp module, llvm::StringRef output, std::string &text);

  /// The same to memory; `externalWeights`, `referencedFiles` and `verify` are for files.
  Outcome run(mlir::ModuleOp module, ModuleBytes &output, std::string &text);

  /// No code: finds every op that some target does not support, and reports each with its reason.
  Outcome check(mlir::ModuleOp module);

  const CompilationReport &report() const { return results; }

private:
  struct Bucket {
    using Dims = std::vector<std::pair<std::string, int64_t>>;
    Dims constraints;
    mlir::OwningOpRef<mlir::ModuleOp> module; // phase optimised
  };

  /// Writes the module with these options, or fails with the reason.
  using WriteFunction = llvm::function_ref<mlir::LogicalResult(llvm::ArrayRef<TargetContents>,
                                                               const ModuleWriterOptions &options, std::string &error)>;

  Outcome run(mlir::ModuleOp module, llvm::StringRef destination, std::string &text, WriteFunction write);
  Outcome applyRanges(mlir::ModuleOp module);
  /// import -> graph -> grad, for all versions of the model at once.
  Outcome normalise(mlir::ModuleOp module);
  /// The largest arena of the functions that train.
  struct ArenaNeed {
    uint64_t bytes = 0;
    std::string function, target;
  };

  /// graph -> grad, with stored values that fit `options.memory`.
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
  /// True after the caller has asked for the end once.
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
