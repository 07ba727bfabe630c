// From the LLVM dialect to what a GPU's code generator makes.
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "vx/Codegen/Common/MachineCode.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace vx {

FailureOr<llvm::SmallVector<char, 0>> compileLLVMGPU(ModuleOp module, const MachineOptions &options) {
  const TargetSpec &spec = options.spec;
  options.initialize();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(spec, llvm::CodeGenOptLevel::Aggressive, llvm::TargetOptions(), error);
  if (!machine)
    return module.emitError() << "target '" << spec.target << "' for '" << spec.cpu << "': " << error;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "kernel");
  if (!code)
    return module.emitError() << "target '" << spec.target << "': kernel does not translate to LLVM IR";
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  setFunctionAttributes(*code, spec);
  optimize(*code, *machine, llvm::OptimizationLevel::O3, llvm::PipelineTuningOptions());
  if (options.finish)
    options.finish(*code);
  for (llvm::Function &function : *code)
    if (function.isDeclaration() && !function.isIntrinsic())
      return module.emitError() << "kernel calls '" << function.getName() << "', which vx does not supply on target '"
                                << spec.target << "'";

  return emitCode(*code, *machine,
                  options.isAssembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile);
}

void registerLLVMGPUDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  gpu::GPUDialect, index::IndexDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect, vxk::VXKDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

} // namespace vx
