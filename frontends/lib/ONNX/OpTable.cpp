#include "OpTable.h"

#include "OpFunctions.h"
#include "llvm/ADT/StringExtras.h"

namespace vx::onnx {

/// Sorted by name. An op starts at the version whose form its function reads; what version 1 of the activations had
/// more
/// (`consumed_inputs`) is not read. A later version that changes an op's meaning gets a line of its own.
static constexpr OpTableEntry table[] = {
    {"Abs", 6, newestOpset, importAbs, ""},
    {"Add", 1, newestOpset, importAdd, "axis@1-6 broadcast@1-6 consumed_inputs@1-5"},
    {"And", 1, newestOpset, importAnd, "axis@1-6 broadcast@1-6"},
    {"ArgMax", 1, newestOpset, importArgMax, "axis keepdims select_last_index@12"},
    {"ArgMin", 1, newestOpset, importArgMin, "axis keepdims select_last_index@12"},
    {"AveragePool", 1, newestOpset, importAveragePool,
     "auto_pad ceil_mode@10 count_include_pad@7 dilations@19 kernel_shape pads strides"},
    {"BatchNormalization", 1, newestOpset, importBatchNormalization,
     "consumed_inputs@1-5 epsilon is_test@1-6 momentum spatial@1-8 training_mode@14"},
    {"BitwiseAnd", 18, newestOpset, importAnd, ""},
    {"BitwiseNot", 18, newestOpset, importNot, ""},
    {"BitwiseOr", 18, newestOpset, importOr, ""},
    {"BitwiseXor", 18, newestOpset, importXor, ""},
    {"Cast", 6, newestOpset, importCast, "round_mode@24 saturate@19 to"},
    {"CastLike", 15, newestOpset, importCastLike, "round_mode@24 saturate@19"},
    {"Ceil", 6, newestOpset, importCeil, ""},
    {"Celu", 12, newestOpset, importCelu, "alpha"},
    {"Clip", 6, newestOpset, importClip, "max@6-10 min@6-10"},
    {"Concat", 1, newestOpset, importConcat, "axis"},
    {"Constant", 1, newestOpset, importConstant,
     "sparse_value@11 value value_float@12 value_floats@12 value_int@12 value_ints@12 value_string@12 "
     "value_strings@12"},
    {"ConstantOfShape", 9, newestOpset, importConstantOfShape, "value"},
    {"Conv", 1, newestOpset, importConv, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", 1, newestOpset, importConvTranspose,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Cos", 7, newestOpset, importCos, ""},
    {"DequantizeLinear", 10, newestOpset, importDequantizeLinear, "axis@13 block_size@21 output_dtype@23"},
    {"Div", 1, newestOpset, importDiv, "axis@1-6 broadcast@1-6 consumed_inputs@1-5"},
    {"Dropout", 1, newestOpset, importDropout, "consumed_inputs@1-5 is_test@1-6 ratio@1-11 seed@12"},
    {"Elu", 6, newestOpset, importElu, "alpha"},
    {"Equal", 1, newestOpset, importEqual, "axis@1-6 broadcast@1-6"},
    {"Erf", 9, newestOpset, importErf, ""},
    {"Exp", 6, newestOpset, importExp, ""},
    {"Expand", 8, newestOpset, importExpand, ""},
    {"Flatten", 1, newestOpset, importFlatten, "axis"},
    {"Floor", 6, newestOpset, importFloor, ""},
    {"Gather", 1, newestOpset, importGather, "axis"},
    {"GatherND", 11, newestOpset, importGatherND, "batch_dims@12"},
    {"Gelu", 20, newestOpset, importGelu, "approximate"},
    {"Gemm", 1, newestOpset, importGemm, "alpha beta broadcast@1-6 transA transB"},
    {"GlobalAveragePool", 1, newestOpset, importGlobalAveragePool, ""},
    {"GlobalMaxPool", 1, newestOpset, importGlobalMaxPool, ""},
    {"Greater", 1, newestOpset, importGreater, "axis@1-6 broadcast@1-6"},
    {"GreaterOrEqual", 12, newestOpset, importGreaterOrEqual, ""},
    {"HardSigmoid", 6, newestOpset, importHardSigmoid, "alpha beta"},
    {"HardSwish", 14, newestOpset, importHardSwish, ""},
    {"Identity", 1, newestOpset, importIdentity, ""},
    {"If", 1, newestOpset, importIf, "else_branch then_branch"},
    {"InstanceNormalization", 6, newestOpset, importInstanceNormalization, "epsilon"},
    {"IsInf", 10, newestOpset, importIsInf, "detect_negative detect_positive"},
    {"IsNaN", 9, newestOpset, importIsNaN, ""},
    {"LayerNormalization", 17, newestOpset, importLayerNormalization, "axis epsilon stash_type"},
    {"LeakyRelu", 6, newestOpset, importLeakyRelu, "alpha"},
    {"Less", 1, newestOpset, importLess, "axis@1-6 broadcast@1-6"},
    {"LessOrEqual", 12, newestOpset, importLessOrEqual, ""},
    {"Log", 6, newestOpset, importLog, ""},
    {"LogSoftmax", 1, newestOpset, importLogSoftmax, "axis"},
    {"Loop", 1, newestOpset, importLoop, "body"},
    {"MatMul", 1, newestOpset, importMatMul, ""},
    {"Max", 6, newestOpset, importMax, ""},
    {"MaxPool", 1, newestOpset, importMaxPool,
     "auto_pad ceil_mode@10 dilations@10 kernel_shape pads storage_order@8 strides"},
    {"Mean", 6, newestOpset, importMean, ""},
    {"Min", 6, newestOpset, importMin, ""},
    {"Mish", 18, newestOpset, importMish, ""},
    {"Mod", 10, newestOpset, importMod, "fmod"},
    {"Mul", 1, newestOpset, importMul, "axis@1-6 broadcast@1-6 consumed_inputs@1-5"},
    {"Neg", 6, newestOpset, importNeg, ""},
    {"NonZero", 9, newestOpset, importNonZero, ""},
    {"Not", 1, newestOpset, importNot, ""},
    {"Or", 1, newestOpset, importOr, "axis@1-6 broadcast@1-6"},
    {"PRelu", 7, newestOpset, importPRelu, ""},
    {"Pad", 1, newestOpset, importPad, "mode paddings@1-1 pads@2-10 value@1-10"},
    {"Pow", 1, newestOpset, importPow, "axis@1-6 broadcast@1-6"},
    {"QuantizeLinear", 10, newestOpset, importQuantizeLinear,
     "axis@13 block_size@21 output_dtype@21 precision@23 saturate@19"},
    {"RMSNormalization", 23, newestOpset, importRMSNormalization, "axis epsilon stash_type"},
    {"Range", 11, newestOpset, importRange, "stash_type@27"},
    {"Reciprocal", 6, newestOpset, importReciprocal, ""},
    {"ReduceL1", 1, newestOpset, importReduceL1, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceL2", 1, newestOpset, importReduceL2, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceLogSum", 1, newestOpset, importReduceLogSum, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceLogSumExp", 1, newestOpset, importReduceLogSumExp, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceMax", 1, newestOpset, importReduceMax, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceMean", 1, newestOpset, importReduceMean, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceMin", 1, newestOpset, importReduceMin, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceProd", 1, newestOpset, importReduceProd, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"ReduceSum", 1, newestOpset, importReduceSum, "axes@1-12 keepdims noop_with_empty_axes@13"},
    {"ReduceSumSquare", 1, newestOpset, importReduceSumSquare, "axes@1-17 keepdims noop_with_empty_axes@18"},
    {"Relu", 6, newestOpset, importRelu, ""},
    {"Reshape", 1, newestOpset, importReshape, "allowzero@14 consumed_inputs@1-4 shape@1-4"},
    {"Resize", 10, newestOpset, importResize,
     "antialias@18 axes@18 coordinate_transformation_mode@11 cubic_coeff_a@11 exclude_outside@11 "
     "extrapolation_value@11 keep_aspect_ratio_policy@18 mode nearest_mode@11"},
    {"Round", 11, newestOpset, importRound, ""},
    {"Selu", 6, newestOpset, importSelu, "alpha gamma"},
    {"SequenceAt", 11, newestOpset, importSequenceAt, ""},
    {"SequenceConstruct", 11, newestOpset, importSequenceConstruct, ""},
    {"SequenceEmpty", 11, newestOpset, importSequenceEmpty, "dtype"},
    {"SequenceErase", 11, newestOpset, importSequenceErase, ""},
    {"SequenceInsert", 11, newestOpset, importSequenceInsert, ""},
    {"SequenceLength", 11, newestOpset, importSequenceLength, ""},
    {"Shape", 1, newestOpset, importShape, "end@15 start@15"},
    {"Sigmoid", 6, newestOpset, importSigmoid, ""},
    {"Sign", 9, newestOpset, importSign, ""},
    {"Sin", 7, newestOpset, importSin, ""},
    {"Size", 1, newestOpset, importSize, ""},
    {"Slice", 1, newestOpset, importSlice, "axes@1-9 ends@1-9 starts@1-9"},
    {"Softmax", 1, newestOpset, importSoftmax, "axis"},
    {"Softplus", 1, newestOpset, importSoftplus, ""},
    {"Softsign", 1, newestOpset, importSoftsign, ""},
    {"Split", 2, newestOpset, importSplit, "axis num_outputs@18 split@2-12"},
    {"Sqrt", 6, newestOpset, importSqrt, ""},
    {"Squeeze", 1, newestOpset, importSqueeze, "axes@1-12"},
    {"Sub", 1, newestOpset, importSub, "axis@1-6 broadcast@1-6 consumed_inputs@1-5"},
    {"Sum", 6, newestOpset, importSum, ""},
    {"Swish", 24, newestOpset, importSwish, "alpha"},
    {"Tan", 7, newestOpset, importTan, ""},
    {"Tanh", 6, newestOpset, importTanh, ""},
    {"ThresholdedRelu", 10, newestOpset, importThresholdedRelu, "alpha"},
    {"Tile", 6, newestOpset, importTile, ""},
    {"Transpose", 1, newestOpset, importTranspose, "perm"},
    {"Unsqueeze", 1, newestOpset, importUnsqueeze, "axes@1-12"},
    {"Where", 9, newestOpset, importWhere, ""},
    {"Xor", 1, newestOpset, importXor, "axis@1-6 broadcast@1-6"},
};

/// The names of a table entry's attributes in one version.
static llvm::SmallVector<llvm::StringRef> getAttributes(llvm::StringRef spelled, int64_t version) {
  llvm::SmallVector<llvm::StringRef> names;
  for (llvm::StringRef item : llvm::split(spelled, ' ')) {
    auto [name, versions] = item.split('@');
    auto [from, to] = versions.split('-');
    int64_t first = 0, last = newestOpset;
    (void)from.getAsInteger(10, first);
    (void)to.getAsInteger(10, last);
    if (!name.empty() && version >= first && version <= last)
      names.push_back(name);
  }
  return names;
}

OpLookup findOp(llvm::StringRef name, int64_t version) {
  OpLookup lookup;
  for (const OpTableEntry &entry : table) {
    if (entry.name != name)
      continue;
    lookup.first = lookup.isKnown ? std::min(lookup.first, entry.first) : entry.first;
    lookup.last = lookup.isKnown ? std::max(lookup.last, entry.last) : entry.last;
    lookup.isKnown = true;
    if (version >= entry.first && version <= entry.last) {
      lookup.function = entry.function;
      lookup.attributes = getAttributes(entry.attributes, version);
    }
  }
  return lookup;
}

} // namespace vx::onnx
