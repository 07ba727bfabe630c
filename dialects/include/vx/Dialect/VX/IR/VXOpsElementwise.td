// Elementwise arithmetic, comparison, selection and conversion. Shapes are equal: broadcasting is `vx.broadcast`.
#ifndef VX_DIALECT_VX_IR_VXOPSELEMENTWISE
#define VX_DIALECT_VX_IR_VXOPSELEMENTWISE

include "vx/Dialect/VX/IR/VXBase.td"

/// inferReturnTypes of an elementwise op: the operands' common shape, with the element type of the C++ expression
/// (`{}`: that of the first operand).
class VX_ElementwiseInference<string elementType> {
  string definition = [{
    ::mlir::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        $cppClass::Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::vx::inferElementwise(location, adaptor.getOperands(), }] # elementType # [{, types);
    }
  }];
}
class VX_ElementwiseOp<string opMnemonic, list<Trait> traits = [], string elementType = "{}">
    : VX_InferredOp<opMnemonic, !listconcat([Pure, VX_Pointwise, VX_Elementwise, VX_ConstrainedOpInterface], traits),
                    VX_ElementwiseInference<elementType>.definition>;
defvar VX_BoolResult = "::mlir::IntegerType::get(context, 1)";

class VX_UnaryOp<string opMnemonic, Type tensorType, string opSummary, string opDescription, list<Trait> traits = []>
    : VX_ElementwiseOp<opMnemonic, !listconcat([VX_WorkOpInterface], traits)> {
  let summary = opSummary;
  let description = opDescription # [{

    - C1: the operand and the result have the same shape and element type.
  }];
  let arguments = (ins tensorType:$input);
  let results = (outs tensorType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

class VX_BinaryOp<string opMnemonic, Type tensorType, string opSummary, string opDescription, list<Trait> traits = []>
    : VX_ElementwiseOp<opMnemonic, !listconcat([AllElementTypesMatch<["lhs", "rhs"]>, VX_WorkOpInterface], traits)> {
  let summary = opSummary;
  let description = opDescription # [{

    - C1: the operands and the result have the same shape and element type.
  }];
  let arguments = (ins tensorType:$lhs, tensorType:$rhs);
  let results = (outs tensorType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

// --- one operand
def VX_NegOp : VX_UnaryOp<"neg", VX_NumberTensor, "negation", "`result = -input`; two's complement for integers.", [VX_MayBeIdentity, VX_Differentiable]>;
def VX_AbsOp : VX_UnaryOp<"abs", VX_NumberTensor, "absolute value",
    "`result = |input|`; the least signed integer is its own absolute value.", [VX_Differentiable]>;
def VX_SignOp : VX_UnaryOp<"sign", VX_NumberTensor, "sign", "`result` is -1, 0 or 1; NaN gives NaN, -0 gives -0.", [VX_NonDifferentiable]>;
def VX_CeilOp : VX_UnaryOp<"ceil", VX_FloatTensor, "least integer not below", "`result = ceil(input)`.", [VX_NonDifferentiable]>;
def VX_FloorOp : VX_UnaryOp<"floor", VX_FloatTensor, "greatest integer not above", "`result = floor(input)`.", [VX_NonDifferentiable]>;
def VX_RoundOp : VX_UnaryOp<"round", VX_FloatTensor, "nearest integer, ties to even", "`result = roundeven(input)`.", [VX_NonDifferentiable]>;
def VX_SqrtOp : VX_UnaryOp<"sqrt", VX_FloatTensor, "square root", "`result = sqrt(input)`, correctly rounded.", [VX_Differentiable]>;
def VX_ExpOp : VX_UnaryOp<"exp", VX_FloatTensor, "exponential", "`result = e^input`.", [VX_Differentiable]>;
def VX_LogOp : VX_UnaryOp<"log", VX_FloatTensor, "natural logarithm",
    "`result = ln(input)`; 0 gives -inf, a negative number NaN.", [VX_Differentiable]>;
def VX_SinOp : VX_UnaryOp<"sin", VX_FloatTensor, "sine", "`result = sin(input)`, radians; inf gives NaN.", [VX_Differentiable]>;
def VX_CosOp : VX_UnaryOp<"cos", VX_FloatTensor, "cosine", "`result = cos(input)`, radians; inf gives NaN.", [VX_Differentiable]>;
def VX_AsinOp : VX_UnaryOp<"asin", VX_FloatTensor, "arc sine",
    "`result = arcsin(input)`, in radians from -pi/2 to pi/2; NaN beyond -1 and 1.", [VX_Differentiable]>;
def VX_AcosOp : VX_UnaryOp<"acos", VX_FloatTensor, "arc cosine",
    "`result = arccos(input)`, in radians from 0 to pi; NaN beyond -1 and 1.", [VX_Differentiable]>;
def VX_AtanOp : VX_UnaryOp<"atan", VX_FloatTensor, "arc tangent", "`result = arctan(input)`, in radians from -pi/2 to pi/2.", [VX_Differentiable]>;
def VX_TanhOp : VX_UnaryOp<"tanh", VX_FloatTensor, "hyperbolic tangent", "`result = tanh(input)`.", [VX_Differentiable]>;
def VX_ErfOp : VX_UnaryOp<"erf", VX_FloatTensor, "error function",
    "`result = 2/sqrt(pi) * integral of e^(-t^2) for t from 0 to input`.", [VX_Differentiable]>;
def VX_NotOp : VX_UnaryOp<"not", VX_BoolOrIntTensor, "logical or bitwise complement",
    "`result = ~input`: logical for bools, bitwise for integers.", [VX_MayBeIdentity, VX_NonDifferentiable]>;

class VX_PredicateOp<string opMnemonic, string opSummary, string opDescription>
    : VX_ElementwiseOp<opMnemonic, [VX_NonDifferentiable], VX_BoolResult> {
  let summary = opSummary;
  let description = opDescription # [{

    - C1: the operand and the result have the same shape.
  }];
  let arguments = (ins VX_FloatTensor:$input);
  let results = (outs VX_BoolTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
def VX_IsNanOp : VX_PredicateOp<"is_nan", "test for NaN", "`result = input != input`.">;
def VX_IsInfOp : VX_PredicateOp<"is_inf", "test for an infinity", "`result` is true for +inf and -inf.">;

// --- two operands
def VX_AddOp : VX_BinaryOp<"add", VX_NumberTensor, "sum", "`result = lhs + rhs`; integers wrap.", [Commutative, VX_MayBeIdentity, VX_Differentiable]>;
def VX_SubOp : VX_BinaryOp<"sub", VX_NumberTensor, "difference", "`result = lhs - rhs`; integers wrap.", [VX_MayBeIdentity, VX_Differentiable]>;
def VX_MulOp : VX_BinaryOp<"mul", VX_NumberTensor, "product", "`result = lhs * rhs`; integers wrap.", [Commutative, VX_MayBeIdentity, VX_Differentiable]>;
def VX_DivOp : VX_BinaryOp<"div", VX_NumberTensor, "quotient",
    "`result = lhs / rhs`; integers truncate towards zero. An integer division by zero gives 0, the least number over -1 itself.", [VX_MayBeIdentity, VX_Differentiable]>;
def VX_RemOp : VX_BinaryOp<"rem", VX_NumberTensor, "remainder with the sign of the dividend",
    "`result = lhs - trunc(lhs / rhs) * rhs`, as C's fmod and %. An integer remainder by zero is 0.", [VX_Differentiable]>;
def VX_PowOp : VX_BinaryOp<"pow", VX_FloatTensor, "power", "`result = lhs^rhs`, as C's pow.", [VX_Differentiable]>;
def VX_MaxOp : VX_BinaryOp<"max", VX_NumberTensor, "greater of two", "NaN if either operand is NaN; +0 is greater than -0 or equal.", [Commutative, VX_Chooses, VX_Differentiable]>;
def VX_MinOp : VX_BinaryOp<"min", VX_NumberTensor, "lesser of two", "NaN if either operand is NaN.", [Commutative, VX_Chooses, VX_Differentiable]>;
def VX_AndOp : VX_BinaryOp<"and", VX_BoolOrIntTensor, "logical or bitwise and", "`result = lhs & rhs`.", [Commutative, VX_MayBeIdentity, VX_NonDifferentiable]>;
def VX_OrOp : VX_BinaryOp<"or", VX_BoolOrIntTensor, "logical or bitwise or", "`result = lhs | rhs`.", [Commutative, VX_MayBeIdentity, VX_NonDifferentiable]>;
def VX_XorOp : VX_BinaryOp<"xor", VX_BoolOrIntTensor, "logical or bitwise exclusive or", "`result = lhs ^ rhs`.", [Commutative, VX_MayBeIdentity, VX_NonDifferentiable]>;

def VX_ComparePredicate : I32EnumAttr<"ComparePredicate", "a comparison", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
    I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::vx";
}

def VX_CompareOp : VX_ElementwiseOp<"compare", [AllElementTypesMatch<["lhs", "rhs"]>, VX_NonDifferentiable], VX_BoolResult> {
  let summary = "comparison";
  let description = [{
    `result = lhs <predicate> rhs`. A comparison with NaN is false, except `ne`, which is true. Signed integers compare
    signed, unsigned ones unsigned; false is less than true.

    - C1: the operands have the same shape and element type, and the result their shape.
  }];
  let arguments = (ins VX_ComparePredicate:$predicate, VX_Tensor:$lhs, VX_Tensor:$rhs);
  let results = (outs VX_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
}

def VX_SelectOp : VX_ElementwiseOp<"select", [AllElementTypesMatch<["on_true", "on_false"]>, VX_Chooses, VX_MayBeIdentity, VX_Differentiable],
                                  "::mlir::getElementTypeOrSelf(adaptor.getOnTrue().getType())"> {
  let summary = "choice between two values by a condition";
  let description = [{
    `result = condition ? on_true : on_false`.

    - C1: all operands have one shape; `on_true`, `on_false` and the result have one element type.
  }];
  let arguments = (ins VX_BoolTensor:$condition, VX_Tensor:$on_true, VX_Tensor:$on_false);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($on_true) `,` type($on_false)";
}

def VX_CastOp : VX_Op<"cast", [Pure, VX_Pointwise, VX_Elementwise, VX_ConstrainedOpInterface, VX_StatesResultType, VX_MayBeIdentity, VX_Differentiable]> {
  let summary = "conversion of the element type";
  let description = [{
    Converts every element to the result's element type. Float to float rounds to nearest even; what is above the greatest finite number
    gives an infinity where the type has one, else NaN, or in f4E2M1FN the greatest number, which NaN gives, too. f8E8M0FNU has powers of two
    only: a tie rounds up, 0 gives the least power, and a negative number NaN. Float to integer truncates
    towards zero; what does not fit saturates, NaN gives 0. Integer to integer keeps the low bits or extends by the sign of the source
    type. To bool: not equal to 0 (NaN is true). From bool: 0 or 1.

    - C1: the operand and the result have the same shape.
    - C2: neither is a string tensor.
  }];
  let arguments = (ins VX_Tensor:$input);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def VX_BitcastOp : VX_Op<"bitcast", [Pure, VX_Pointwise, VX_Elementwise, VX_ConstrainedOpInterface, VX_StatesResultType, VX_NonDifferentiable]> {
  let summary = "the same bits as elements of another type";
  let description = [{
    Reads the bits of every element as one of the result's element type. A bool is a byte of 0 or 1; a byte that is read as a
    bool is true unless it is 0.

    - C1: the operand and the result have the same shape.
    - C2: an element of one takes as many bits of memory as an element of the other, and neither is a string.

    Example: `vx.bitcast %x : tensor<4xf32> -> tensor<4xi32>` gives 1065353216 for 1.
  }];
  let arguments = (ins VX_Tensor:$input);
  let results = (outs VX_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
