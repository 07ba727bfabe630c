// Elementwise functions of one tensor, decomposed where vx has no op of the kind.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

template <typename Op>
static void importUnary(NodeImporter &n) {
  n.setOutput(0, n.emit<Op>(n.getTensor(0)));
}

static void importAcos(NodeImporter &n) { importUnary<AcosOp>(n); }
static void importAsin(NodeImporter &n) { importUnary<AsinOp>(n); }
static void importAtan(NodeImporter &n) { importUnary<AtanOp>(n); }
static void importAbs(NodeImporter &n) { importUnary<AbsOp>(n); }
static void importCeil(NodeImporter &n) {
  importUnary<CeilOp>(n);
  followWhole(n, WholeFunction::ceil);
}
static void importCos(NodeImporter &n) { importUnary<CosOp>(n); }
static void importErf(NodeImporter &n) { importUnary<ErfOp>(n); }
static void importExp(NodeImporter &n) { importUnary<ExpOp>(n); }
static void importFloor(NodeImporter &n) {
  importUnary<FloorOp>(n);
  followWhole(n, WholeFunction::floor);
}
static void importIsNaN(NodeImporter &n) { importUnary<IsNanOp>(n); }
static void importLog(NodeImporter &n) { importUnary<LogOp>(n); }
static void importNeg(NodeImporter &n) {
  std::optional<Dims> contents = n.getContents(0);
  RankedTensorType type = n.getTensorType(0);
  if (contents && type.getRank() <= 1) {
    for (DimAttr &dim : *contents)
      dim = mulDims(dim, n.dim(-1));
    if (llvm::all_of(*contents, [&](DimAttr dim) { return fitsType(dim, type.getElementType()); }))
      return n.setContents(0, *contents, type);
  }
  importUnary<NegOp>(n);
}
static void importRound(NodeImporter &n) {
  importUnary<RoundOp>(n);
  followWhole(n, WholeFunction::round);
}
static void importSign(NodeImporter &n) { importUnary<SignOp>(n); }
static void importSin(NodeImporter &n) { importUnary<SinOp>(n); }
static void importSqrt(NodeImporter &n) { importUnary<SqrtOp>(n); }
static void importTanh(NodeImporter &n) { importUnary<TanhOp>(n); }

static void importTan(NodeImporter &n) {
  Value x = n.getTensor(0);
  n.setOutput(0, n.emit<DivOp>(n.emit<SinOp>(x), n.emit<CosOp>(x)));
}

static void importReciprocal(NodeImporter &n) {
  Value x = n.getTensor(0);
  n.setOutput(0, n.emit<DivOp>(n.splatLike(1, x), x));
}

static void importIsInf(NodeImporter &n) {
  Value x = n.getTensor(0), result = n.emit<IsInfOp>(x);
  bool positive = n.getFlag("detect_positive", true), negative = n.getFlag("detect_negative", true);
  Value zero = positive != negative ? n.splatLike(0, x) : Value();
  if (!positive && !negative)
    result = n.splatLike(0, result);
  else if (positive != negative)
    result = n.emit<AndOp>(result, n.emit<CompareOp>(positive ? ComparePredicate::gt : ComparePredicate::lt, x, zero));
  n.setOutput(0, result);
}

static void importRelu(NodeImporter &n) { n.setOutput(0, emitRelu(n, n.getTensor(0))); }
static void importLeakyRelu(NodeImporter &n) {
  n.setOutput(0, emitLeakyRelu(n, n.getTensor(0), n.getFloat("alpha", 0.01f)));
}

/// Up to version 6 the slope is one number, or one for each channel.
static Value broadcastSlopeBefore7(NodeImporter &n, Value slope, ArrayRef<DimAttr> dims) {
  Dims shape = vx::getDims(typeOf(slope));
  if (shape.size() <= 1 && (shape.empty() || shape[0].asConstant() == 1))
    return n.broadcastInDim(n.reshape(slope, {}), dims, {});
  if (shape.size() != 1 || dims.size() < 2 || !mayBeEqual(shape[0], dims[1]))
    throwInvalid("expects one number, or one for each channel of " + describe(n.getTensorType(0)) +
                 ", as input 1, got " + describe(slope.getType()));
  n.require(ConstraintKind::equal, dims[1], shape[0]); // one number would be repeated
  return n.broadcastInDim(slope, dims, {1});
}

static void importPRelu(NodeImporter &n) {
  Value x = n.getTensor(0), slope = n.getTensor(1);
  Dims dims = vx::getDims(typeOf(x));
  slope = n.version < 7 ? broadcastSlopeBefore7(n, slope, dims) : n.broadcast(slope, dims);
  n.setOutput(0, emitSelectNegative(n, x, n.emit<MulOp>(x, slope), x));
}

static void importThresholdedRelu(NodeImporter &n) {
  n.setOutput(0, emitThresholdedRelu(n, n.getTensor(0), n.getFloat("alpha", 1.0f)));
}

static void importElu(NodeImporter &n) { n.setOutput(0, emitElu(n, n.getTensor(0), n.getFloat("alpha", 1.0f))); }
static void importCelu(NodeImporter &n) {
  float alpha = n.getFloat("alpha", 1.0f);
  n.setOutput(0, emitElu(n, n.getTensor(0), alpha, alpha));
}
static void importSelu(NodeImporter &n) {
  float alpha = n.getFloat("alpha", 1.67326319217681884765625f),
        gamma = n.getFloat("gamma", 1.05070102214813232421875f);
  n.setOutput(0, emitScaled(n, emitElu(n, n.getTensor(0), alpha), gamma));
}

static void importSigmoid(NodeImporter &n) { n.setOutput(0, emitSigmoid(n, n.getTensor(0))); }

Value emitSwish(NodeImporter &n, Value x, double alpha) {
  return n.emit<MulOp>(x, emitSigmoid(n, emitScaled(n, x, alpha)));
}
static void importSwish(NodeImporter &n) { n.setOutput(0, emitSwish(n, n.getTensor(0), n.getFloat("alpha", 1.0f))); }

static void importSwiGLU(NodeImporter &n) {
  n.requireShape(1, n.getDims(0)); // one value would be repeated
  Value gate = emitSwish(n, n.getTensor(0), n.getFloat("alpha", 1.0f));
  n.setOutput(0, n.emit<MulOp>(gate, n.broadcast(n.getTensor(1), n.getDims(0))));
}

static void importHardSigmoid(NodeImporter &n) {
  n.setOutput(0, emitHardSigmoid(n, n.getTensor(0), n.getFloat("alpha", 0.2f), n.getFloat("beta", 0.5f)));
}
static void importHardSwish(NodeImporter &n) {
  Value x = n.getTensor(0);
  n.setOutput(0, n.emit<MulOp>(x, emitHardSigmoid(n, x, 1.0 / 6.0, 0.5)));
}

static void importSoftplus(NodeImporter &n) { n.setOutput(0, emitSoftplus(n, n.getTensor(0))); }
static void importMish(NodeImporter &n) {
  Value x = n.getTensor(0);
  n.setOutput(0, n.emit<MulOp>(x, n.emit<TanhOp>(emitSoftplus(n, x))));
}

static void importSoftsign(NodeImporter &n) { n.setOutput(0, emitSoftsign(n, n.getTensor(0))); }

Value emitTanhGelu(NodeImporter &n, Value x) {
  Value cube = n.emit<MulOp>(n.emit<MulOp>(x, x), x);
  Value inner = n.emit<TanhOp>(emitScaled(n, n.emit<AddOp>(x, emitScaled(n, cube, 0.044715)), 0.79788456080286535588));
  return n.emit<MulOp>(emitScaled(n, x, 0.5), emitShifted(n, inner, 1));
}

static void importGelu(NodeImporter &n) {
  Value x = n.getTensor(0);
  std::string approximate = n.getString("approximate", "none");
  if (approximate == "none")
    return n.setOutput(0, emitGelu(n, x));
  if (approximate != "tanh")
    throwInvalid("expects 'approximate' to be 'none' or 'tanh', got '" + approximate + "'");
  n.setOutput(0, emitTanhGelu(n, x));
}

/// Input 0 plus a bias of one value for each place of the last dimension, input 1, where there is one.
static Value addLastBias(NodeImporter &n) {
  Value x = n.getTensor(0);
  if (!n.hasInput(1))
    return x;
  Dims dims = vx::getDims(typeOf(x));
  if (dims.empty())
    throwInvalid("expects an input of 1 or more dimensions, got " + describe(x.getType()));
  n.requireShape(1, {dims.back()}); // one value would be repeated
  return n.emit<AddOp>(x, n.broadcast(n.getTensor(1), dims));
}

static void importBiasGelu(NodeImporter &n) { n.setOutput(0, emitGelu(n, addLastBias(n))); }
static void importFastGelu(NodeImporter &n) { n.setOutput(0, emitTanhGelu(n, addLastBias(n))); }
static void importPlainGelu(NodeImporter &n) { n.setOutput(0, emitGelu(n, n.getTensor(0))); }
static void importQuickGelu(NodeImporter &n) {
  n.setOutput(0, emitSwish(n, n.getTensor(0), n.getFloat("alpha", 1.702f)));
}

static void importShrink(NodeImporter &n) {
  Value x = n.getTensor(0);
  Type type = elementOf(x);
  if (!isa<FloatType>(type)) // the numbers may be fractions
    x = n.cast(x, n.builder.getF32Type());
  float limit = n.getFloat("lambd", 0.5f), bias = n.getFloat("bias", 0.0f);
  Value isLow = n.emit<CompareOp>(ComparePredicate::lt, x, n.splatLike(-limit, x));
  Value isHigh = n.emit<CompareOp>(ComparePredicate::gt, x, n.splatLike(limit, x));
  Value high = n.emit<SelectOp>(isHigh, emitShifted(n, x, -bias), n.splatLike(0, x));
  n.setOutput(0, n.cast(n.emit<SelectOp>(isLow, emitShifted(n, x, bias), high), type));
}

static constexpr OpTableEntry activationsTable[] = {
    {"Abs", 6, newestOpset, importAbs},
    {"Acos", 7, newestOpset, importAcos},
    {"Asin", 7, newestOpset, importAsin},
    {"Atan", 7, newestOpset, importAtan},
    {"Ceil", 6, newestOpset, importCeil},
    {"Celu", 12, newestOpset, importCelu},
    {"Cos", 7, newestOpset, importCos},
    {"Elu", 6, newestOpset, importElu},
    {"Erf", 9, newestOpset, importErf},
    {"Exp", 6, newestOpset, importExp},
    {"Floor", 6, newestOpset, importFloor},
    {"Gelu", 20, newestOpset, importGelu},
    {"HardSigmoid", 6, newestOpset, importHardSigmoid},
    {"HardSwish", 14, newestOpset, importHardSwish},
    {"IsInf", 10, newestOpset, importIsInf},
    {"IsNaN", 9, newestOpset, importIsNaN},
    {"LeakyRelu", 6, newestOpset, importLeakyRelu},
    {"Log", 6, newestOpset, importLog},
    {"Mish", 18, newestOpset, importMish},
    {"Neg", 6, newestOpset, importNeg},
    {"PRelu", 6, newestOpset, importPRelu},
    {"Reciprocal", 6, newestOpset, importReciprocal},
    {"Relu", 6, newestOpset, importRelu},
    {"Round", 11, newestOpset, importRound},
    {"Selu", 6, newestOpset, importSelu},
    {"Shrink", 9, newestOpset, importShrink},
    {"Sigmoid", 6, newestOpset, importSigmoid},
    {"Sign", 9, newestOpset, importSign},
    {"Sin", 7, newestOpset, importSin},
    {"Softplus", 1, newestOpset, importSoftplus},
    {"Softsign", 1, newestOpset, importSoftsign},
    {"Sqrt", 6, newestOpset, importSqrt},
    {"SwiGLU", 28, newestOpset, importSwiGLU},
    {"Swish", 24, newestOpset, importSwish},
    {"Tan", 7, newestOpset, importTan},
    {"Tanh", 6, newestOpset, importTanh},
    {"ThresholdedRelu", 10, newestOpset, importThresholdedRelu},
};
const llvm::ArrayRef<OpTableEntry> activationsOps = activationsTable;

static constexpr OpTableEntry fusedActivationsTable[] = {
    {"BiasGelu", 1, newestMicrosoftOpset, importBiasGelu},
    {"FastGelu", 1, newestMicrosoftOpset, importFastGelu},
    {"Gelu", 1, newestMicrosoftOpset, importPlainGelu},
    {"QuickGelu", 1, newestMicrosoftOpset, importQuickGelu},
};
const llvm::ArrayRef<OpTableEntry> fusedActivationsOps = fusedActivationsTable;

} // namespace vx::onnx
