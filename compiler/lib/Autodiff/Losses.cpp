// The formulas are PyTorch's. All are means over the rows of the batch; a batch of none has the loss 0.
#include "Losses.h"

#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"

using namespace mlir;

namespace vx {

namespace {

class LossBuilder {
public:
  LossBuilder(GraphBuilder &g, const LossSpec &spec, Value output,
              llvm::function_ref<Value(StringRef, RankedTensorType)> addInput)
      : g(g), spec(spec), output(output), addInput(addInput) {}

  LossResults run() {
    LossResults results;
    if (spec.name == "cross_entropy" || spec.name == "nll")
      results.loss = buildClasses(results);
    else
      results.loss = buildElements();
    results.loss = results.loss ? g.cast(results.loss, g.builder.getF32Type()) : Value();
    return results;
  }

private:
  Expression widen(Value value) { return {&g, g.widen(value)}; }
  SmallVector<DimAttr> getDims(Value value) { return vx::getDims(cast<RankedTensorType>(value.getType())); }
  SmallVector<int64_t> getAxes(Value value) {
    return llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(value.getType()).getRank()));
  }
  Expression repeat(Value value, Value like, int64_t axis) {
    return {&g, g.broadcastAlong(value, getDims(like), {axis})};
  }
  Expression sum(Expression value, ArrayRef<int64_t> axes) { return {&g, g.reduce(ReduceKind::sum, value, axes)}; }

  InFlightDiagnostic refuse() { return emitError(UnknownLoc::get(g.context)) << "--loss: " << spec.name << " "; }

  /// The sum by how many there are, or by 1 where there is none.
  Expression mean(Expression values, ArrayRef<int64_t> counted = {}) {
    DimAttr count = g.dim(1);
    for (auto [d, size] : llvm::enumerate(getDims(values)))
      if (counted.empty() || llvm::is_contained(counted, static_cast<int64_t>(d)))
        count = count * size;
    Expression total = sum(values, getAxes(values));
    return total / Expression{&g, g.emitDim(DimAttr::max(count, g.dim(1)), getElementTypeOrSelf(total.value))};
  }

  //===-- Of classes ------------------------------------------------------------------------------===//

  /// What cross entropy takes: the input of a softmax, where the output is that of one.
  Value findLogits() {
    Value value = output;
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getInput();
    auto softmax = value.getDefiningOp<SoftmaxOp>();
    if (!softmax || value.getType() != output.getType() || static_cast<int64_t>(softmax.getAxis()) != axis)
      return output;
    g.context->getDiagEngine().emit(UnknownLoc::get(g.context), DiagnosticSeverity::Note)
        << "--loss: cross_entropy takes logits, and the output is what '" << describeSource(softmax.getLoc())
        << "' makes of them: the loss takes its input";
    return softmax.getInput();
  }

  /// Null after an error.
  Value buildClasses(LossResults &results) {
    auto type = cast<RankedTensorType>(output.getType());
    int64_t rank = type.getRank();
    axis = spec.axis < 0 ? spec.axis + rank : spec.axis;
    if (axis < 0 || axis >= rank)
      return refuse() << "wants an axis of classes from " << -rank << " to " << rank - 1 << " of output "
                      << describeType(type) << ", got " << spec.axis,
             Value();
    if (spec.name == "nll") {
      auto softmax = output.getDefiningOp<SoftmaxOp>();
      if (softmax && !softmax.getLog())
        return refuse() << "wants logarithms of probabilities, but the output is of '"
                        << describeSource(softmax.getLoc()) << "': cross_entropy takes these",
               Value();
    }
    Expression scores = widen(spec.name == "nll" ? output : findLogits());
    Expression logs = scores;
    if (spec.name != "nll")
      logs.value = g.emit<SoftmaxOp>(scores.value, axis, /*log=*/true);
    return spec.isSoft ? buildSoft(scores, logs, results) : buildLabelled(scores, logs, results);
  }

  Expression placesOf(Value scores) { return {&g, g.emit<ArgReduceOp>(ReduceKind::max, scores, axis, /*last=*/false)}; }

  Expression countEqual(Expression a, Expression b, Value kept) {
    Expression equal = compare(ComparePredicate::eq, a, b);
    if (kept)
      equal.value = g.emit<AndOp>(equal.value, kept);
    return {&g, g.cast(equal, g.builder.getF32Type())};
  }

  Value buildSoft(Expression scores, Expression logs, LossResults &results) {
    auto type = cast<RankedTensorType>(logs.value.getType());
    Expression target{&g, addInput("target", type)};
    results.metrics.emplace_back("accuracy", mean(countEqual(placesOf(scores), placesOf(target), Value())));
    Expression weights = target;
    if (spec.smoothing > 0) {
      Expression share = {&g, g.emitDim(getDims(logs)[axis], type.getElementType())};
      share = fill(spec.smoothing, share) / share;
      weights = target * (1 - spec.smoothing) + Expression{&g, g.broadcastInDim(share, getDims(logs), {})};
    }
    return mean(-sum(weights * logs, {axis}));
  }

  Value buildLabelled(Expression scores, Expression logs, LossResults &results) {
    SmallVector<DimAttr> rows = getDims(logs);
    DimAttr classes = rows[axis];
    rows.erase(rows.begin() + axis);
    Type i64 = g.builder.getI64Type();
    Expression label{&g, addInput("label", g.makeType(rows, i64))};
    Expression kept{&g, {}};
    if (spec.ignoredIndex) {
      Expression ignored{
          &g, g.splat(static_cast<double>(*spec.ignoredIndex), cast<RankedTensorType>(label.value.getType()))};
      kept = compare(ComparePredicate::ne, label, ignored);
      label = selectOrZero(kept, label);
    }
    // A label that is no class fails the call before anything is changed.
    label.value = g.emit<CheckIndicesOp>(label.value, g.toArray({classes}), /*from_start=*/true);
    Expression numbers{&g, g.emitAs<IotaOp>(g.makeType(getDims(logs), i64), axis)};
    Expression isHere = compare(ComparePredicate::eq, numbers, repeat(label, logs, axis));
    Expression loss = -sum(selectOrZero(isHere, logs), {axis});
    if (spec.smoothing > 0) {
      Expression all = -Expression{&g, g.mean(logs, {axis})};
      loss = loss * (1 - spec.smoothing) + all * spec.smoothing;
    }
    Expression correct = countEqual(placesOf(scores), label, kept);
    if (!kept.value) {
      results.metrics.emplace_back("accuracy", mean(correct));
      return mean(loss);
    }
    auto meanOfKept = [&](Expression values) -> Expression {
      Expression count = sum({&g, g.cast(kept, getElementTypeOrSelf(values.value))}, getAxes(kept));
      return sum(values, getAxes(values)) / apply<MaxOp>(count, fill(1, count));
    };
    results.metrics.emplace_back("accuracy", meanOfKept(correct));
    return meanOfKept(selectOrZero(kept, loss));
  }

  //===-- Of elements -----------------------------------------------------------------------------===//

  Value buildElements() {
    Expression x = widen(output);
    if (spec.name == "none")
      return mean(x);
    auto type = cast<RankedTensorType>(x.value.getType());
    if (spec.name == "kl" && type.getRank() == 0)
      return refuse() << "wants an output of one dimension or more, got " << describeType(type), Value();
    Expression target{&g, addInput("target", type)};
    if (spec.name == "bce")
      return mean(buildBinary(x, target, &LossBuilder::getBinary, &LossBuilder::getBinaryGradient));
    if (spec.name == "bce_logits")
      return mean(buildBinary(x, target, &LossBuilder::getLogitBinary, &LossBuilder::getLogitBinaryGradient));
    if (spec.name == "kl") {
      // 0 * log(0) is 0. By the batch's rows: what PyTorch calls batchmean.
      Expression part = target * (apply<LogOp>(target) - x);
      return mean(selectOrZero(compare(ComparePredicate::gt, target, 0), part), {0});
    }
    Expression difference = x - target;
    if (spec.name == "mse")
      return mean(difference * difference);
    Expression distance = apply<AbsOp>(difference);
    if (spec.name == "l1")
      return mean(distance);
    Expression square = difference * difference * 0.5;
    Expression line = (distance - spec.delta * 0.5) * spec.delta;
    return mean(select(compare(ComparePredicate::lt, distance, spec.delta), square, line)); // huber
  }

  using Formula = Expression (LossBuilder::*)(Expression x, Expression target);

  /// A loss of each element with a gradient of its own: what follows from the formula has no number at its ends.
  Expression buildBinary(Expression x, Expression target, Formula loss, Formula gradient) {
    Type type = x.value.getType();
    auto op = CustomGradientOp::create(g.builder, g.location, TypeRange(type), ValueRange{x.value, target.value});
    OpBuilder::InsertionGuard guard(g.builder);
    Block *forward = g.builder.createBlock(&op.getForward(), {}, {type, type}, {g.location, g.location});
    YieldOp::create(g.builder, g.location,
                    ValueRange{(this->*loss)({&g, forward->getArgument(0)}, {&g, forward->getArgument(1)}).value});
    SmallVector<Type> types(4, type);
    Block *pullback = g.builder.createBlock(&op.getPullback(), {}, types, SmallVector<Location>(4, g.location));
    Expression input{&g, pullback->getArgument(0)}, wanted{&g, pullback->getArgument(1)},
        seed{&g, pullback->getArgument(3)};
    // The target is data.
    YieldOp::create(g.builder, g.location,
                    ValueRange{(seed * (this->*gradient)(input, wanted)).value, fill(0, seed).value});
    return {&g, op.getResult(0)};
  }

  Expression getBinary(Expression x, Expression target) {
    auto logarithm = [&](Expression p) { return apply<MaxOp>(apply<LogOp>(p), fill(-100, p)); };
    return (target - 1.0) * logarithm(1.0 - x) - target * logarithm(x);
  }
  Expression getBinaryGradient(Expression x, Expression target) {
    Expression spread = (1.0 - x) * x;
    return (x - target) / apply<MaxOp>(spread, fill(1e-12, spread));
  }
  Expression getLogitBinary(Expression x, Expression target) {
    Expression rest = apply<LogOp>(apply<ExpOp>(-apply<AbsOp>(x)) + 1.0);
    return apply<MaxOp>(x, fill(0, x)) - x * target + rest;
  }
  Expression getLogitBinaryGradient(Expression x, Expression target) {
    return apply<TanhOp>(x * 0.5) * 0.5 + 0.5 - target;
  }

  GraphBuilder &g;
  const LossSpec &spec;
  Value output;
  llvm::function_ref<Value(StringRef, RankedTensorType)> addInput;
  int64_t axis = 0; // of classes
};

} // namespace

LossResults buildLoss(GraphBuilder &g, const LossSpec &spec, Value output,
                      llvm::function_ref<Value(StringRef, RankedTensorType)> addInput) {
  return LossBuilder(g, spec, output, addInput).run();
}

} // namespace vx
