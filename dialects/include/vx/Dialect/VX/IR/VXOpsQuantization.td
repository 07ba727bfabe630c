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

def VX_BlockFormat : I32EnumAttr<"BlockFormat", "how bytes hold numbers of few bits, a block of numbers after the other", [
    I32EnumAttrCase<"q4_0", 0>, I32EnumAttrCase<"q4_1", 1>, I32EnumAttrCase<"q5_0", 2>, I32EnumAttrCase<"q5_1", 3>, I32EnumAttrCase<"q8_0", 4>,
    I32EnumAttrCase<"q2_k", 5>, I32EnumAttrCase<"q3_k", 6>, I32EnumAttrCase<"q4_k", 7>, I32EnumAttrCase<"q5_k", 8>, I32EnumAttrCase<"q6_k", 9>,
    I32EnumAttrCase<"iq4_nl", 10>, I32EnumAttrCase<"mxfp4", 11>]> {
  let cppNamespace = "::vx";
}

def VX_DecodeBlocksOp : VX_InferredOp<"decode_blocks", [Pure, VX_Anchor, VX_NonDifferentiable, VX_Unconstrained, VX_Decomposable]> {
  let summary = "the numbers that blocks of bytes hold";
  let description = [{
    The last dimension of `input` holds blocks of bytes, one after the other, in a format of GGUF files (`BlockFormats.h`). A block has
    integers of few bits, a scale, and in some formats a minimum or scales of its parts:

        result = integer * scale + minimum

    in f32; each operation is rounded. The result has as many times the elements of a block in its last dimension. The bytes stay as they
    are in the module: the op is never folded. `vx-decompose` takes it apart for each target, so that a product decodes what it reads; a
    gather reads the bytes of its rows.

    - C1: `input` has a dimension, and the last one is a multiple of the bytes of a block.

    Example: 576 rows of two blocks of 32 numbers, each with a scale and a minimum in f16 and 16 bytes of integers:

        %w = vx.decode_blocks q4_1 %bytes : tensor<576x40xui8>
  }];
  let arguments = (ins VX_BlockFormat:$format, RankedTensorOf<[UI8]>:$input);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$format $input attr-dict `:` type($input)";
}

#endif
