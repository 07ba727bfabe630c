// Reductions over whole dimensions and over windows.
#ifndef VX_DIALECT_VX_IR_VXOPSREDUCTION
#define VX_DIALECT_VX_IR_VXOPSREDUCTION

include "vx/Dialect/VX/IR/VXBase.td"

def VX_ReduceKind : I32EnumAttr<"ReduceKind", "a reduction", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>,
    I32EnumAttrCase<"and_", 4, "and">, I32EnumAttrCase<"or_", 5, "or">]> {
  let cppNamespace = "::vx";
}

def VX_ReduceOp : VX_InferredOp<"reduce", [Pure, AllElementTypesMatch<["input", "result"]>,
                                           VX_Anchor, VX_Reduces, VX_RowsToElements, VX_MayBeIdentity, VX_TakesPrologue, VX_CountsFlops, VX_Differentiable,
                                           VX_Unconstrained]> {
  let summary = "combines all elements along some dimensions";
  let description = [{
    The result has the dimensions of `input` that are not in `axes`. Over no element: sum 0, prod 1, max the least value
    (-inf), min the greatest (+inf), and true, or false. max and min give NaN if any element is NaN.

    - C1: `axes` are dimensions of `input`, increasing.
    - C2: `and` and `or` take bools or integers, the others numbers.

    Numerics: floats narrower than f32 are accumulated in f32. The order is not specified but does not depend on threads.
  }];
  let arguments = (ins VX_ReduceKind:$kind, VX_BoolOrNumber:$input, DenseI64ArrayAttr:$axes);
  let results = (outs VX_BoolOrNumber:$result);
  let assemblyFormat = "$kind $input `axes` `=` $axes attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def VX_CumulativeSumOp : VX_InferredOp<"cumulative_sum", [Pure, AllElementTypesMatch<["input", "result"]>, VX_Anchor, VX_TakesPrologue, VX_ScattersResult,
                                                          VX_Decomposable, VX_Differentiable, VX_Unconstrained]> {
  let summary = "the sum of all elements before each one";
  let description = [{
    Along the middle of three dimensions:

        result[a, i, b] = sum over k <= i of input[a, k, b]

    With `exclusive` it is the sum over k < i; with `reverse` the elements behind one count in place of those before it.

    - C1: `input` has rank 3.

    Numerics: floats narrower than f32 are accumulated in f32. The order is not specified but does not depend on threads.
  }];
  let arguments = (ins VX_NumberTensor:$input, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = "(`exclusive` $exclusive^)? (`reverse` $reverse^)? $input attr-dict `:` type($input)";
}

def VX_ArgReduceOp : VX_InferredOp<"arg_reduce", [Pure, VX_Anchor, VX_NonDifferentiable, VX_Reduces, VX_RowsToPlaces, VX_TakesPrologue, VX_Constrained]> {
  let summary = "the place of the greatest or least element along one dimension";
  let description = [{
    The index along `axis` of the first (or with `last`, the last) greatest (`max`) or least (`min`) element; a NaN counts as
    the greatest and as the least.

    - C1: `axis` is a dimension of `input`.
    - C2: `kind` is max or min.
    - C3: `input` has at least one element along `axis`, where that is known.
  }];
  let arguments = (ins VX_ReduceKind:$kind, VX_NumberTensor:$input, I64Attr:$axis, UnitAttr:$last);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$kind $input `axis` `=` $axis (`last` $last^)? attr-dict `:` type($input)";
}

def VX_ReduceWindowOp : VX_InferredOp<"reduce_window", [Pure, AllElementTypesMatch<["input", "result"]>,
                                                        VX_Anchor, VX_Reduces, VX_CountsFlops, VX_Differentiable, VX_Constrained]> {
  let summary = "combines the elements of a sliding window";
  let description = [{
    All dimensions have a window; size 1 leaves one alone:

        result[o...] = combine over k... of input[o*strides + k*dilations - pads_low]

    Elements outside of `input` do not take part; a window of none gives the reduction's value over no element.

    - C1: all lists have one entry for each dimension; windows, strides and dilations are at least 1.
    - C2: `kind` is sum, prod, max or min.
    - C3: no dimension of the result is negative.

    Numerics: as `vx.reduce`.
  }];
  let arguments = (ins VX_ReduceKind:$kind, VX_NumberTensor:$input, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high);
  let results = (outs VX_NumberTensor:$result);
  let assemblyFormat = [{
    $kind $input `window` `=` $window `strides` `=` $strides `dilations` `=` $dilations `pads` `=` $pads_low `x` $pads_high
    attr-dict `:` type($input)
  }];
}

#endif
