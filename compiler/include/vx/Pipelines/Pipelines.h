// The phases as pass pipelines (docs/phases.md).
#ifndef VX_PIPELINES_PIPELINES_H
#define VX_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "vx/Autodiff/SavedValues.h"
#include "vx/Target/TargetBackend.h"
#include <functional>

namespace vx {

#define GEN_PASS_DECL
#include "vx/Pipelines/Passes.h.inc"

/// The phases in order. `import` comes from a frontend, `module` is the file.
enum class Phase { Import, Graph, Grad, Optimised, Fused, Kernels, Schedule, Target, Module };
/// As `--stop-after` spells them; null for an unknown name.
std::optional<Phase> parsePhase(llvm::StringRef name);
llvm::StringRef getPhaseName(Phase phase);

/// The trained values and the options of training, for `vx-constants-to-variables` and `vx-build-train-step`.
struct TrainingOptions {
  std::vector<std::string> train, freeze;
  std::string loss, optimizer;
  double clipNorm = 0, clipValue = 0; // 0: none
  bool keepGradients = false;         // add the halves of a step too
  bool scalesLoss = false;            // gradients are those of the loss times a scale that follows from them
  bool freezesDropout = false;        // dropouts are left out of the training step, too
  bool freezesBatchNorm = false;      // batch norms of the training step use the model's statistics, too
  int64_t classes = 0;                // of a new head; 0: the model's
  bool startsRandom = false;          // trained values start with random values
  // For a model that computes its loss and has variables: the functions that compute the loss, and that predict. Then
  // `train`, `loss`, `classes` and `startsRandom` have no effect.
  std::string evaluate, predict;
  double rate = 0; // the learning rate if the caller of a step states none; 0: the caller must
};

struct GraphOptions {
  std::vector<std::string> dims; // symbols with one value in the whole model: "batch=1"
  bool strictMath = false;       // preserve every rounding step of the model
  std::string gradientOf;        // an output; empty: no function `gradient` is added
  std::vector<std::string> gradientWrt;
  std::optional<TrainingOptions> training; // none: no functions that train are added
};

struct GradOptions {
  int64_t memory = 0;             // the most bytes of the arena of a training step; 0: no limit
  std::vector<std::string> sizes; // planned sizes of symbols for it: "batch=32"
  SavedReport *saved = nullptr;   // the stored and the recomputed values; outlives the pipeline
};

struct OptimisedOptions {
  std::vector<std::string> dims; // symbols to specialise for one version of the model: "batch=1"
  bool strictMath = false;       // preserve every rounding step of the model
  std::string precision = "f32"; // of contractions: f32, tf32, f16 or bf16
};

/// True for a name that `OptimisedOptions::precision` may have.
bool isPrecision(llvm::StringRef name);

/// import -> graph: normalises the model, once
void buildGraphPipeline(mlir::OpPassManager &pm, const GraphOptions &options);
/// graph -> grad, once
void buildGradPipeline(mlir::OpPassManager &pm, const GradOptions &options);
/// grad -> optimised, for one version of the model: the general one, or one with some of its sizes
void buildOptimisedPipeline(mlir::OpPassManager &pm, const OptimisedOptions &options);
/// optimised -> fused, for one target. `strictMath` keeps every rounding step of the model.
void buildFusedPipeline(mlir::OpPassManager &pm, const TargetBackend &backend, const TargetSpec &spec, bool strictMath);
/// fused -> kernels
void buildKernelsPipeline(mlir::OpPassManager &pm, const TargetBackend &backend);
/// kernels -> schedule
void buildSchedulePipeline(mlir::OpPassManager &pm);

/// Asks `backend` for the strategy of each fusion region. Needs a backend, so it has no command-line name.
std::unique_ptr<mlir::Pass> createChooseStrategiesPass(const TargetBackend &backend, const TargetSpec &spec);

/// The backend of a name; null for an unknown one.
using TargetLookup = std::function<const TargetBackend *(llvm::StringRef name)>;

/// Registers the pipelines above by name with the tools: `vx-graph`, `vx-grad`, `vx-optimised`, `vx-fused{target=cpu}`,
/// `vx-kernels{target=cpu}` and `vx-schedule`. Thread-compatible.
void registerPhasePipelines(TargetLookup lookup);

#define GEN_PASS_REGISTRATION
#include "vx/Pipelines/Passes.h.inc"

} // namespace vx

#endif
