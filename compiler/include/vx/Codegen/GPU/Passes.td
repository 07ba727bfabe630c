// Passes of Codegen/GPU.
#ifndef VX_CODEGEN_GPU_PASSES
#define VX_CODEGEN_GPU_PASSES

include "mlir/Pass/PassBase.td"

def FlattenMemrefsPass : Pass<"vx-flatten-memrefs", "::mlir::func::FuncOp"> {
  let summary = "Make every memref one-dimensional, with explicit index arithmetic";
  let description = [{
    Each access becomes one of a one-dimensional memref of the whole allocation:

        %m = vxk.buffer 0 read (%n) : memref<?x8xf32>
        %v = memref.load %m[%i, %j] : memref<?x8xf32>

    becomes

        %m = vxk.buffer 0 read (%size) : memref<?xf32>
        %v = memref.load %m[%i * 8 + %j] : memref<?xf32>

    Subviews, casts, reshapes and `memref.dim` are resolved into offsets, sizes and strides. Index arithmetic is 64-bit.
    A memref that comes out of control flow is an error. Needs: strided memrefs of kernels. Keeps: dynamic shapes.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::vxk::VXKDialect"];
}

#endif
