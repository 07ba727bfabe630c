// The phases by name, so that vx-opt makes what the driver makes.
#include "vx/Pipelines/Pipelines.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace vx {

namespace {

struct GraphPipelineOptions : PassPipelineOptions<GraphPipelineOptions> {
  ListOption<std::string> dims{*this, "dims", llvm::cl::desc("Symbols to specialise: batch=1")};
  Option<bool> strictMath{*this, "strict-math", llvm::cl::desc("Keep every rounding step of the model"),
                          llvm::cl::init(false)};
};

struct GradPipelineOptions : PassPipelineOptions<GradPipelineOptions> {
  Option<int64_t> memory{*this, "memory", llvm::cl::desc("Bytes that the arena of a training step may take; 0: any"),
                         llvm::cl::init(0)};
  ListOption<std::string> sizes{*this, "sizes", llvm::cl::desc("Sizes that symbols are planned with: batch=32")};
};

struct OptimisedPipelineOptions : GraphPipelineOptions {
  Option<std::string> precision{*this, "precision", llvm::cl::desc("Of contractions: f32, tf32, f16 or bf16"),
                                llvm::cl::init("f32")};
};

struct TargetPipelineOptions : PassPipelineOptions<TargetPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("Name of the target")};
  ListOption<std::string> variants{*this, "variants",
                                   llvm::cl::desc("Its variants, best first; empty: the target's default")};
};

using ErrorHandler = llvm::function_ref<LogicalResult(const llvm::Twine &)>;
using TargetBuilder = llvm::function_ref<void(OpPassManager &, const TargetBackend &, const TargetSpec &)>;

LogicalResult buildForTarget(OpPassManager &pm, StringRef text, ErrorHandler fail, const TargetLookup &lookup,
                             TargetBuilder build) {
  TargetPipelineOptions options;
  if (failed(options.parseFromString(text)))
    return failure();
  const TargetBackend *backend = lookup(options.target);
  if (!backend)
    return fail("expected the name of a target, got '" + options.target + "'");
  std::string error;
  FailureOr<std::vector<TargetSpec>> specs =
      backend->variants(std::vector<std::string>(options.variants.begin(), options.variants.end()), error);
  if (failed(specs))
    return fail(error);
  build(pm, *backend, specs->front());
  return success();
}

void registerForTarget(StringRef name, StringRef description, const TargetLookup &lookup,
                       void (*build)(OpPassManager &, const TargetBackend &, const TargetSpec &)) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &pm, StringRef text, ErrorHandler fail) {
        return buildForTarget(pm, text, fail, lookup, build);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> handle) { handle(TargetPipelineOptions()); });
}

} // namespace

void registerPhasePipelines(TargetLookup lookup) {
  PassPipelineRegistration<GraphPipelineOptions>("vx-graph", "From the import phase to the graph phase",
                                                 [](OpPassManager &pm, const GraphPipelineOptions &options) {
                                                   GraphOptions graph;
                                                   graph.dims.assign(options.dims.begin(), options.dims.end());
                                                   graph.strictMath = options.strictMath;
                                                   buildGraphPipeline(pm, graph);
                                                 });
  PassPipelineRegistration<GradPipelineOptions>("vx-grad", "From the graph phase to the grad phase",
                                                [](OpPassManager &pm, const GradPipelineOptions &options) {
                                                  GradOptions grad;
                                                  grad.memory = options.memory;
                                                  grad.sizes.assign(options.sizes.begin(), options.sizes.end());
                                                  buildGradPipeline(pm, grad);
                                                });
  PassPipelineRegistration<OptimisedPipelineOptions>("vx-optimised", "From the grad phase to the optimised phase",
                                                     [](OpPassManager &pm, const OptimisedPipelineOptions &options) {
                                                       OptimisedOptions optimised;
                                                       optimised.dims.assign(options.dims.begin(), options.dims.end());
                                                       optimised.strictMath = options.strictMath;
                                                       optimised.precision = options.precision;
                                                       buildOptimisedPipeline(pm, optimised);
                                                     });
  registerForTarget("vx-fused", "From the optimised phase to the fused phase, as the target asks for it", lookup,
                    [](OpPassManager &pm, const TargetBackend &backend, const TargetSpec &spec) {
                      buildFusedPipeline(pm, backend, spec, /*strictMath=*/false);
                    });
  registerForTarget(
      "vx-kernels", "From the fused phase to the kernels phase", lookup,
      [](OpPassManager &pm, const TargetBackend &backend, const TargetSpec &) { buildKernelsPipeline(pm, backend); });
  PassPipelineRegistration<>("vx-schedule", "From the kernels phase to the schedule phase", buildSchedulePipeline);
}

} // namespace vx
