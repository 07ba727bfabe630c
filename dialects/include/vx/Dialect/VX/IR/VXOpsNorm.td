// Normalisations, kept whole because their kernels and gradients matter.
#ifndef VX_DIALECT_VX_IR_VXOPSNORM
#define VX_DIALECT_VX_IR_VXOPSNORM

include "vx/Dialect/VX/IR/VXBase.td"

def VX_SoftmaxOp : VX_InferredOp<"softmax", [Pure, AllElementTypesMatch<["input", "result"]>,
                                             VX_Anchor, VX_Reduces, VX_AlongRows, VX_TakesPrologue, VX_CountsFlops, VX_Differentiable, VX_Unconstrained, VX_Decomposable]> {
  let summary = "normalised exponential along one dimension";
  let description = [{
        result[..., i, ...] = e^(input[i] - m) / sum over j of e^(input[j] - m),  m = max over j of input[j]

    With `log` the natural logarithm of that, computed as `input - m - ln(sum)`. A row that holds NaN or +inf is NaN.

    - C1: `axis` is a dimension of `input`.

    Numerics: sums are accumulated in f32, or f64 for f64 inputs.
  }];
  let arguments = (ins VX_FloatTensor:$input, I64Attr:$axis, UnitAttr:$log);
  let results = (outs VX_FloatTensor:$result);
  let assemblyFormat = "(`log` $log^)? $input `axis` `=` $axis attr-dict `:` type($input)";
}

def VX_LayerNormOp : VX_InferredOp<"layer_norm", [Pure, AllElementTypesMatch<["input", "scale", "bias", "result"]>,
                                                  VX_Anchor, VX_Reduces, VX_AlongRows, VX_TakesPrologue, VX_CountsFlops, VX_Differentiable, VX_Constrained, VX_Decomposable]> {
  let summary = "normalisation of the trailing dimensions to mean 0 and variance 1";
  let description = [{
    Over the dimensions from `axis` on, with mean m and (biased) variance v of each row:

        result = (input - m) / sqrt(v + epsilon) * scale + bias

    - C1: `axis` is a dimension of `input`.
    - C2: `scale` and `bias` have the shape of the dimensions of `input` from `axis` on.
    - C3: `epsilon` is finite and at least 0.

    Numerics: mean and variance (of the centred values) are accumulated in f32, or f64 for f64 inputs.
  }];
  let arguments = (ins VX_FloatTensor:$input, VX_FloatTensor:$scale, VX_FloatTensor:$bias, I64Attr:$axis, F32Attr:$epsilon);
  let results = (outs VX_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $bias `axis` `=` $axis `epsilon` `=` $epsilon attr-dict `:` type($input) `,` type($scale) `,` type($bias)
  }];
}

def VX_RmsNormOp : VX_InferredOp<"rms_norm", [Pure, AllElementTypesMatch<["input", "scale", "result"]>,
                                              VX_Anchor, VX_Reduces, VX_AlongRows, VX_TakesPrologue, VX_CountsFlops, VX_Differentiable, VX_Constrained, VX_Decomposable]> {
  let summary = "root-mean-square normalisation of the innermost dimension";
  let description = [{
    Divides every row by the root of its mean square, then scales each column:

        result[..., j] = input[..., j] * scale[j] / sqrt(mean(input[..., :]^2) + epsilon)

    - C1: `input` has rank 1 or more.
    - C2: `scale` has one element per column of `input`.
    - C3: `epsilon` is finite and greater than 0.

    Numerics: the mean is accumulated in f32, or f64 for f64 inputs.
  }];
  let arguments = (ins VX_FloatTensor:$input, VX_FloatTensor:$scale, F32Attr:$epsilon);
  let results = (outs VX_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` `epsilon` `=` $epsilon attr-dict `:` type($input) `,` type($scale)";
}

#endif
