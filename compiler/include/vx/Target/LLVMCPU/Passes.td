// Passes of the CPU target, from the memref form (memref, vector, scf, arith, vxk) to the LLVM dialect.
#ifndef VX_TARGET_LLVMCPU_PASSES
#define VX_TARGET_LLVMCPU_PASSES

include "mlir/Pass/PassBase.td"

def CPULowerVectorsPass : Pass<"vx-cpu-lower-vectors", "::mlir::func::FuncOp"> {
  let summary = "Unroll vectors to the native width and lower structured vector ops";
  let description = [{
    Vectors become one-dimensional and at most `vector-bits` wide before conversion to LLVM, since LLVM's own splitting of wide
    vectors spills. Contractions become outer products of `vector.fma`; transfers become loads, stores and masked loads and stores.

    A sum or product over the lanes of a vector (`vector.reduction`) becomes a tree: its upper half is added to its lower half until one
    lane is left. A given vector length has one order of additions on every variant.

    Needs: nothing. Keeps: scalar code.
    Numerics: fixes the order of lane reductions, which `vector.reduction` leaves open.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Native vector width in bits">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect", "::mlir::ub::UBDialect"];
}

def CPUExpandMasksPass : Pass<"vx-cpu-expand-masks", "::mlir::func::FuncOp"> {
  let summary = "Read and write whole vectors without a mask where the processor has no masked instruction";
  let description = [{
    LLVM makes a branch for each lane of a masked load or store of elements that no masked instruction takes: of bytes and f16 without AVX-512,
    of all elements without AVX. Here one branch takes the whole vector if all of its lanes are set, as those inside of a row are.

    Needs: vectors of one dimension. Keeps: constant masks, and elements of `masked-bits` and more.
  }];
  let options = [Option<"maskedBits", "masked-bits", "int64_t", /*default=*/"32", "Bits of the least element that masked instructions take">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def CPULowerKernelInterfacePass : Pass<"vx-cpu-lower-kernel-interface", "::mlir::ModuleOp"> {
  let summary = "Read the values of vxk ops from the parameter block";
  let description = [{
    Splits each kernel `@k` in two. The runtime calls `@k(block, wx, wy)`: it reads the buffers' addresses and calls `@k.body`. The pointer
    arguments of that are `noalias`, which tells LLVM that buffers do not overlap. Inlining combines the two again. The buffers of
    `vxk.in_place` get no such promise: the schedule may have placed a result over an operand.

    `vxk.report_fault` becomes a call of one function that is never inlined. Stack buffers move to the function's entry.

    Fails on `memref.alloc`, and on `memref.alloca` of unknown size or above 256 KiB in all.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

def CPUConvertToLLVMPass : Pass<"vx-cpu-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert everything that is left of a kernel to the LLVM dialect";
  let description = [{
    One conversion for func, cf, arith, math, index, memref, vector and ub ops and `vxk.dot`, with 64-bit indices. Never reassociates and
    never contracts floating-point arithmetic.
  }];
  let options = [Option<"hasByteDots", "byte-dots", "bool", /*default=*/"false", "One instruction does a dot of an unsigned and a signed factor">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CPUPrintAssemblyPass : Pass<"vx-cpu-print-assembly", "::mlir::ModuleOp"> {
  let summary = "Print the assembly that a module in the LLVM dialect compiles to";
  let description = [{ For tests and for reading: generates code as the target does, and prints it as text to stdout. }];
  let options = [Option<"variant", "variant", "std::string", /*default=*/"\"x86-64-v3\"", "CPU variant">,
                 Option<"emitLLVM", "emit-llvm", "bool", /*default=*/"false", "Print the optimised LLVM IR instead">];
}

#endif
