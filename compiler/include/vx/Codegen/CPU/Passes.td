#ifndef VX_CODEGEN_CPU_PASSES
#define VX_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def CPULowerProductsPass : Pass<"vx-cpu-lower-products", "::mlir::func::FuncOp"> {
  let summary = "Turn contractions and convolutions into packed, register-tiled loops";
  let description = [{
    For kernels of the strategy `cpu_product`. The anchor, a sum of products, is seen as C[m, n] += A[m, k] * B[k, n]: n is the last
    dimension of the result, which only B has (of a convolution with its channels last, the filters), m are the ones before it that only A
    has (the output's positions). A convolution with groups is such a product for each group.

        for each block of rows, for each block of columns:
          accumulators = 0                                       (on the stack)
          for each block of k:
            pack A's rows                                        (on the stack, unless they lie in memory so; the prologue and the padding
                                                                  are applied here)
            pack B's columns                                     (on the stack, unless B is a `vx.unpack`)
            for each few columns, for each few rows:
              accumulators += packed A * packed B                (in registers)
          result = epilogue(accumulators)

    Where both factors are bytes that are summed in i32, a step along k takes four neighbours of the last k dimension, and `vxk.dot` sums their
    products. They lie together in the packed blocks, as in a `vx.pack` with `inner = 4`.

    Needs: the linalg form. Kernels that do not look like this are left for `vx-lower-to-loops`: other sums, several results, an epilogue that moves
    elements.
    Numerics: each sum goes through k in order, so it depends on neither threads nor tiles.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Bits of a vector register">,
                 Option<"registers", "registers", "int64_t", /*default=*/"16", "Vector registers">,
                 Option<"hasByteDots", "byte-dots", "bool", /*default=*/"false", "One instruction does a dot of an unsigned and a signed factor">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def CPULowerTopPlacesPass : Pass<"vx-cpu-lower-top-places", "::mlir::func::FuncOp"> {
  let summary = "Find the first elements of rows by a sort of the best ones on the stack";
  let description = [{
    For kernels of the strategy `cpu_sort`. An entry is an element's code and its position, in one number if 64 bits hold both:

        for each row:
          for each few vectors of elements:
            append the entries that may come before the worst one that is kept
            when there is no room for more, or at the end: sort; keep the first ones
          result = the places of the first ones

    A row that fits into this room is sorted at once. A sort orders groups of 16 by counting those before each, and then merges runs, from
    both ends at a time.

    Needs: the linalg form. Keeps: dynamic sizes, rows of none.
    Numerics: none.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Bits of a vector register">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def CPULowerSelectBoxesPass : Pass<"vx-cpu-lower-select-boxes", "::mlir::func::FuncOp"> {
  let summary = "Select boxes that overlap no better one, from sorted batches of the best ones";
  let description = [{
    For kernels of the strategy `cpu_sort`:

        for each class:
          while there are more candidates and room for boxes:
            sort the next few best ones                        (on the stack, as `vx-cpu-lower-top-places`)
            for each, while there is room: select it, unless it overlaps one that is selected

    Only candidates are compared with the selected boxes, and no memory is used for all of them.

    Needs: the linalg form. Keeps: dynamic sizes, sizes of 0.
    Numerics: none.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Bits of a vector register">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def CPULowerCumulativeSumPass : Pass<"vx-cpu-lower-cumulative-sum", "::mlir::func::FuncOp"> {
  let summary = "Compute the sums of all elements before each one in one pass over them";
  let description = [{
    The sum so far stays in a register: one number, or a vector of neighbours along the last dimension.

    Needs: the linalg form. Keeps: dynamic sizes, sizes of 0.
    Numerics: sums go from the first element on, or with `reverse` from the last.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Bits of a vector register">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

def CPULowerAttentionPass : Pass<"vx-cpu-lower-attention", "::mlir::func::FuncOp"> {
  let summary = "Turn attention into one loop over blocks of keys, without the scores in memory";
  let description = [{
    For kernels of the strategy `cpu_flash`. Lanes run along the queries, so that each lane has its own maximum and sum:

        pack the queries as columns                                        (on the stack)
        m = -inf, z = 0, result = 0                                        (of each query)
        for each block of keys:
          pack keys and values                                             (on the stack)
          for each few vectors of queries:
            x = scores(keys * queries)                                     (sums in registers; x on the stack)
            m' = max(m, x), x = e^(x - m'), z = z * e^(m - m') + sum of x
            result = result * e^(m - m') + values * x                      (sums in registers)
        result = epilogue(result / z)

    Needs: the linalg form; both depths are known and not 0. Kernels that do not look like this are left for `vx-lower-to-loops`: an
    epilogue that moves elements. Numerics: each sum goes through the keys in order, by blocks of a size that depends on the kernel only.
    -inf, NaN and rows without keys as `vx.attention` has them.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Bits of a vector register">,
                 Option<"registers", "registers", "int64_t", /*default=*/"16", "Vector registers">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect",
                           "::vxk::VXKDialect"];
}

def CPULowerDepthwisePass : Pass<"vx-cpu-lower-depthwise", "::mlir::func::FuncOp"> {
  let summary = "Turn convolutions of few channels a group into register-tiled loops";
  let description = [{
    For kernels of the strategy `cpu_depthwise`: a convolution with groups and its channels last, of one or more spatial dimensions. Vectors
    run along the filters, and several neighbours in a row share a load of the filter. If a vector has the filters of several groups, the
    channels of these groups are loaded once, and a shuffle gives each lane the channel of its own group. Of groups of one channel and any
    number of filters, where a vector begins anywhere in a group, the lanes look their channels up in a register:

        for each row, for each vector of filters, for each few places in the row:
          sums = 0                                                (in registers)
          for each row of the window inside of the input, for each channel of a group: sums += input * filter
          result = epilogue(sums)

    Positions with a window that crosses the row's end are computed one by one, so that the others need no checks. Needs: the linalg form.
    Kernels that do not look like this are left for `vx-lower-to-loops`. Numerics: each sum goes through the window in order.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", /*default=*/"128", "Bits of a vector register">,
                 Option<"registers", "registers", "int64_t", /*default=*/"16", "Vector registers">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect", "::vxk::VXKDialect"];
}

#endif
