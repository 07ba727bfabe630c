// Passes that every target's code generation shares.
#ifndef VX_CODEGEN_COMMON_PASSES
#define VX_CODEGEN_COMMON_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"vx-expand-math"> {
  let summary = "Expand math functions into arithmetic";
  let description = [{
    The math library of vx (docs/math.md): exp, exp2, expm1, log, log2, log10, log1p, powf, sin, cos, tan, sinh, cosh, tanh, erf and rsqrt
    on scalars and vectors of f32 and f64; f16 and bf16 go through f32. The remaining ops are arith ops, `math.fma`, and `math.sqrt`,
    `absf`, `trunc` and `copysign`, which round correctly or not at all.

    Needs: nothing. Keeps: shapes, NaN, infinities and signed zeros.
    Numerics: each function has a bound in ulp, the same on all targets.
  }];
  let options = [Option<"hasScale", "scale", "bool", /*default=*/"false", "One instruction does a `vxk.scale` of 4, 8 or 16 numbers">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def LowerMergeRunsPass : Pass<"vx-lower-merge-runs", "::mlir::func::FuncOp"> {
  let summary = "Merge runs of positions in parts; a search finds the begin of each part";
  let description = [{
    A worker has neighbouring positions of the result. For each pair of runs that it has a part of, a search finds how many earlier
    positions come from the left run. From there on it takes the first of both runs, position by position.

    Needs: the linalg form. Keeps: dynamic sizes, sizes of 0.
    Numerics: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::vxk::VXKDialect"];
}

def LowerPagedAttentionPass : Pass<"vx-lower-paged-attention", "::mlir::func::FuncOp"> {
  let summary = "Compute attention over keys and values in pages, page by page";
  let description = [{
    A worker has a token and a head. For each page that the token sees:

        the scores of the page's positions                      (-inf for those that the token does not see)
        the greatest score so far; what the pages before have added is scaled to it
        e^(score - greatest) of each position, and their sum
        the values by these weights, added to those of the pages before

    So the pages are read where they lie, once, and no scores are in memory. With one thread vectors of at most `lanes` elements go along the
    depth; with more threads each has a part of a key, and then an element of the depth for some of the page's values.

    Needs: the linalg form. Keeps: dynamic sizes, sizes of 0.
    Numerics: sums in f32.
  }];
  let options = [Option<"lanes", "lanes", "int64_t", /*default=*/"1", "Most elements of a vector">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def LowerToLoopsPass : Pass<"vx-lower-to-loops", "::mlir::func::FuncOp"> {
  let summary = "Turn a kernel's tensors into loops that compute its result's elements";
  let description = [{
    Each workgroup computes its tile of the result: the loops (or, with `vxk.threads` above 1, the threads) iterate the tile's elements, and
    the values that an element depends on are computed there. Elementwise producers are inlined. A reduction is a loop nest with its
    accumulator in a register, in the outermost loop that knows its position: the maximum of a softmax's row is computed once for the row.
    No tensor has memory of its own, so nothing is allocated. Elements that take a math function and that both a reduction and the result read,
    as the exponentials of a softmax, lie in the result's buffer until the result is computed from them: each is computed once.

    With `lanes` above 1, vectors run along the result's last dimension, or along the summed dimension if an operand lies in memory that
    way. The rest at the end of a dimension is a vector with a mask. Rows that are shorter than a few vectors, and one run of memory in all that is
    read, are taken as one row. Rows of two to four elements that are read as columns are made of vectors of these, stored in turns. A reduction that does little for an element adds to four vectors in turns.

    Needs: the linalg form (docs/phases.md). Keeps: dynamic sizes, sizes of 0.
    Numerics: sums along vectors are reassociated, the same way on each run and for any number of threads.
  }];
  let options = [Option<"lanes", "lanes", "int64_t", /*default=*/"1",
                        "Elements of a vector; 1 makes scalar code. Ignored when a workgroup has several threads">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

#endif
