// Passes of Codegen/GPU.
#ifndef VX_CODEGEN_GPU_PASSES
#define VX_CODEGEN_GPU_PASSES

include "mlir/Pass/PassBase.td"

def BoundShiftsPass : Pass<"vx-bound-shifts", "::mlir::func::FuncOp"> {
  let summary = "Define shifts by the width of the type or more";
  let description = [{
    A constant shift by the type's width or more is undefined; it becomes 0, or for `arith.shrsi` the sign in every bit. An example is `x >>
    32` of a 64-bit number with a small range: `arith-int-range-narrowing` computes it in 32 bits with the same amount. Needs: nothing.
    Keeps: shifts that are defined. Idempotent.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

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

def GPULowerTopPlacesPass : Pass<"vx-gpu-lower-top-places", "::mlir::func::FuncOp"> {
  let summary = "Find the first elements of rows by a sort of the best ones in workgroup memory";
  let description = [{
    For kernels of the strategy `sort`. A workgroup has a row; an entry is an element's code and its position:

        for each part of the row:
          read its entries behind the best ones so far
          where one is before the worst of these: sort all, by a bitonic network
        result = the places of the first ones

    A row of at most 1024 elements is sorted at once.

    Needs: the linalg form. Keeps: dynamic sizes.
    Numerics: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::vxk::VXKDialect"];
}

def GPULowerSelectBoxesPass : Pass<"vx-gpu-lower-select-boxes", "::mlir::func::FuncOp"> {
  let summary = "Select boxes that overlap no better one, from sorted batches of the best ones";
  let description = [{
    For kernels of the strategy `sort`. A workgroup has a class:

        while there are more candidates and room for boxes:
          sort the next few best ones                            (in workgroup memory, as `vx-gpu-lower-top-places`)
          for each, while there is room:
            compare it with all that are selected                (shared out to the threads)
            select it, unless it overlaps one

    Needs: the linalg form. Keeps: dynamic sizes, sizes of 0.
    Numerics: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::vxk::VXKDialect"];
}

def GPULowerAttentionPass : Pass<"vx-gpu-lower-attention", "::mlir::func::FuncOp"> {
  let summary = "Compute attention block by block of the keys, without the scores in memory";
  let description = [{
    For kernels of the strategy `flash`. A workgroup has some queries of one head, in workgroup memory, and goes through the keys and values
    in blocks of `keys`:

        m = -inf, z = 0, result = 0                              (of each query, in registers)
        for each block of keys:
          x = scores(queries * keys)                             (in registers)
          m' = max(m, x)                                         (over the threads that share a query, through workgroup memory)
          x = e^(x - m'), z = z * e^(m - m') + sum of x          (x into workgroup memory)
          result = result * e^(m - m') + x * values
        result = epilogue(result / z)

    Eight neighbouring threads share a query: each has some of the block's keys, its own share of z, and some columns of the result.

    Needs: the linalg form; both depths are known and not 0. A kernel that does not look like this is left to `vx-lower-to-loops`. Keeps: dynamic sizes, sizes of 0.
    Numerics: the order of each sum depends on the strategy only, so it is the same on each run. -inf, NaN and rows without keys as
    `vx.attention` has them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def GPULowerProductsPass : Pass<"vx-gpu-lower-products", "::mlir::func::FuncOp"> {
  let summary = "Compute a contraction with register blocks and staging in workgroup memory";
  let description = [{
    For kernels of the strategies `tiled_product` and `mma`. Each step over the summed dimensions of the anchor (`step` positions) copies a
    part of both factors into workgroup memory. Their producers are computed on the way. Then each thread adds the products of a block of
    rows and columns of the tile to accumulators in registers. There are two buffers: the next part is loaded while the products of one are
    added. Readers of the contraction's result are computed from the accumulators, and only the kernel's results are stored.

    With `slices` above 1 the threads form that many slices, and each computes the whole tile for its share of the steps; their sums are
    added in workgroup memory. That keeps a device busy when the result is small.

    A convolution is the same with the filter as one factor and the patches of the input as the other one. With groups a tile has filters of
    one group: their number in a tile divides that in a group.

    With the strategy `mma` each subgroup has a part of the tile, in accumulators of matrix fragments (`!vxk.fragment`), and adds products of
    fragments that it reads from workgroup memory:

        %a = vxk.load_fragment %m[...] ..., %b = vxk.load_fragment %n[...] ...
        %d = vxk.multiply_accumulate %a, %b, %c

    `stages` buffers form a ring. A factor that is multiplied as it is in its buffer, at addresses that are known to be aligned, is loaded
    by `vxk.async_copy` if the target has it, else through registers. A target without fragments for the factors computes the same tile in
    blocks. `createGPULowerProductsPass` gets the fragments and copies of the target; the pass by its name assumes none.

    Bytes are staged four neighbours along the sum at a time where the target has an instruction for `vxk.dot`: an element of workgroup memory
    is four places of the sum then, and `step` counts elements. Elsewhere a product of factors that were widened from at most 16 bits is
    marked `vxk.few_bits`, which ROCm multiplies and adds at its full rate.

    A kernel with an anchor of another form (another reduction than a sum of products, groups of one filter, a result that is read across elements) is
    left to `vx-lower-to-loops`. Needs: the linalg form. Keeps: dynamic sizes. Numerics: the order of each sum depends on the strategy only,
    so it is the same on each run.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def GPULowerReductionsPass : Pass<"vx-gpu-lower-reductions", "::mlir::func::FuncOp"> {
  let summary = "Compute rows and their reductions by several threads each";
  let description = [{
    For kernels of the strategy `rows`: reductions, and ops of rows such as softmax and norms. Dimensions that the strategy does not tile
    run along a row, and so do those that a reduction sums. By `sharing` a row is computed by

    - `workgroup`: the threads of a workgroup;
    - `subgroup`: the threads of a subgroup of any size; a workgroup has the tile's rows;
    - `columns`: the threads that are a multiple of the tile apart, if neighbours in memory belong to neighbouring rows.

    A thread takes `runs` groups of `lanes` neighbouring elements. A row that fits into the registers of its threads so is
    read once, and an exponential computed once; a longer one is gone through in rounds, once for each reduction. The threads' shares meet by
    exchanges inside of subgroups and then through workgroup memory.

    A kernel that does not look like this is left to `vx-lower-to-loops`. Needs: the linalg form. Keeps: dynamic sizes, sizes of 0, NaN.
    Numerics: the order of a sum depends on the strategy and, but for `columns`, on the device's subgroup size, so it is the same on each run
    on a device.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::tensor::TensorDialect", "::vxk::VXKDialect"];
}

def GPULowerElementwisePass : Pass<"vx-gpu-lower-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Compute several neighbouring elements in each thread";
  let description = [{
    For kernels of the strategy `elementwise`. A thread takes `lanes` neighbours along the result's last dimension, so that
    `vx-vectorize-accesses` can combine their loads and stores. A kernel with results of different shapes is left to `vx-lower-to-loops`.
    Needs: the linalg form. Keeps: dynamic sizes, values.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect", "::vxk::VXKDialect"];
}

def UnrollShortLoopsPass : Pass<"vx-unroll-short-loops", "::mlir::func::FuncOp"> {
  let summary = "Unroll loops of a few known iterations";
  let description = [{
    Inner loops first, such as those over the window of a depthwise convolution or a pooling: their reads are then in flight together, and
    values that depend only on the position in the window are constants. Loops with barriers or faults stay. Needs: nothing. Keeps: values
    and the order of sums. Idempotent.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def VectorizeAccessesPass : Pass<"vx-vectorize-accesses", "::mlir::func::FuncOp"> {
  let summary = "Combine loads and stores of neighbouring elements to ones of short vectors";
  let description = [{
    Two or four loads (or stores) in one block, of elements at constant relative offsets, become one `vector.load` (`vector.store`) when the
    first offset is provably a multiple of their number, so that the access is aligned:

        %a = memref.load %m[%i] : memref<?xf32>
        %b = memref.load %m[%i + 1] : memref<?xf32>

    becomes

        %v = vector.load %m[%i] : memref<?xf32>, vector<2xf32>

    A vector has 16 bytes at most. Loads do not move over stores that may write the same memory, nor over barriers. Needs: one-dimensional
    memrefs with allocations that are aligned to 16 bytes. Keeps: everything else. Idempotent.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

#endif
