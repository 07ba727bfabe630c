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

def LowerContractionPass : Pass<"vx-lower-contraction", "::mlir::func::FuncOp"> {
  let summary = "Compute a contraction with register blocks and staging in workgroup memory";
  let description = [{
    For kernels of the strategies `matmul` and `conv`. Each step over the summed dimensions (`reduction` of the strategy) brings a
    slice of both factors into workgroup memory, with whatever produces them computed on the way; then each thread adds the
    products of a block (`vector`) of rows and columns of the tile to accumulators that it keeps in registers. What reads the
    contraction's result is computed from the accumulators, and only the kernel's results are stored.

    A convolution is the same with the filter as one factor and the patches of the input as the other one.

    A kernel whose contraction has another form (another reduction than a sum of products, groups, a result that is read across
    elements) is left to `vx-lower-to-loops`. Needs: form 4. Keeps: dynamic sizes.
    Numerics: each sum is in the order of the dimensions summed over, whatever the tile.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::vxk::VXKDialect"];
}

#endif
