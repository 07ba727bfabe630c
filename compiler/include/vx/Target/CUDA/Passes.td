// Passes of Target/CUDA.
#ifndef VX_TARGET_CUDA_PASSES
#define VX_TARGET_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToNVVMPass : Pass<"vx-convert-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Convert a kernel of gpu, cf, arith and memref ops to the LLVM dialect with NVVM ops";
  let description = [{
    The last lowering of `--target=cuda`, after `vx-gpu-lower-kernel-interface`. The entry is marked as a kernel with workgroups of exactly
    the threads that code generation chose. Nothing of libdevice is called.

    Numerics: a float operation is contracted only if it states so; every operation rounds to nearest, also division and square root
    (`div.rn`, `sqrt.rn`); denormals stay. Needs: `vx-expand-math` before it. Keeps: dynamic shapes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def CUDAPrintPTXPass : Pass<"vx-cuda-print-ptx", "::mlir::ModuleOp"> {
  let summary = "Print the PTX that a module in the LLVM dialect compiles to";
  let description = [{ For tests and for reading: makes PTX as the target does, and prints it to stdout. }];
  let options = [Option<"variant", "variant", "std::string", /*default=*/"\"sm_80\"", "CUDA variant">];
}

#endif
