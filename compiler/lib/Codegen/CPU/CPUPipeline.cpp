#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Codegen/CPU.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Conversion/VXToLinalg.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_REGISTRATION
#include "vx/Codegen/CPU/Passes.h.inc"

static void buildPipeline(OpPassManager &pm, int64_t vectorBits, int64_t registers, bool hasByteDots) {
  pm.addPass(createConvertToLinalgPass());
  pm.addPass(createVerifyNoEncodingPass());
  CPULowerProductsPassOptions products;
  products.vectorBits = vectorBits;
  products.registers = registers;
  products.hasByteDots = hasByteDots;
  pm.addNestedPass<func::FuncOp>(createCPULowerProductsPass(products));
  CPULowerDepthwisePassOptions depthwise;
  depthwise.vectorBits = vectorBits;
  depthwise.registers = registers;
  pm.addNestedPass<func::FuncOp>(createCPULowerDepthwisePass(depthwise));
  CPULowerAttentionPassOptions attention;
  attention.vectorBits = vectorBits;
  attention.registers = registers;
  pm.addNestedPass<func::FuncOp>(createCPULowerAttentionPass(attention));
  pm.addNestedPass<func::FuncOp>(createCPULowerTopPlacesPass({vectorBits}));
  pm.addNestedPass<func::FuncOp>(createCPULowerSelectBoxesPass({vectorBits}));
  pm.addNestedPass<func::FuncOp>(createCPULowerCumulativeSumPass({vectorBits}));
  pm.addNestedPass<func::FuncOp>(createLowerMergeRunsPass());
  LowerPagedAttentionPassOptions paged;
  paged.lanes = vectorBits / 32;
  pm.addNestedPass<func::FuncOp>(createLowerPagedAttentionPass(paged));
  LowerToLoopsPassOptions loops;
  // Lanes of 32 bits: a vector of wider elements takes two registers, one of narrower elements half a register.
  loops.lanes = vectorBits / 32;
  pm.addNestedPass<func::FuncOp>(createLowerToLoopsPass(loops));
  // The variants with vectors of 512 bits have the instruction.
  pm.addPass(createExpandMathPass({/*hasScale=*/vectorBits == 512}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
}

void buildCPUCodegenPipeline(OpPassManager &pm, const TargetSpec &spec) {
  buildPipeline(pm, spec.vectorBits, spec.registers, spec.hasByteDots);
}

namespace {
struct CodegenOptions : PassPipelineOptions<CodegenOptions> {
  Option<int64_t> vectorBits{*this, "vector-bits", llvm::cl::desc("Bits of a vector register"), llvm::cl::init(512)};
  Option<int64_t> registers{*this, "registers", llvm::cl::desc("Vector registers"), llvm::cl::init(32)};
  Option<bool> hasByteDots{*this, "byte-dots",
                           llvm::cl::desc("One instruction does a dot of an unsigned and a signed factor"),
                           llvm::cl::init(false)};
};
} // namespace

void registerCPUCodegenPasses() {
  registerCodegenCPUPasses();
  PassPipelineRegistration<CodegenOptions>("vx-cpu-codegen", "From a vx.kernel to loops and vectors for a CPU",
                                           [](OpPassManager &pm, const CodegenOptions &options) {
                                             buildPipeline(pm, options.vectorBits, options.registers,
                                                           options.hasByteDots);
                                           });
}

} // namespace vx
