// Passes of Target/ROCM.
#ifndef VX_TARGET_ROCM_PASSES
#define VX_TARGET_ROCM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToROCDLPass : Pass<"vx-convert-to-rocdl", "::mlir::ModuleOp"> {
  let summary = "Convert a kernel of gpu, cf, arith and memref ops to the LLVM dialect with ROCDL ops";
  let description = [{
    The last lowering of `--target=rocm`, after `vx-gpu-lower-kernel-interface`. The entry is marked as a kernel with workgroups of exactly
    the threads that code generation chose; it takes the address of the parameter block and no hidden arguments. Nothing of the device
    libraries is called.

    Numerics: a float operation is contracted only if it states so; division and square root are rounded correctly; denormals stay. Needs:
    `vx-expand-math` before it. Keeps: dynamic shapes.
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"\"gfx942\"", "The GPU, as LLVM names it">,
                 Option<"wavefront", "wavefront", "int64_t", /*default=*/"64", "Threads of a wavefront: 32 or 64">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect"];
}

def ROCMPrintAssemblyPass : Pass<"vx-rocm-print-assembly", "::mlir::ModuleOp"> {
  let summary = "Print the assembly that a module in the LLVM dialect compiles to";
  let description = [{ For tests and for reading: generates code as the target does, and prints it as text to stdout. }];
  let options = [Option<"variant", "variant", "std::string", /*default=*/"\"gfx942\"", "ROCm variant">];
}

#endif
