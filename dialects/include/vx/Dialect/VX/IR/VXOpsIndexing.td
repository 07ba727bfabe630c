// Ops whose element addresses come from data.
#ifndef VX_DIALECT_VX_IR_VXOPSINDEXING
#define VX_DIALECT_VX_IR_VXOPSINDEXING

include "vx/Dialect/VX/IR/VXBase.td"

def VX_GatherOp : VX_InferredOp<"gather", [Pure, AllElementTypesMatch<["input", "result"]>,
                                           VX_Anchor, VX_Moves, VX_MayFault, VX_Indexes, VX_Differentiable, VX_Unconstrained]> {
  let summary = "picks slices along one dimension by index";
  let description = [{
    The result has the shape of `input` with dimension `axis` replaced by the dimensions of `indices`:

        result[a..., i..., b...] = input[a..., indices[i...], b...]

    With `members` = m, the last dimension of `indices` holds tuples: one index for each of the m dimensions of `input` from `axis` on,
    all of which `i...` replaces:

        result[a..., i..., b...] = input[a..., indices[i..., 0], ..., indices[i..., m - 1], b...]

    An index counts from 0, or with a negative value from the end: it lies in [-d, d) with d the size of its dimension. Another index is
    a fault: the call fails with the source node's name, the index, and its place in `indices`.

    With `in_range` they are known to lie in [0, d), by a `vx.check_indices` or because they are constants, so that there is no fault here:
    what reads state behind an update of it must have none, for the update to be made in place. Another index reads 0.

    - C1: `axis` is a dimension of `input`.
    - C2: `members` is 1 or more, `input` has as many dimensions from `axis` on, and the last dimension of `indices` is `members`.
  }];
  let arguments = (ins VX_Tensor:$input, VX_IndexTensor:$indices, I64Attr:$axis, OptionalAttr<I64Attr>:$members,
                       UnitAttr:$in_range);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $indices `axis` `=` $axis (`members` `=` $members^)? (`in_range` $in_range^)? attr-dict `:` type($input) `,` type($indices)
  }];
}

def VX_CheckIndicesOp : VX_InferredOp<"check_indices", [Pure, AllElementTypesMatch<["indices", "result"]>,
                                                        VX_Anchor, VX_TakesPrologue, VX_MayFault, VX_Indexes, VX_NonDifferentiable, VX_Constrained]> {
  let summary = "indices that count from 0, once all are known to be in range";
  let description = [{
    An index counts from 0, or with a negative value from the end: it lies in [-d, d), where d is its size in `sizes`, and the result is
    index or index + d. Another index is a fault: the call fails with the source node's name, the index, and its place in `indices`.

    With `from_start` a negative index is a fault too: indices lie in [0, d).

    With one size it is that of all indices; with more, the last dimension of `indices` holds tuples, and each member has its own. What
    writes by indices (`vx.scatter`, `vx.update_slice`) has no fault of its own, so that it may write state: this op stands before it.

    - C1: `sizes` has one entry, or one for each member of the last dimension of `indices`.
  }];
  let arguments = (ins VX_IndexTensor:$indices, VX_DimArrayAttr:$sizes, UnitAttr:$from_start);
  let results = (outs VX_IndexTensor:$result);
  let assemblyFormat = "$indices `below` $sizes (`from_start` $from_start^)? attr-dict `:` type($indices)";
}

def VX_ScatterKind : I32EnumAttr<"ScatterKind", "what becomes of an element that is written", [
    I32EnumAttrCase<"set", 0>, I32EnumAttrCase<"add", 1>]> {
  let cppNamespace = "::vx";
}

def VX_ScatterOp : VX_InferredOp<"scatter", [Pure, AllElementTypesMatch<["input", "updates", "result"]>,
                                             VX_Anchor, VX_TakesPrologue, VX_ScattersResult, VX_Updates, VX_Differentiable, VX_Constrained]> {
  let summary = "replaces slices whose places data tells, or adds to them";
  let description = [{
    The last dimension of `indices` holds tuples: one index for each of `axes`, dimensions of `input`. The result is `input`, but for each
    place i... of a tuple and each place w... in the dimensions of `input` that `axes` leaves, in their order, `set` does

        result[indices[i..., 0] along axes[0], indices[i..., 1] along axes[1], ..., w... along the others] = updates[i..., w...]

    and `add` adds `updates[i..., w...]` to it. A tuple with an index outside of [0, d), with d the size of its dimension, writes nothing;
    `vx.check_indices` makes a fault of it.

    Tuples are taken in row-major order, on every device: of several for one place `set` leaves the last, and `add` adds one after the
    other, each sum rounded to the element type.

    - C1: `axes` are dimensions of `input`, increasing, at least one.
    - C2: the last dimension of `indices` has the size of `axes`.
    - C3: `updates` has the dimensions of `indices` but the last, then those of `input` that `axes` leaves.
    - C4: `add` takes numbers.

    Example: rows of a cache of pages, at a page and a line each:

        %new = vx.scatter set %cache, %at, %rows axes = [0, 2] : tensor<9x4x32x64xf32>, tensor<?x2xi64>, tensor<?x4x64xf32>
  }];
  let arguments = (ins VX_ScatterKind:$kind, VX_Tensor:$input, VX_IndexTensor:$indices, VX_Tensor:$updates, DenseI64ArrayAttr:$axes);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = [{
    $kind $input `,` $indices `,` $updates `axes` `=` $axes attr-dict `:` type($input) `,` type($indices) `,` type($updates)
  }];
}

def VX_UpdateSliceOp : VX_InferredOp<"update_slice", [Pure, AllElementTypesMatch<["input", "updates", "result"]>,
                                                      VX_Anchor, VX_TakesPrologue, VX_ScattersResult, VX_Updates, VX_Differentiable, VX_Constrained]> {
  let summary = "replaces a box whose place data tells";
  let description = [{
    The result is `input`, but for the box of the sizes of `updates` that begins at `starts[k]` along `axes[k]`, and at 0 along the other
    dimensions: its elements are those of `updates`. A box that does not lie inside of `input` leaves all as it is; `vx.check_indices`
    makes a fault of it.

    - C1: `axes` are dimensions of `input`, increasing, at least one.
    - C2: `starts` has rank 1 and the size of `axes`.
    - C3: `updates` has the rank of `input`, and in no dimension a greater size, where that is known.
  }];
  let arguments = (ins VX_Tensor:$input, VX_IndexTensor:$starts, VX_Tensor:$updates, DenseI64ArrayAttr:$axes);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $starts `,` $updates `axes` `=` $axes attr-dict `:` type($input) `,` type($starts) `,` type($updates)
  }];
}

def VX_CountNonzeroOp : VX_Op<"count_nonzero", [Pure, VX_Anchor, VX_Serial, VX_NonDifferentiable, VX_StatesResultType, VX_Unconstrained]> {
  let summary = "the number of elements that are not zero";
  let description = [{ NaN counts. The result sizes a `vx.nonzero` through `vx.bind_symbol`. }];
  let arguments = (ins VX_Tensor:$input);
  let results = (outs VX_I64Scalar:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def VX_NonzeroOp : VX_Op<"nonzero", [Pure, VX_Anchor, VX_Serial, VX_NonDifferentiable, VX_ScattersResult, VX_StatesResultType, VX_Constrained]> {
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

def VX_TopPlacesOp : VX_InferredOp<"top_places", [Pure, VX_Anchor, VX_TakesPrologue, VX_ScattersResult, VX_NonDifferentiable, VX_Constrained]> {
  let summary = "the places of the first elements of each row in its order";
  let description = [{
    `result[i, j]` is the place of the element that stands at j when row i of `keys` is sorted: the least one first, with `descending` the
    greatest. Equal elements stand in the order of their places. A NaN is greater than all other numbers, and equal to a NaN.

    - C1: `keys` is [rows, n], and the result [rows, count].
    - C2: `count` is 0 to 1024.
    - C3: n is at least `count`.

    A worker goes through a row once, with the best elements so far in fast memory. Longer sorts are made of these and `vx.merge_runs`.

    Example:

       %r = vx.top_places descending %keys count = 5 : tensor<4x100xf32>
  }];
  let arguments = (ins VX_NumberTensor:$keys, I64Attr:$count, UnitAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "(`descending` $descending^)? $keys `count` `=` $count attr-dict `:` type($keys)";
  let extraClassDeclaration = [{ static constexpr int64_t mostCount = 1024; }];
}

def VX_SelectBoxesOp : VX_Op<"select_boxes", [Pure, VX_Anchor, VX_ScattersResult, VX_NonDifferentiable, VX_StatesResultType, VX_Constrained]> {
  let summary = "of each class the boxes with the best scores that overlap none with a better one";
  let description = [{
    Box b of image i is `boxes[i, b]`: its least coordinates along both dimensions, then the greatest ones. Of each class c the boxes with
    `scores[i, c, b]` of at least `least` are looked at, the greatest score first, and of equal ones the first box. A box is selected unless
    it overlaps one that is: the area that both share, by the area that either covers, is greater than `overlap`. `result[i, c]` are the
    numbers of those that are selected, in their order, as many as there are columns; then -1.

    Both areas are above 0 where boxes overlap. A box whose score is NaN is none.

    - C1: `boxes` is [images, n, 4], `scores` [images, classes, n], and the result [images, classes, count].

    Example:

       %r = vx.select_boxes %boxes, %scores overlap(%o) least(%l) : tensor<1x100x4xf32>, tensor<1x80x100xf32> -> tensor<1x80x10xi64>
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$boxes, RankedTensorOf<[F32]>:$scores, VX_F32Scalar:$overlap, VX_F32Scalar:$least);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = [{
    $boxes `,` $scores `overlap` `(` $overlap `)` `least` `(` $least `)` attr-dict `:` type($boxes) `,` type($scores) `->` type($result)
  }];
  let hasVerifier = 1;
}

def VX_MergeRunsOp : VX_InferredOp<"merge_runs", [Pure, VX_Anchor, VX_ScattersResult, VX_NonDifferentiable, VX_Constrained]> {
  let summary = "a step of a sort: merges neighbouring runs of places that are in order";
  let description = [{
    A row of `places` names each place of a row of `keys` once. It consists of runs of 2^`level` places, the last of which may be shorter, each
    in the order of its keys. The result has the runs 2 i and 2 i + 1 merged into one, for each i; of equal keys those of the first run come
    first. So places that count from 0 are sorted, stably, by one op for each level from 0 to ceil(log2(n)) - 1.

    A key is a tuple, in which the first member that differs counts. A NaN is greater than all other numbers, and equal to a NaN. With
    `descending` the greatest key comes first.

    Of places that are in no such order the result is some of them.

    - C1: `keys` is [rows, n, members], and `places` is [rows, n].

    Any part of the result can be found by itself: where it begins, by a number of steps that grows with `level`.

    Example:

        %r = vx.merge_runs descending %keys, %places level(%level) : tensor<4x100x1xf32>, tensor<4x100xi64>
  }];
  let arguments = (ins VX_NumberTensor:$keys, RankedTensorOf<[I64]>:$places, VX_I64Scalar:$level, UnitAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "(`descending` $descending^)? $keys `,` $places `level` `(` $level `)` attr-dict `:` type($keys) `,` type($places)";
}

#endif
