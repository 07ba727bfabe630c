// Passes of Codegen/LLVMGPU.
#ifndef VX_CODEGEN_LLVMGPU_PASSES
#define VX_CODEGEN_LLVMGPU_PASSES

include "mlir/Pass/PassBase.td"

def GPUExpandSubgroupsPass : Pass<"vx-gpu-expand-subgroups", "::mlir::func::FuncOp"> {
  let summary = "Compute with subgroups of a known size";
  let description = [{
    The size of a subgroup becomes a constant, and the number of a subgroup and of a thread in it parts of the thread's number.
    `gpu.subgroup_reduce` becomes a butterfly of `gpu.shuffle`s of 32-bit words, in which each thread combines its value with that of the
    thread with a number that differs in one bit: all threads get the same bits. Needs: nothing. Keeps: everything else. Numerics: a sum is
    a tree over the bits of the thread's number, from the lowest to the highest.
  }];
  let options = [Option<"subgroupSize", "subgroup-size", "int64_t", /*default=*/"32", "Threads of a subgroup, a power of 2">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::vxk::VXKDialect"];
}

def GPULowerKernelInterfacePass : Pass<"vx-gpu-lower-kernel-interface", "::mlir::ModuleOp"> {
  let summary = "Read the values of vxk ops from the parameter block of a GPU kernel";
  let description = [{
    Splits each kernel `@k` in two. The device starts `@k(block)`: it computes the linear number of the workgroup, reads the buffers'
    addresses as pointers to global memory, and calls `@k.body`. The pointer arguments of that are `noalias`, which tells LLVM that buffers
    do not overlap. Inlining combines the two again. The buffers of `vxk.in_place` get no such promise: the schedule may have placed a
    result over an operand.

    Workgroup memory (`memref.alloc` in `#gpu.address_space<workgroup>`) becomes global variables of the module. Threads, workgroups and
    barriers become `gpu` ops, which each target converts. `vxk.report_fault` becomes an atomic addition in line: a call would need a
    stack. Remainders of floats are divided out exactly. Needs: `vx-flatten-memrefs`. Keeps: dynamic sizes.

    Loops over products of fragments are marked so that they are not unrolled later on, with `keep-steps-rolled` all loops with a barrier.
  }];
  let options = [Option<"keepStepsRolled", "keep-steps-rolled", "bool", /*default=*/"false",
                        "Do not unroll loops with barriers">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif
