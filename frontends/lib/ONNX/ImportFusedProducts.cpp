// Products and convolutions with the transposes, factors, sums and activations that ONNX Runtime fuses into them.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

//===-- Activations ---------------------------------------------------------------------------===//

namespace {

/// An activation that a product ends with, by its name. Its parameters have no defaults.
struct FusedActivation {
  StringLiteral name;
  ArrayRef<StringLiteral> parameters; // after "activation_"
  Value (*emit)(NodeImporter &n, Value x, ArrayRef<double> parameters);
};

} // namespace

static Value clipBetween(NodeImporter &n, Value x, double low, double high) {
  return n.emit<MinOp>(n.emit<MaxOp>(x, n.splatLike(low, x)), n.splatLike(high, x));
}

static constexpr StringLiteral alphaOnly[] = {"alpha"}, alphaAndBeta[] = {"alpha", "beta"},
                               alphaAndGamma[] = {"alpha", "gamma"};

// Those of both ops.
static Value emitFusedRelu(NodeImporter &n, Value x, ArrayRef<double>) { return emitRelu(n, x); }
static Value emitFusedTanh(NodeImporter &n, Value x, ArrayRef<double>) { return n.emit<TanhOp>(x); }
static Value emitFusedSigmoid(NodeImporter &n, Value x, ArrayRef<double>) { return emitSigmoid(n, x); }
static Value emitFusedLeakyRelu(NodeImporter &n, Value x, ArrayRef<double> p) { return emitLeakyRelu(n, x, p[0]); }
static Value emitFusedHardSigmoid(NodeImporter &n, Value x, ArrayRef<double> p) {
  return emitHardSigmoid(n, x, p[0], p[1]);
}

static const FusedActivation gemmActivations[] = {
    {"Celu", alphaOnly, [](NodeImporter &n, Value x, ArrayRef<double> p) { return emitElu(n, x, p[0], p[0]); }},
    {"Elu", alphaOnly, [](NodeImporter &n, Value x, ArrayRef<double> p) { return emitElu(n, x, p[0]); }},
    {"HardSigmoid", alphaAndBeta, emitFusedHardSigmoid},
    {"LeakyRelu", alphaOnly, emitFusedLeakyRelu},
    {"ParametricSoftplus", alphaAndBeta,
     [](NodeImporter &n, Value x, ArrayRef<double> p) {
       return emitScaled(n, emitSoftplus(n, emitScaled(n, x, p[1])), p[0]);
     }},
    {"Relu", {}, emitFusedRelu},
    {"ScaledTanh", alphaAndBeta,
     [](NodeImporter &n, Value x, ArrayRef<double> p) {
       return emitScaled(n, n.emit<TanhOp>(emitScaled(n, x, p[1])), p[0]);
     }},
    {"Selu", alphaAndGamma,
     [](NodeImporter &n, Value x, ArrayRef<double> p) { return emitScaled(n, emitElu(n, x, p[0]), p[1]); }},
    {"Sigmoid", {}, emitFusedSigmoid},
    {"Softplus", {}, [](NodeImporter &n, Value x, ArrayRef<double>) { return emitSoftplus(n, x); }},
    {"Softsign", {}, [](NodeImporter &n, Value x, ArrayRef<double>) { return emitSoftsign(n, x); }},
    {"Tanh", {}, emitFusedTanh},
    {"ThresholdedRelu", alphaOnly,
     [](NodeImporter &n, Value x, ArrayRef<double> p) { return emitThresholdedRelu(n, x, p[0]); }},
};

static const FusedActivation convActivations[] = {
    {"Clip", alphaAndBeta, [](NodeImporter &n, Value x, ArrayRef<double> p) { return clipBetween(n, x, p[0], p[1]); }},
    {"HardSigmoid", alphaAndBeta, emitFusedHardSigmoid},
    {"HardSwish",
     {},
     [](NodeImporter &n, Value x, ArrayRef<double>) {
       return n.emit<MulOp>(x, emitHardSigmoid(n, x, 1.0 / 6.0, 0.5));
     }},
    {"LeakyRelu", alphaOnly, emitFusedLeakyRelu},
    {"Relu", {}, emitFusedRelu},
    {"Sigmoid", {}, emitFusedSigmoid},
    {"Tanh", {}, emitFusedTanh},
};

static const FusedActivation &findActivation(StringRef name, ArrayRef<FusedActivation> known) {
  const FusedActivation *found = llvm::find_if(known, [&](const FusedActivation &each) { return each.name == name; });
  if (found != known.end())
    return *found;
  std::string names;
  for (const FusedActivation &each : known)
    names += (names.empty() ? "" : ", ") + each.name.str();
  throwUnsupported(Advice::ReplaceOp, "expects 'activation' to be one of " + names + ", got '" + name + "'");
}

//===-- Products ------------------------------------------------------------------------------===//

/// An operand of FusedMatMul as one of MatMul. With 'transBatch' the first dimension comes after those of the batch.
/// With 'trans' the last two are swapped after that. A vector has neither.
static Value transposeFactor(NodeImporter &n, unsigned index, StringRef side) {
  Value factor = n.getTensor(index);
  int64_t rank = typeOf(factor).getRank();
  if (rank < 2)
    return factor;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.getFlag(("transBatch" + side).str(), false))
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (n.getFlag(("trans" + side).str(), false))
    std::swap(order[rank - 2], order[rank - 1]);
  return n.transpose(factor, order);
}

static void importFusedMatMul(NodeImporter &n) {
  Value product = emitMatMul(n, transposeFactor(n, 0, "A"), transposeFactor(n, 1, "B"));
  const float alpha = n.getFloat("alpha", 1.0f);
  n.setOutput(0, alpha == 1 ? product : emitScaled(n, product, alpha));
}

static void importFusedGemm(NodeImporter &n) {
  const FusedActivation &activation = findActivation(n.getString("activation", ""), gemmActivations);
  SmallVector<double> parameters;
  for (StringRef name : activation.parameters)
    parameters.push_back(n.getFloat(("activation_" + name).str()));
  n.setOutput(0, activation.emit(n, emitGemm(n), parameters));
}

static void importFusedConv(NodeImporter &n) {
  Value result = emitChannelBias(n, emitConv(n, n.getTensor(0), n.getTensor(1)), 2);
  if (n.hasInput(3)) {
    n.requireShape(3, vx::getDims(typeOf(result)));
    result = n.emit<AddOp>(result, n.getTensor(3));
  }
  std::string name = n.getString("activation", "");
  if (!name.empty()) {
    const FusedActivation &activation = findActivation(name, convActivations);
    SmallVector<float> given = n.getFloats("activation_params");
    if (given.size() != activation.parameters.size())
      throwInvalid("expects 'activation_params' with " + Twine(activation.parameters.size()) + " entries for '" + name +
                   "', got " + Twine(given.size()));
    result = activation.emit(n, result, SmallVector<double>(given.begin(), given.end()));
  }
  n.setOutput(0, result);
}

static constexpr OpTableEntry fusedProductsTable[] = {
    {"FusedConv", 1, newestMicrosoftOpset, importFusedConv},
    {"FusedGemm", 1, newestMicrosoftOpset, importFusedGemm},
    {"FusedMatMul", 1, newestMicrosoftOpset, importFusedMatMul},
};
const llvm::ArrayRef<OpTableEntry> fusedProductsOps = fusedProductsTable;

} // namespace vx::onnx
