// Contraction, convolution, and the gradient of a filter.
#ifndef VX_DIALECT_VX_IR_VXOPSCONTRACTION
#define VX_DIALECT_VX_IR_VXOPSCONTRACTION

include "vx/Dialect/VX/IR/VXBase.td"

def VX_ContractOp : VX_InferredOp<"contract", [Pure,
                                               VX_Anchor, VX_Product, VX_CountsFlops, VX_Differentiable, VX_Constrained]> {
  let summary = "sum of products over common dimensions";
  let description = [{
    The dimensions of each operand are batch (paired, kept), contracting (paired, summed over) or free:

        result[batch..., lhs free..., rhs free...] = sum over contracting of lhs[...] * rhs[...]

    - C1: the batch lists are equally long, as are the contracting lists; no dimension is named twice.
    - C2: every dimension named exists.
    - C3: paired dimensions have the same size.
    - C4: `sums`, where given, is f32, and the operands' elements are f16 or bf16, or it is i32, and they are i8 or ui8.
    - C5: `factors`, where given, is tf32, and the operands' elements are f32.
    - C6: the operands have one element type; with `sums` of i32 one may be i8 and the other ui8.

    Numerics: sums of f32 and narrower floats are accumulated in f32, of f64 in f64, of integers in the result's type; the
    order of a sum is not specified but does not depend on threads. An empty sum is 0. With `sums` the result is the sum as it was
    accumulated, else it is rounded to the operands' type. With `factors` a device may round each factor to that type, to nearest, before it
    multiplies. Matrix instructions, which a device may use for factors of f16, bf16 and tf32, add some products at a time to an f32 and may
    round each such sum towards zero.

    Example:

        %r = vx.contract %a, %b batch = [] x [] contracting = [1] x [0] sums = f32 : tensor<7x16xf16>, tensor<16x5xf16>
  }];
  let arguments = (ins VX_NumberTensor:$lhs, VX_NumberTensor:$rhs,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contracting, DenseI64ArrayAttr:$rhs_contracting,
                       OptionalAttr<TypeAttr>:$sums, OptionalAttr<TypeAttr>:$factors);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` `=` $lhs_batch `x` $rhs_batch `contracting` `=` $lhs_contracting `x` $rhs_contracting
    (`sums` `=` $sums^)? (`factors` `=` $factors^)? attr-dict `:` type($lhs) `,` type($rhs)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<int64_t>":$lhs_batch,
                                 "::llvm::ArrayRef<int64_t>":$rhs_batch, "::llvm::ArrayRef<int64_t>":$lhs_contracting,
                                 "::llvm::ArrayRef<int64_t>":$rhs_contracting), [{
    build($_builder, $_state, result, lhs, rhs, lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, {}, {});
  }]>];
}

def VX_ConvOp : VX_InferredOp<"conv", [Pure,
                                       VX_Anchor, VX_Product, VX_CountsFlops, VX_Differentiable, VX_Constrained]> {
  let summary = "convolution (cross-correlation) over spatial dimensions";
  let description = [{
    `input` is [N, C, spatial...], `filter` [M, C / groups, kernel...], `result` [N, M, spatial...]:

        result[n, m, o...] = sum over c, k... of input[n, g*C/groups + c, o*strides + k*dilations - pads_low] * filter[m, c, k...]
        with g = m / (M / groups), and 0 for input outside of its bounds

    With `channels_last`, `input` is [N, spatial..., C] and `result` [N, spatial..., M]; the filter stays what it is.

    - C1: `input` and `filter` have the same rank, 3 or more.
    - C2: `strides`, `dilations`, `pads_low`, `pads_high` have one entry for each spatial dimension; strides and dilations are at
          least 1.
    - C3: `groups` is at least 1 and divides C and M; `filter` has C / groups channels.
    - C4: no spatial dimension of the result is negative.
    - C5: `sums`, where given, is f32, and the operands' elements are f16 or bf16, or it is i32, and they are i8 or ui8.
    - C6: `factors`, where given, is tf32, and the operands' elements are f32.
    - C7: the operands have one element type; with `sums` of i32 one may be i8 and the other ui8.

    Numerics: as `vx.contract`, with `sums` and `factors` too.
  }];
  let arguments = (ins VX_NumberTensor:$input, VX_NumberTensor:$filter, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high, I64Attr:$groups,
                       UnitAttr:$channels_last, OptionalAttr<TypeAttr>:$sums, OptionalAttr<TypeAttr>:$factors);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = [{
    $input `,` $filter `strides` `=` $strides `dilations` `=` $dilations `pads` `=` $pads_low `x` $pads_high `groups` `=` $groups
    (`channels_last` $channels_last^)? (`sums` `=` $sums^)? (`factors` `=` $factors^)? attr-dict `:` type($input) `,` type($filter)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$filter, "::llvm::ArrayRef<int64_t>":$strides,
                                 "::llvm::ArrayRef<int64_t>":$dilations, "::llvm::ArrayRef<int64_t>":$pads_low,
                                 "::llvm::ArrayRef<int64_t>":$pads_high, "int64_t":$groups), [{
    build($_builder, $_state, result, input, filter, strides, dilations, pads_low, pads_high, groups, /*channels_last=*/false, {}, {});
  }]>];
  let extraClassDeclaration = [{
    /// The dimension of `input` and of `result` that holds the channels.
    int64_t getChannelDim() { return getChannelsLast() ? getInput().getType().getRank() - 1 : 1; }
    /// The dimension of `input` and of `result` that is spatial dimension `d`.
    int64_t getSpatialDim(int64_t d) { return getChannelsLast() ? 1 + d : 2 + d; }
  }];
}

def VX_ConvFilterOp : VX_InferredOp<"conv_filter", [Pure, AllElementTypesMatch<["input", "gradient"]>,
                                                    VX_Anchor, VX_Product, VX_CountsFlops, VX_Differentiable, VX_Constrained, VX_Decomposable]> {
  let summary = "correlation of a convolution's input with the gradient of its result: the gradient of its filter";
  let description = [{
    `input` is [N, C, spatial...], `gradient` [N, M, places...], `result` [M, C / groups, kernel...] with the sizes `kernel`:

        result[m, c, k...] = sum over n, o... of input[n, g*C/groups + c, o*strides + k*dilations - pads_low] * gradient[n, m, o...]
        with g = m / (M / groups), and 0 for input outside of its bounds

    With `channels_last`, `input` is [N, spatial..., C], `gradient` [N, places..., M] and `result` [kernel..., C / groups, M].

    - C1: `input` and `gradient` have the same rank, 3 or more.
    - C2: `kernel`, `strides`, `dilations`, `pads_low` have one entry for each spatial dimension; strides and dilations are at least 1.
    - C3: `groups` is at least 1 and divides C and M.
    - C4: `input` and `gradient` have the same N.
    - C5: no size of `kernel` is negative.
    - C6: `sums`, where given, is f32, and the operands' elements are f16 or bf16.
    - C7: `factors`, where given, is tf32, and the operands' elements are f32.

    Numerics: as `vx.contract`, with `sums` and `factors` too.
  }];
  let arguments = (ins VX_FloatTensor:$input, VX_FloatTensor:$gradient, VX_DimArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low, I64Attr:$groups,
                       UnitAttr:$channels_last, OptionalAttr<TypeAttr>:$sums, OptionalAttr<TypeAttr>:$factors);
  let results = (outs VX_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $gradient `kernel` $kernel `strides` `=` $strides `dilations` `=` $dilations `pads` `=` $pads_low `groups` `=` $groups
    (`channels_last` $channels_last^)? (`sums` `=` $sums^)? (`factors` `=` $factors^)? attr-dict `:` type($input) `,` type($gradient)
  }];
  let extraClassDeclaration = [{
    /// The dimension of `input` and of `gradient` that holds the channels.
    int64_t getChannelDim() { return getChannelsLast() ? getInput().getType().getRank() - 1 : 1; }
    /// The dimension of `input` and of `gradient` that is spatial dimension `d`.
    int64_t getSpatialDim(int64_t d) { return getChannelsLast() ? 1 + d : 2 + d; }
    /// The dimensions of `result`.
    int64_t getFilterDim() { return getChannelsLast() ? getInput().getType().getRank() - 1 : 0; }
    int64_t getFilterChannelDim() { return getChannelsLast() ? getInput().getType().getRank() - 2 : 1; }
    int64_t getKernelDim(int64_t d) { return getChannelsLast() ? d : 2 + d; }
    /// `input` with channels first, padded and cropped to exactly what the windows reach.
    ::mlir::Value buildReachedInput(::vx::GraphBuilder &graph);
  }];
}

#endif
