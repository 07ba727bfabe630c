// Code generation that the GPU targets which go through LLVM share: CUDA and ROCm.
//
// A target brings its machine (MachineOptions), its conversion of `gpu` ops, and how a kernel is marked.
#ifndef VX_CODEGEN_LLVMGPU_H
#define VX_CODEGEN_LLVMGPU_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "vx/Analysis/TargetSpec.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/ADT/StringExtras.h"
#include <memory>
#include <string>

namespace vx {

#define GEN_PASS_DECL
#include "vx/Codegen/LLVMGPU/Passes.h.inc"

/// Attribute of the function that the runtime starts: it takes the address of the parameter block.
inline constexpr llvm::StringLiteral kGPUEntryAttr = "vxk.entry";

/// #llvm.loop_annotation of a loop. The conversions to cf and to the LLVM dialect hand attributes on from it to its
/// last branch.
inline constexpr llvm::StringLiteral kLoopAnnotationAttr = "llvm.loop_annotation";

/// Address spaces, the same numbers on both targets.
inline constexpr unsigned kGlobalAddressSpace = 1, kWorkgroupAddressSpace = 3;

/// Appends the passes from a function of memref, scf, arith and vxk ops to one of gpu, cf, arith and LLVM ops that
/// reads the parameter block. They are the same for all targets. Then the target's own conversion to the LLVM dialect
/// follows, and the cleanup after it. `subgroupSize` is the number of threads that run as one: 32 or 64. With
/// `keepStepsRolled` no loop with a barrier is unrolled later on.
void buildLLVMGPUPipeline(mlir::OpPassManager &pm, int64_t subgroupSize, bool keepStepsRolled,
                          std::unique_ptr<mlir::Pass> conversion);

/// Fails with a diagnostic at `op` when it has an element type that kernels of these targets do not support.
llvm::LogicalResult checkLLVMGPUSupported(mlir::Operation *op, llvm::StringRef target);

/// Conversion to the LLVM dialect of everything but `gpu` ops. Float arithmetic is contracted only if an op states so.
/// `privateSpace` is the address space of a thread's own memory.
void populateLLVMGPUConversion(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns,
                               unsigned privateSpace);

/// Converts `module` with the patterns; functions without `kGPUEntryAttr` become internal and are inlined.
/// `markKernel` gets each entry and its number of threads.
llvm::LogicalResult convertToLLVMGPU(mlir::ModuleOp module, mlir::LLVMTypeConverter &converter,
                                     mlir::RewritePatternSet &&patterns, mlir::ConversionTarget &target,
                                     llvm::function_ref<void(mlir::Operation *kernel, int64_t threads)> markKernel);

/// The specs of the variants that `request` names, or of `defaults` if it names none. A `Variant` has a `name`, which
/// is also LLVM's name of the GPU; `describe` fills in the fields that differ. Fails with `error` set to a message that
/// lists the names known.
template <typename Variant>
mlir::FailureOr<std::vector<TargetSpec>>
chooseLLVMGPUVariants(llvm::StringRef target, llvm::ArrayRef<Variant> known,
                      llvm::ArrayRef<llvm::StringLiteral> defaults, llvm::ArrayRef<std::string> request,
                      llvm::function_ref<void(const Variant &, TargetSpec &)> describe, std::string &error) {
  std::vector<std::string> names = request.vec();
  if (names.empty())
    names.assign(defaults.begin(), defaults.end());
  std::vector<TargetSpec> specs;
  for (const std::string &name : names) {
    const Variant *found = llvm::find_if(known, [&](const Variant &variant) { return variant.name == name; });
    if (found == known.end()) {
      auto listed = llvm::map_range(known, [](const Variant &variant) { return variant.name.str(); });
      error = "unknown variant '" + name + "' of target '" + target.str() + "', known are: " + llvm::join(listed, ", ");
      return mlir::failure();
    }
    TargetSpec &spec = specs.emplace_back();
    spec.target = target;
    spec.variant = spec.cpu = name;
    spec.requires_ = {name};
    spec.maxThreads = 256;
    // The most that a kernel gets without asking the driver for more.
    spec.workgroupMemory = 48 << 10;
    describe(*found, spec);
  }
  return specs;
}

/// The options of LLVM's code generator.
struct MachineOptions {
  TargetSpec spec;
  /// Registers LLVM's back end; called once or more often, from any thread.
  void (*initialize)();
  bool isAssembly = true;
  /// Null, or the target's last step on the optimised code.
  void (*finish)(llvm::Module &code) = nullptr;
};

/// Optimises and compiles a module of the LLVM dialect. Fails with a diagnostic at `module`, also when the code calls a
/// function that is not there.
mlir::FailureOr<llvm::SmallVector<char, 0>> compileLLVMGPU(mlir::ModuleOp module, const MachineOptions &options);

/// The one entry's name; a diagnostic when there is none or more than one.
mlir::FailureOr<std::string> getLLVMGPUEntry(mlir::ModuleOp module);

/// The dialects and translations that the passes here and `compileLLVMGPU` need.
void registerLLVMGPUDialects(mlir::DialectRegistry &registry);

/// Registers the passes of this component with the tools. Thread-compatible.
void registerLLVMGPUPasses();

} // namespace vx

#endif
