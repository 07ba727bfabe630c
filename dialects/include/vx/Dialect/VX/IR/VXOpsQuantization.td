// Quantisation to integers of few bits, and dequantisation. Scales and zero points have the shape of the values. One
// for a whole tensor, for each index of a dimension or for each block of indices is a `vx.broadcast`.
#ifndef VX_DIALECT_VX_IR_VXOPSQUANTIZATION
#define VX_DIALECT_VX_IR_VXOPSQUANTIZATION

include "vx/Dialect/VX/IR/VXBase.td"

class VX_QuantizationOp<string opMnemonic, list<Trait> traits>
    : VX_Op<opMnemonic, !listconcat([Pure, VX_Pointwise, VX_Elementwise, VX_ConstrainedOpInterface, VX_StatesResultType, VX_Decomposable], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def VX_QuantizeOp : VX_QuantizationOp<"quantize", [AllElementTypesMatch<["input", "scale"]>, VX_NonDifferentiable]> {
  let summary = "numbers as integers of few bits";
  let description = [{
        result = saturate(roundeven(input / scale) + zero)

    The quotient is rounded to the type of `input`; all that follows is exact. `saturate` gives the nearest integer that the result's type
    holds, and the least one for NaN. Without `zero` that is 0.

    `vx-integer-products` reads these ops; `vx-decompose` then takes them apart.

    - C1: all shapes are equal.
    - C2: the floats have 16 bits or more; the result has integers of 2 to 16 bits, of which type `zero` is.

    Example: 1.3 by a scale of 0.5 and a zero point of 128 is roundeven(2.6) + 128 = 131.
  }];
  let arguments = (ins VX_FloatTensor:$input, VX_FloatTensor:$scale, Optional<VX_NumberTensor>:$zero);
  let results = (outs VX_NumberTensor:$result);
}

def VX_DequantizeOp : VX_QuantizationOp<"dequantize", [AllElementTypesMatch<["scale", "result"]>, VX_Differentiable]> {
  let summary = "the numbers that integers of few bits stand for";
  let description = [{
        result = (input - zero) * scale

    The difference is exact, or for integers of 32 bits rounded to f32. The product is computed in f32, or f64 for f64, and rounded to the
    result's type. Without `zero` that is 0. `vx-integer-products` reads these ops; `vx-decompose` then takes them apart.

    - C1: all shapes are equal.
    - C2: the floats have 16 bits or more; `input` has integers of 2 to 16 bits, or of 32 without `zero`, which is of its type.
  }];
  let arguments = (ins VX_NumberTensor:$input, VX_FloatTensor:$scale, Optional<VX_NumberTensor>:$zero);
  let results = (outs VX_FloatTensor:$result);
}

#endif
