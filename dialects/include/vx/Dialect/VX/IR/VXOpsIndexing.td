// Ops whose element addresses come from data.
#ifndef VX_DIALECT_VX_IR_VXOPSINDEXING
#define VX_DIALECT_VX_IR_VXOPSINDEXING

include "vx/Dialect/VX/IR/VXBase.td"

def VX_GatherOp : VX_InferredOp<"gather", [Pure, AllElementTypesMatch<["input", "result"]>,
                                           VX_Anchor, VX_Moves, VX_MayFault, VX_Unconstrained]> {
  let summary = "picks slices along one dimension by index";
  let description = [{
    The result has the shape of `input` with dimension `axis` replaced by the dimensions of `indices`:

        result[a..., i..., b...] = input[a..., indices[i...], b...]

    With `members` = m, the last dimension of `indices` holds tuples: one index for each of the m dimensions of `input` from `axis` on,
    all of which `i...` replaces:

        result[a..., i..., b...] = input[a..., indices[i..., 0], ..., indices[i..., m - 1], b...]

    An index counts from 0, or with a negative value from the end: it lies in [-d, d) with d the size of its dimension. Another index is
    a fault: the call fails with the source node's name, the index, and its place in `indices`.

    - C1: `axis` is a dimension of `input`.
    - C2: `members` is 1 or more, `input` has as many dimensions from `axis` on, and the last dimension of `indices` is `members`.
  }];
  let arguments = (ins VX_Tensor:$input, VX_IndexTensor:$indices, I64Attr:$axis, OptionalAttr<I64Attr>:$members);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $indices `axis` `=` $axis (`members` `=` $members^)? attr-dict `:` type($input) `,` type($indices)
  }];
}

def VX_CountNonzeroOp : VX_Op<"count_nonzero", [Pure, VX_Anchor, VX_Serial, VX_StatesResultType, VX_Unconstrained]> {
  let summary = "the number of elements that are not zero";
  let description = [{ NaN counts. The result sizes a `vx.nonzero` through `vx.bind_symbol`. }];
  let arguments = (ins VX_Tensor:$input);
  let results = (outs VX_I64Scalar:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def VX_NonzeroOp : VX_Op<"nonzero", [Pure, VX_Anchor, VX_Serial, VX_ScattersResult, VX_StatesResultType, VX_Constrained]> {
  let summary = "the places of the elements that are not zero";
  let description = [{
    `result[d, k]` is the index along dimension d of the k-th element that is not zero, in row-major order. The result has
    rank(input) rows and as many columns as its type says: a symbol that was bound to `vx.count_nonzero` of the same input.

    - C1: the result has rank 2 and rank(input) rows.
  }];
  let arguments = (ins VX_Tensor:$input);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif
