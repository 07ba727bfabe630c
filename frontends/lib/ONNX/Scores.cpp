#include "Scores.h"

#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace vx::onnx {

ScoreTransform readTransform(NodeImporter &n) {
  std::string name = n.getString("post_transform", "NONE");
  auto how = llvm::StringSwitch<std::optional<ScoreTransform>>(name)
                 .Case("NONE", ScoreTransform::none)
                 .Case("SOFTMAX", ScoreTransform::softmax)
                 .Case("LOGISTIC", ScoreTransform::logistic)
                 .Case("SOFTMAX_ZERO", ScoreTransform::softmax_zero)
                 .Case("PROBIT", ScoreTransform::probit)
                 .Default(std::nullopt);
  if (!how)
    throwInvalid("expects 'post_transform' to be NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, got '" + name + "'");
  return *how;
}

/// The inverse of the normal distribution by Winitzki's formula for that of erf, which ONNX's reference has, too.
static Value emitProbit(NodeImporter &n, Value share) {
  constexpr double a = 0.147, pi = 3.14159265358979323846;
  Value one = n.splatLike(1, share), zero = n.splatLike(0, share);
  Value x = emitShifted(n, emitScaled(n, share, 2), -1);
  Value rest = n.emit<MulOp>(n.emit<SubOp>(one, x), n.emit<AddOp>(one, x));
  Value log = n.emit<LogOp>(rest);
  // sqrt(half^2 - log / a) - half, by the form in which nothing cancels.
  Value half = emitShifted(n, emitScaled(n, log, 0.5), 2 / (pi * a)), part = emitScaled(n, log, 1 / a);
  Value root = n.emit<SqrtOp>(n.emit<SubOp>(n.emit<MulOp>(half, half), part));
  Value isAbove = n.emit<CompareOp>(ComparePredicate::gt, half, zero);
  Value square = n.emit<SelectOp>(isAbove, n.emit<DivOp>(n.emit<NegOp>(part), n.emit<AddOp>(root, half)),
                                  n.emit<SubOp>(root, half));
  Value size = emitScaled(n, n.emit<SqrtOp>(square), 1.41421356237309504880);
  Value isNegative = n.emit<CompareOp>(ComparePredicate::lt, x, zero);
  return n.emit<SelectOp>(isNegative, n.emit<NegOp>(size), size);
}

Value transformScores(NodeImporter &n, Value scores, ScoreTransform how) {
  Type elementType = elementOf(scores);
  switch (how) {
  case ScoreTransform::none:
    return scores;
  case ScoreTransform::softmax:
    return n.emit<SoftmaxOp>(scores, 1, /*log=*/false);
  case ScoreTransform::logistic:
    return n.cast(emitSigmoid(n, n.widen(scores)), elementType);
  case ScoreTransform::softmax_zero: { // of those that are not 0; the others stay
    Value zero = n.splatLike(0, scores), isZero = n.emit<CompareOp>(ComparePredicate::eq, scores, zero);
    Value none = n.splatLike(-std::numeric_limits<double>::infinity(), scores);
    Value shares = n.emit<SoftmaxOp>(n.emit<SelectOp>(isZero, none, scores), 1, /*log=*/false);
    return n.emit<SelectOp>(isZero, zero, shares);
  }
  case ScoreTransform::probit:
    return n.cast(emitProbit(n, n.widen(scores)), elementType);
  }
  llvm_unreachable("all transforms are handled");
}

Value scoreBothClasses(NodeImporter &n, Value score, bool isShare, ScoreTransform how) {
  isShare &= how != ScoreTransform::logistic;
  Value other = isShare ? n.emit<SubOp>(n.splatLike(1, score), score) : n.emit<NegOp>(score);
  Value both = n.emit<ConcatOp>(ValueRange{other, score}, 1);
  bool isTransformed = how == ScoreTransform::logistic || how == ScoreTransform::probit;
  return isTransformed ? transformScores(n, both, how) : both;
}

Value getRows(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  if (dims.empty() || dims.size() > 2)
    throwInvalid("expects rows of features, or one, as input 0, got " + describe(input.getType()));
  return dims.size() == 1 ? n.reshape(input, {n.dim(1), dims[0]}) : input;
}

Value getFloatRows(NodeImporter &n) {
  Value rows = getRows(n);
  return elementOf(rows).isF64() ? rows : n.cast(rows, n.builder.getF32Type());
}

DenseElementsAttr readClassLabels(NodeImporter &n, StringRef integers) {
  SmallVector<StringRef> texts = n.getStrings("classlabels_strings");
  SmallVector<int64_t> numbers = n.getInts(integers).value_or(SmallVector<int64_t>());
  if (texts.empty() == numbers.empty())
    throwInvalid("expects labels in one of 'classlabels_strings' and '" + integers + "', got " + Twine(texts.size()) +
                 " and " + Twine(numbers.size()));
  if (!texts.empty())
    return makeStrings(n, texts, {int64_t(texts.size())});
  return DenseElementsAttr::get(RankedTensorType::get({int64_t(numbers.size())}, n.builder.getI64Type()),
                                ArrayRef<int64_t>(numbers));
}

Value takeLabels(NodeImporter &n, DenseElementsAttr labels, Value places) {
  return n.emit<GatherOp>(n.emitConstant(labels), places, 0, IntegerAttr(), /*in_range=*/true);
}

Value chooseLabel(NodeImporter &n, DenseElementsAttr labels, Value isSecond) {
  if (labels.getNumElements() == 1) {
    if (isString(labels.getElementType()))
      throwUnsupported(Advice::ChangeSetting, "expects two or more labels that are strings, got one");
    return n.cast(isSecond, n.builder.getI64Type());
  }
  return takeLabels(n, labels, n.cast(isSecond, n.builder.getI64Type()));
}

Value labelGreatest(NodeImporter &n, DenseElementsAttr labels, Value scores) {
  Value place = n.emit<ArgReduceOp>(ReduceKind::max, scores, 1, /*last=*/false);
  return takeLabels(n, labels, place);
}

Value emitFloats(NodeImporter &n, ArrayRef<float> values, ArrayRef<int64_t> shape) {
  return n.emitConstant(DenseElementsAttr::get(RankedTensorType::get(shape, n.builder.getF32Type()), values));
}

} // namespace vx::onnx
