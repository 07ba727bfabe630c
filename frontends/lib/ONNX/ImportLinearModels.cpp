// LinearClassifier and LinearRegressor: a product with the weights, and the scores of its sums.
#include "OpFunctions.h"
#include "Scores.h"

using namespace mlir;

namespace vx::onnx {

/// rows * coefficients^T + intercepts as f32, of `targets` rows of coefficients.
static Value emitLinearScores(NodeImporter &n, Value rows, int64_t targets, ArrayRef<float> intercepts) {
  SmallVector<float> coefficients = n.getFloats("coefficients");
  int64_t count = coefficients.size();
  if (count == 0 || count % targets != 0)
    throwInvalid("expects as many 'coefficients' for each of " + Twine(targets) + " targets, got " + Twine(count));
  if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != targets)
    throwInvalid("expects one of 'intercepts' for each of " + Twine(targets) + " targets, got " +
                 Twine(intercepts.size()));
  Dims dims = vx::getDims(typeOf(rows));
  DimAttr features = n.dim(count / targets);
  if (!mayBeEqual(dims[1], features))
    throwInvalid("expects rows of " + features.str() + " features, got " + describe(rows.getType()));
  n.require(ConstraintKind::equal, dims[1], features);
  Value weights = n.transpose(emitFloats(n, coefficients, {targets, count / targets}), {1, 0});
  Value sum = emitMatMul(n, n.reshape(n.cast(rows, n.builder.getF32Type()), {dims[0], features}), weights);
  if (intercepts.empty())
    return sum;
  return n.emit<AddOp>(sum, n.broadcastInDim(emitFloats(n, intercepts, {targets}), {dims[0], n.dim(targets)}, {1}));
}

static void importLinearRegressor(NodeImporter &n) {
  int64_t targets = n.getInt("targets", 1);
  if (targets < 1)
    throwInvalid("expects 'targets' of at least 1, got " + Twine(targets));
  Value scores = emitLinearScores(n, getRows(n), targets, n.getFloats("intercepts"));
  n.setOutput(0, transformScores(n, scores, readTransform(n)));
}

static void importLinearClassifier(NodeImporter &n) {
  ScoreTransform transform = readTransform(n);
  DenseElementsAttr labels = readClassLabels(n, "classlabels_ints");
  SmallVector<float> intercepts = n.getFloats("intercepts");
  int64_t classes = labels.getNumElements(), targets = intercepts.size();
  Value rows = getRows(n);
  if (targets == 0) { // as many as there are coefficients for
    int64_t count = n.getFloats("coefficients").size();
    std::optional<int64_t> features = vx::getDim(typeOf(rows), 1).asConstant();
    targets = features && *features > 0 && count % *features == 0 ? std::max<int64_t>(count / *features, 1) : classes;
  }
  if (targets != classes && !(targets == 1 && classes == 2))
    throwInvalid("expects weights for each of " + Twine(classes) +
                 " classes, or of two classes for one, got them for " + Twine(targets));
  Value scores = emitLinearScores(n, rows, targets, intercepts);
  if (targets > 1) {
    n.setOutput(0, labelGreatest(n, labels, scores));
    n.setOutput(1, transformScores(n, scores, transform));
    return;
  }
  Value isSecond = n.emit<CompareOp>(ComparePredicate::gt, scores, n.splatLike(0, scores));
  n.setOutput(0, chooseLabel(n, labels, n.reshape(isSecond, vx::getDim(typeOf(scores), 0))));
  n.setOutput(1, classes == 2 ? scoreBothClasses(n, scores, /*isShare=*/true, transform)
                              : transformScores(n, scores, transform));
}

static constexpr OpTableEntry linearModelsTable[] = {
    {"LinearClassifier", 1, newestMlOpset, importLinearClassifier},
    {"LinearRegressor", 1, newestMlOpset, importLinearRegressor},
};
const llvm::ArrayRef<OpTableEntry> linearModelsOps = linearModelsTable;

} // namespace vx::onnx
