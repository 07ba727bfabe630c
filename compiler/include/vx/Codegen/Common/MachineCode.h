// From LLVM IR to code, the same way for every target that goes through LLVM.
#ifndef VX_CODEGEN_COMMON_MACHINECODE_H
#define VX_CODEGEN_COMMON_MACHINECODE_H

#include "vx/Analysis/TargetSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <memory>
#include <string>

namespace vx {

/// LLVM's code generator for a variant: a product and a sum are fused to one rounding only if the program states so.
/// Null with `error` set when the triple names no target that is linked in and registered.
std::unique_ptr<llvm::TargetMachine> createMachine(const TargetSpec &spec, llvm::CodeGenOptLevel level,
                                                   llvm::TargetOptions options, std::string &error);

/// Marks each function that is defined here with its processor, and as one that neither traps nor unwinds.
void setFunctionAttributes(llvm::Module &code, const TargetSpec &spec);

/// LLVM's pipeline of this level. There is no C library: no loop becomes a call of one.
void optimize(llvm::Module &code, llvm::TargetMachine &machine, llvm::OptimizationLevel level,
              const llvm::PipelineTuningOptions &tuning);

/// The code as an object file or as assembly, of which the target has the one that is asked for.
llvm::SmallVector<char, 0> emitCode(llvm::Module &code, llvm::TargetMachine &machine, llvm::CodeGenFileType type);

/// Kernels in sequence, each padded to a multiple of `alignment` bytes.
LinkedImage joinKernels(llvm::ArrayRef<KernelBinary> kernels, size_t alignment, char fill);

} // namespace vx

#endif
