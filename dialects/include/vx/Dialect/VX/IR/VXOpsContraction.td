// Contraction and convolution.
#ifndef VX_DIALECT_VX_IR_VXOPSCONTRACTION
#define VX_DIALECT_VX_IR_VXOPSCONTRACTION

include "vx/Dialect/VX/IR/VXBase.td"

def VX_ContractOp : VX_InferredOp<"contract", [Pure, AllElementTypesMatch<["lhs", "rhs"]>]> {
  let summary = "sum of products over common dimensions";
  let description = [{
    The dimensions of each operand are batch (paired, kept), contracting (paired, summed over) or free:

        result[batch..., lhs free..., rhs free...] = sum over contracting of lhs[...] * rhs[...]

    - C1: the batch lists are equally long, as are the contracting lists; no dimension is named twice.
    - C2: every dimension named exists.
    - C3: paired dimensions have the same size.

    Numerics: sums of f32 and narrower floats are accumulated in f32, of f64 in f64, of integers in the result's type; the
    order of a sum is not specified but does not depend on threads. An empty sum is 0.
  }];
  let arguments = (ins VX_NumberTensor:$lhs, VX_NumberTensor:$rhs,
                       DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contracting, DenseI64ArrayAttr:$rhs_contracting);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` `=` $lhs_batch `x` $rhs_batch `contracting` `=` $lhs_contracting `x` $rhs_contracting
    attr-dict `:` type($lhs) `,` type($rhs)
  }];
}

def VX_ConvOp : VX_InferredOp<"conv", [Pure, AllElementTypesMatch<["input", "filter", "result"]>]> {
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

    Numerics: as `vx.contract`.
  }];
  let arguments = (ins VX_FloatTensor:$input, VX_FloatTensor:$filter, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high, I64Attr:$groups,
                       UnitAttr:$channels_last);
  let results = (outs VX_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $filter `strides` `=` $strides `dilations` `=` $dilations `pads` `=` $pads_low `x` $pads_high `groups` `=` $groups
    (`channels_last` $channels_last^)? attr-dict `:` type($input) `,` type($filter)
  }];
  let extraClassDeclaration = [{
    /// The dimension of `input` and of `result` that holds the channels.
    int64_t getChannelDim() { return getChannelsLast() ? getInput().getType().getRank() - 1 : 1; }
    /// The dimension of `input` and of `result` that is spatial dimension `d`.
    int64_t getSpatialDim(int64_t d) { return getChannelsLast() ? 1 + d : 2 + d; }
  }];
}

#endif
