// Losses of classes: the negative of a log-probability at the place that a target names.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

namespace {
/// The inputs of a loss except its log-probabilities.
struct Targets {
  /// One for each sample, checked; 0 where the sample is ignored.
  Value places;
  /// Whether a sample is ignored; null when none is.
  Value areIgnored;
};
} // namespace

/// A tensor of integers with one value in all elements.
static Value splatInteger(NodeImporter &n, int64_t number, RankedTensorType type) {
  auto scalarType = RankedTensorType::get({}, type.getElementType());
  APInt bits(type.getElementTypeBitWidth(), number, /*isSigned=*/true);
  return n.broadcastInDim(n.emitConstant(DenseElementsAttr::get(scalarType, bits)), vx::getDims(type), {});
}

/// Input 1, which names a class for each place of input 0 that its dimension 1 does not count.
static Targets getTargets(NodeImporter &n) {
  Dims dims = n.getDims(0), targetDims = n.getDims(1);
  RankedTensorType type = n.getTensorType(1);
  if (dims.size() < 2)
    throwInvalid("expects an input of 2 or more dimensions, got " + describe(n.getTensorType(0)));
  if (!isa<FloatType>(n.getTensorType(0).getElementType()))
    throwInvalid("expects floats as input 0, got " + describe(n.getTensorType(0)));
  if (!type.getElementType().isSignlessInteger(32) && !type.getElementType().isSignlessInteger(64))
    throwInvalid("expects targets of i32 or i64 as input 1, got " + describe(type));
  Dims samples = dims;
  samples.erase(samples.begin() + 1);
  if (samples.size() != targetDims.size() || !llvm::all_of(llvm::zip(samples, targetDims), [](auto pair) {
        return mayBeEqual(std::get<0>(pair), std::get<1>(pair));
      }))
    throwInvalid("expects a target for each place of " + describe(n.getTensorType(0)) + " without dimension 1, got " +
                 describe(type));
  for (auto [sample, target] : llvm::zip(samples, targetDims))
    n.require(ConstraintKind::equal, sample, target);
  Targets targets{n.getTensor(1), {}};
  // A number that the type of the targets does not hold is none of theirs.
  if (int64_t ignored = n.getInt("ignore_index", 0);
      n.hasAttribute("ignore_index") && llvm::isIntN(type.getElementTypeBitWidth(), ignored)) {
    targets.areIgnored = n.emit<CompareOp>(ComparePredicate::eq, targets.places, splatInteger(n, ignored, type));
    targets.places = n.emit<SelectOp>(targets.areIgnored, n.splatLike(0, targets.places), targets.places);
  }
  targets.places = n.emit<CheckIndicesOp>(targets.places, n.toArray(dims[1]), n.builder.getUnitAttr());
  return targets;
}

/// Sets output 0 from log-probabilities in the type of sums.
static void setLoss(NodeImporter &n, Value logs, const Targets &targets) {
  std::string reduction = n.getString("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    throwInvalid("expects 'reduction' to be none, sum or mean, got '" + reduction + "'");
  Dims dims = vx::getDims(typeOf(logs));
  // Selects the log-probability of each sample's target. Others do not matter, also if they are NaN or infinite.
  Value classes = n.emitAs<IotaOp>(makeTensorType(dims, elementOf(targets.places)), 1);
  Value isTarget = n.emit<CompareOp>(ComparePredicate::eq, classes, n.broadcastAlong(targets.places, dims, 1));
  Value none = n.splatLike(0, logs);
  Value loss = n.emit<NegOp>(n.reduce(ReduceKind::sum, n.emit<SelectOp>(isTarget, logs, none), 1));
  auto unlessIgnored = [&](Value value) {
    return targets.areIgnored ? n.emit<SelectOp>(targets.areIgnored, n.splatLike(0, value), value) : value;
  };
  Value weights;
  if (n.hasInput(2)) {
    RankedTensorType type = n.getTensorType(2);
    if (type.getRank() != 1 || !mayBeEqual(vx::getDim(type, 0), dims[1]))
      throwInvalid("expects one weight for each of " + dims[1].str() + " classes as input 2, got " + describe(type));
    n.require(ConstraintKind::equal, dims[1], vx::getDim(type, 0));
    Value ofClasses = n.cast(n.getTensor(2), elementOf(logs));
    weights = n.emit<GatherOp>(ofClasses, targets.places, 0, IntegerAttr(), true);
    loss = n.emit<MulOp>(loss, weights);
  }
  loss = unlessIgnored(loss);
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(loss).getRank()));
  if (reduction == "sum") {
    loss = n.reduce(ReduceKind::sum, loss, all);
  } else if (reduction == "mean" && !weights && !targets.areIgnored) {
    loss = n.mean(loss, all);
  } else if (reduction == "mean") {
    // By the weights that count: 1 without any, and 0 of a sample that is ignored.
    Value counted = unlessIgnored(weights ? weights : n.splatLike(1, loss));
    loss = n.emit<DivOp>(n.reduce(ReduceKind::sum, loss, all), n.reduce(ReduceKind::sum, counted, all));
  }
  n.setOutput(0, n.cast(loss, n.getTensorType(0).getElementType()));
}

static void importNegativeLogLikelihoodLoss(NodeImporter &n) {
  Targets targets = getTargets(n);
  setLoss(n, n.widen(n.getTensor(0)), targets);
}

static void importSoftmaxCrossEntropyLoss(NodeImporter &n) {
  Targets targets = getTargets(n);
  Value scores = n.getTensor(0);
  Value logs = n.emit<SoftmaxOp>(n.widen(scores), 1, true);
  setLoss(n, logs, targets);
  if (n.wantsOutput(1))
    n.setOutput(1, n.cast(logs, elementOf(scores)));
}

static constexpr OpTableEntry lossesTable[] = {
    {"NegativeLogLikelihoodLoss", 12, newestOpset, importNegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, newestOpset, importSoftmaxCrossEntropyLoss},
};
const llvm::ArrayRef<OpTableEntry> lossesOps = lossesTable;

} // namespace vx::onnx
