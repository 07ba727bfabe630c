// Constants, tensors that depend on positions alone, and ops that move elements without computing.
#ifndef VX_DIALECT_VX_IR_VXOPSSHAPE
#define VX_DIALECT_VX_IR_VXOPSSHAPE

include "vx/Dialect/VX/IR/VXBase.td"

def VX_ConstantOp : VX_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>, VX_HostOp, VX_NonDifferentiable, VX_Unconstrained]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Large values (weights) are resources, addressed by name: `dense_resource<...>`; small ones are inline. `names` are those of
    the model's initializers that the value is, or that it was computed from: one of them when the model is imported, more where
    equal ones were joined. What simplifies each block joins only constants of the same names, or of none.

    Example: `vx.constant dense<0.0> : tensor<64xf32> {names = ["conv1.bias"]}`.

    - C1: the result's type is the value's.
    - C2: `names`, where it is there, has at least one.
  }];
  let arguments = (ins ElementsAttr:$value, OptionalAttr<StrArrayAttr>:$names);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$value attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, result, value, ::mlir::ArrayAttr());
  }]>];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def VX_IotaOp : VX_Op<"iota", [Pure, VX_Anchor, VX_Expands, VX_NonDifferentiable, VX_StatesResultType, VX_Unconstrained]> {
  let summary = "counts along one dimension";
  let description = [{
    `result[i_0, ..., i_n] = i_axis`.

    - C1: `axis` is a dimension of the result.
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = "`axis` `=` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def VX_RandomBitsOp : VX_Op<"random_bits", [Pure, VX_Pointwise, VX_Expands, VX_Free, VX_NonDifferentiable, VX_StatesResultType, VX_Unconstrained]> {
  let summary = "random bits that depend on a key and a place alone";
  let description = [{
    Element i of the result, counted row by row, is word i mod 4 of block floor(i / 4) of the stream `number`: of Philox4x32-10 (Salmon,
    Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011) of the counter (floor(i / 4), number), 64 bits each, low word
    first, under `key`. They are the same on every device. Two ops of one key have the same bits unless their numbers differ.

    Each kernel that reads the bits draws them: memory holds none.

    Example: `vx.random_bits %seed number = 3 : tensor<?x512xui32, #vx.enc<[batch, 512]>>`.
  }];
  let arguments = (ins VX_I64Scalar:$key, I64Attr:$number);
  let results = (outs RankedTensorOf<[UI<32>]>:$result);
  let assemblyFormat = "$key `number` `=` $number attr-dict `:` type($result)";
}

def VX_DimValueOp : VX_Op<"dim_value", [Pure, VX_HostOp, VX_NonDifferentiable, VX_Expands, VX_Free, VX_Unconstrained]> {
  let summary = "a dimension expression as a scalar tensor";
  let description = [{ `result[] = value`, evaluated on the host. Example: `vx.dim_value <past + step> : tensor<i64>`. }];
  let arguments = (ins VX_DimAttr:$value);
  let results = (outs VX_I64Scalar:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def VX_ReshapeOp : VX_Op<"reshape", [Pure, VX_HostOp, VX_Differentiable, VX_Moves, VX_View, VX_Constrained]> {
  let summary = "the same elements in row-major order with another shape";
  let description = [{
    - C1: both shapes have the same number of elements, where that is known.
    - C2: both have the same element type.
  }];
  let arguments = (ins VX_Tensor:$input);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def VX_TransposeOp : VX_InferredOp<"transpose", [Pure, AllElementTypesMatch<["input", "result"]>,
                                                 VX_Anchor, VX_Moves, VX_View, VX_Differentiable, VX_Unconstrained]> {
  let summary = "permutation of the dimensions";
  let description = [{
    `result.shape[d] = input.shape[permutation[d]]`.

    - C1: `permutation` holds every dimension of `input` once.
  }];
  let arguments = (ins VX_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input `,` $permutation attr-dict `:` type($input)";
  let hasFolder = 1;
}

def VX_PackOp : VX_InferredOp<"pack", [Pure, AllElementTypesMatch<["input", "result"]>, VX_Anchor, VX_Differentiable, VX_Unconstrained]> {
  let summary = "cuts one dimension into tiles that lie together in memory";
  let description = [{
    The layout in which a kernel reads a weight. The result has the dimensions of `input` in the order of `permutation`, with the
    number of tiles in the place of `dim`, and the tile as its last dimension:

        result[i..., t] = input[j...] with j[permutation[d]] = i[d], and j[dim] = i[d] * tile + t where permutation[d] = dim

    The last tile is filled up with zeros.

    With `inner` above 1, that many neighbours along the last dimension of `permutation` lie together too, as instructions that
    sum several products read them. The result then has one dimension more, and the last one of `permutation` is filled up with zeros:

        result[i..., g, t, e] = input[j...] with j[permutation.back()] = g * inner + e

    - C1: `permutation` holds every dimension of `input` once.
    - C2: `dim` is a dimension of `input`, and `tile` is at least 1.
    - C3: `inner` is at least 1. Above 1, `dim` is not the last of `permutation`.
  }];
  let arguments = (ins VX_NumberTensor:$input, I64Attr:$dim, I64Attr:$tile, DenseI64ArrayAttr:$permutation,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$inner);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = "$input `dim` `=` $dim `tile` `=` $tile `permutation` `=` $permutation (`inner` `=` $inner^)? attr-dict `:` type($input)";
}

def VX_UnpackOp : VX_Op<"unpack", [Pure, AllElementTypesMatch<["input", "result"]>,
                                   VX_Layout, VX_Free, VX_Differentiable, VX_StatesResultType, VX_Constrained]> {
  let summary = "the tensor that was packed";
  let description = [{
    The inverse of `vx.pack` with the same `dim`, `permutation` and `inner`. Each kernel that reads a packed tensor begins with it,
    so that only the loads know the layout.

    - C1: `input` is what `vx.pack` makes of a tensor of the result's type.
  }];
  let arguments = (ins VX_NumberTensor:$input, I64Attr:$dim, DenseI64ArrayAttr:$permutation,
                       DefaultValuedOptionalAttr<I64Attr, "1">:$inner);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = "$input `dim` `=` $dim `permutation` `=` $permutation (`inner` `=` $inner^)? attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// Elements of a tile: the length of the dimension of `input` that counts them.
    int64_t getTile();
  }];
  let hasVerifier = 1;
}

def VX_BroadcastOp : VX_Op<"broadcast", [Pure, AllElementTypesMatch<["input", "result"]>,
                                         VX_Pointwise, VX_Moves, VX_Expands, VX_Free, VX_Differentiable, VX_StatesResultType, VX_Constrained]> {
  let summary = "repeats elements along new or size-1 dimensions";
  let description = [{
    Dimension d of `input` is dimension `dimensions[d]` of the result: `result[i] = input[j]` with `j[d] = i[dimensions[d]]`,
    or 0 where `input` has size 1 there.

    - C1: `dimensions` has one entry for each dimension of `input`, increasing, below the result's rank.
    - C2: every dimension of `input` has size 1 or the size of the result's dimension.
  }];
  let arguments = (ins VX_Tensor:$input, DenseI64ArrayAttr:$dimensions);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input `,` $dimensions attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def VX_SliceOp : VX_Op<"slice", [Pure, AllElementTypesMatch<["input", "result"]>,
                                 VX_Anchor, VX_Moves, VX_View, VX_Differentiable, VX_StatesResultType, VX_Constrained]> {
  let summary = "a strided box of the input";
  let description = [{
    `result[i] = input[starts + i * strides]`; the sizes are those of the result. A stride may be negative.

    - C1: `starts` and `strides` have one entry for each dimension of `input`; the ranks are equal.
    - C2: no stride is 0.
    - C3: the box lies inside of `input`, where the sizes are known.
  }];
  let arguments = (ins VX_Tensor:$input, VX_DimArrayAttr:$starts, DenseI64ArrayAttr:$strides);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input `starts` $starts `strides` $strides attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def VX_ConcatOp : VX_InferredOp<"concat", [Pure, VX_Anchor, VX_Moves, VX_Differentiable, VX_Constrained, VX_MayBeIdentity]> {
  let summary = "joins tensors along one dimension";
  let description = [{
    - C1: there is at least one input; all have the same rank and element type.
    - C2: `axis` is a dimension of the inputs.
    - C3: the other dimensions are equal.
  }];
  let arguments = (ins Variadic<VX_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "`axis` `=` $axis `(` $inputs `)` attr-dict `:` type($inputs)";
}

def VX_PadOp : VX_InferredOp<"pad", [Pure, AllElementTypesMatch<["input", "value", "result"]>, VX_Anchor, VX_Moves,
                                     VX_Differentiable, VX_Unconstrained, VX_MayBeIdentity]> {
  let summary = "adds elements before and after each dimension";
  let description = [{
    `result[i] = input[i - low]` where that is inside of `input`, else `value`. A negative amount removes elements.

    - C1: `low` and `high` have one entry for each dimension of `input`.
    - C2: no dimension of the result is negative, where that is known.
  }];
  let arguments = (ins VX_Tensor:$input, 0DTensorOf<[VX_AnyElement]>:$value, VX_DimArrayAttr:$low, VX_DimArrayAttr:$high);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input `,` $value `low` $low `high` $high attr-dict `:` type($input) `,` type($value)";
}

#endif
