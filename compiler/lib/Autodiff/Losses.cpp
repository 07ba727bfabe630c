// The formulas are PyTorch's. All are means over the rows of the batch; a batch of none has the loss 0.
#include "vx/Autodiff/Losses.h"

#include "MetricCounts.h"
#include "ModelOutput.h"

#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace vx {

/// "1/0.5/2", a weight for each class; empty after an error.
static std::vector<double> parseClassWeights(StringRef text, std::string &error) {
  std::vector<double> weights;
  SmallVector<StringRef> pieces;
  text.split(pieces, '/');
  for (StringRef piece : pieces) {
    double weight = 0;
    if (piece.empty() || piece.getAsDouble(weight) || !std::isfinite(weight) || weight < 0) {
      error = ("--loss: expected a weight of at least 0 for each class, such as 1/0.5/2, as class_weight, got '" +
               piece + "' as that of class " + Twine(weights.size()))
                  .str();
      return {};
    }
    weights.push_back(weight);
  }
  if (llvm::all_of(weights, [](double weight) { return weight == 0; })) {
    error = ("--loss: expected a class_weight above 0, got '" + text + "'").str();
    return {};
  }
  return weights;
}

std::optional<LossSpec> LossSpec::parse(StringRef text, std::string &error) {
  auto [name, rest] = text.split(':');
  SmallVector<StringRef> entries;
  rest.split(entries, ',');
  std::string others = name.str();
  std::optional<StringRef> classes, samples;
  for (auto [number, entry] : llvm::enumerate(entries)) {
    auto [key, value] = entry.split('=');
    if (key == "class_weight")
      classes = value;
    else if (key == "sample_weight")
      samples = value;
    else
      others += (number == 0 ? ":" : others.size() == name.size() ? ":," : ",") + entry.str();
  }
  std::optional<LossSpec> spec = parseUnweighted(others, error);
  if (!spec)
    return std::nullopt;
  if (classes && spec->name != "cross_entropy" && spec->name != "nll") {
    error = "--loss: class_weight is for cross_entropy and nll, got it for '" + spec->name + "'";
    return std::nullopt;
  }
  if (classes) {
    spec->classWeights = parseClassWeights(*classes, error);
    if (spec->classWeights.empty())
      return std::nullopt;
  }
  if (samples && *samples != "true" && *samples != "false") {
    error = ("--loss: expected true or false as sample_weight, got '" + *samples + "'").str();
    return std::nullopt;
  }
  spec->takesWeights = samples && *samples == "true";
  return spec;
}

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
      results.loss = buildElements(results);
    if (!results.loss)
      return results;
    Type f32 = g.builder.getF32Type();
    results.loss = g.cast(results.loss, f32);
    results.rows = results.rows ? g.cast(results.rows, f32) : g.emitDim(averaged, f32);
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

  InFlightDiagnostic refuse() { return emitError(UnknownLoc::get(g.context)) << "--loss: " << spec.name << ": "; }

  /// An input with a weight for each of `dims`; null after an error.
  Value addWeights(ArrayRef<DimAttr> dims, Type elementType) {
    Value weights = addInput(kSampleWeightInput, g.makeType(dims, g.builder.getF32Type()));
    return weights ? g.cast(weights, elementType) : Value();
  }

  /// What has no weight does not count, whatever it is.
  Expression weigh(Expression values, Expression weights) {
    return selectOrZero(compare(ComparePredicate::ne, weights, 0), values * weights);
  }

  /// The sum of values that are multiplied by their weights, by the sum of the weights; 0 where that is 0.
  Expression weightedMean(Expression values, Expression weights, LossResults &results) {
    Expression total = sum(weights, getAxes(weights));
    results.rows = total;
    return sum(values, getAxes(values)) / apply<MaxOp>(total, fill(std::numeric_limits<float>::min(), total));
  }

  /// The mean over elements, or with weights of rows that over these.
  Value meanOfElements(Expression values, LossResults &results, ArrayRef<int64_t> counted = {}) {
    if (!spec.takesWeights)
      return mean(values, counted);
    SmallVector<DimAttr> dims = getDims(values);
    if (dims.empty())
      return refuse() << "expected an output with rows, each of which takes a sample_weight, got "
                      << describeType(values.value.getType()),
             Value();
    if (!counted.empty())
      for (int64_t axis = static_cast<int64_t>(dims.size()) - 1; axis > 0; --axis)
        values = sum(values, {axis});
    Value weights = addWeights({dims[0]}, getElementTypeOrSelf(values.value));
    if (!weights)
      return {};
    Expression each{&g, g.broadcastInDim(weights, getDims(values), {0})};
    return weightedMean(weigh(values, each), each, results);
  }

  /// The sum by how many there are, or by 1 where there is none.
  Expression mean(Expression values, ArrayRef<int64_t> counted = {}) {
    averaged = g.dim(1);
    for (auto [d, size] : llvm::enumerate(getDims(values)))
      if (counted.empty() || llvm::is_contained(counted, static_cast<int64_t>(d)))
        averaged = averaged * size;
    Expression total = sum(values, getAxes(values));
    return total / Expression{&g, g.emitDim(DimAttr::max(averaged, g.dim(1)), getElementTypeOrSelf(total.value))};
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
    emitNote(UnknownLoc::get(g.context), "--loss: cross_entropy takes logits, and the output is what '" +
                                             describeSource(softmax.getLoc()) +
                                             "' makes of them: the loss takes its input");
    return softmax.getInput();
  }

  /// Null after an error.
  Value buildClasses(LossResults &results) {
    auto type = cast<RankedTensorType>(output.getType());
    int64_t rank = type.getRank();
    axis = spec.axis < 0 ? spec.axis + rank : spec.axis;
    if (axis < 0 || axis >= rank)
      return refuse() << "expected an axis of classes from " << -rank << " to " << rank - 1 << " of output "
                      << describeType(type) << ", got " << spec.axis,
             Value();
    if (spec.name == "nll") {
      auto softmax = output.getDefiningOp<SoftmaxOp>();
      if (softmax && !softmax.getLog())
        return refuse() << "expected logarithms of probabilities, got the probabilities of '"
                        << describeSource(softmax.getLoc()) << "'; use cross_entropy, which takes these",
               Value();
    }
    const size_t classes = spec.classWeights.size();
    if (classes > 0 && (type.isDynamicDim(axis) || static_cast<size_t>(type.getDimSize(axis)) != classes))
      return refuse() << "expected a class_weight for each class in dimension " << axis << " of output "
                      << describeType(type) << ", got " << classes,
             Value();
    Expression scores = widen(spec.name == "nll" ? output : findLogits());
    return spec.isSoft ? buildSoft(scores, results) : buildLabelled(scores, results);
  }

  Expression placesOf(Value scores) { return {&g, g.emit<ArgReduceOp>(ReduceKind::max, scores, axis, /*last=*/false)}; }

  Expression both(Expression a, Expression b) { return {&g, g.emit<AndOp>(a.value, b.value)}; }
  Expression count(Expression isRight) { return {&g, g.cast(isRight, g.builder.getF32Type())}; }

  /// True for rows with their greatest score at the label, and nowhere before: where vx.arg_reduce finds it. These are
  /// reductions of what the loss reads of the rows, so that they are its kernel's.
  Expression hasBestAt(Expression label, Expression scores) {
    auto greatest = [&](Expression x) -> Expression { return {&g, g.reduce(ReduceKind::max, x, {axis})}; };
    Expression isBefore =
        compare(ComparePredicate::lt, {&g, makeNumbers(getDims(scores))}, repeat(label, scores, axis));
    Expression best = greatest(scores), own = sum(selectOrZero(isLabelled(label, scores), scores), {axis});
    Expression before = greatest(select(isBefore, scores, fill(-std::numeric_limits<double>::infinity(), scores)));
    return both(compare(ComparePredicate::eq, own, best), compare(ComparePredicate::ne, before, best));
  }

  /// The numbers of the classes, repeated over the rows. As a constant they join any kernel; what counts is one of its
  /// own.
  Value makeNumbers(ArrayRef<DimAttr> dims) {
    constexpr int64_t mostStored = 1 << 20;
    RankedTensorType type = g.makeType(dims[axis], g.builder.getI64Type());
    Value numbers;
    if (type.hasStaticShape() && type.getNumElements() <= mostStored) {
      auto all = llvm::to_vector(llvm::seq<int64_t>(0, type.getNumElements()));
      numbers = g.emitConstant(DenseElementsAttr::get(type, ArrayRef<int64_t>(all)));
    } else {
      numbers = g.emitAs<IotaOp>(type, 0);
    }
    return g.broadcastInDim(numbers, dims, axis);
  }

  /// True where the class is the label's.
  Expression isLabelled(Expression label, Expression logs) {
    return compare(ComparePredicate::eq, {&g, makeNumbers(getDims(logs))}, repeat(label, logs, axis));
  }

  /// The weights of the classes, repeated over the rows.
  Expression getClassWeights(Expression like) {
    auto elementType = cast<FloatType>(getElementTypeOrSelf(like.value));
    RankedTensorType type = g.makeType(g.dim(static_cast<int64_t>(spec.classWeights.size())), elementType);
    SmallVector<Attribute> weights;
    for (double weight : spec.classWeights)
      weights.push_back(FloatAttr::get(elementType, weight));
    return {&g, g.broadcastInDim(g.emitConstant(DenseElementsAttr::get(type, weights)), getDims(like), {axis})};
  }

  /// The distribution that the output is to be: smoothed, all classes have an equal part of a share of it. Each
  /// class is multiplied by its weight.
  Expression getWanted(Expression truth, Expression logs) {
    Expression wanted = spec.isSoft ? truth : select(isLabelled(truth, logs), fill(1, logs), fill(0, logs));
    if (spec.smoothing != 0) {
      Expression classes{&g, g.emitDim(getDims(logs)[axis], getElementTypeOrSelf(logs.value))};
      Expression part = fill(spec.smoothing, classes) / classes;
      wanted = wanted * (1 - spec.smoothing) + Expression{&g, g.broadcastInDim(part, getDims(logs), {})};
    }
    return spec.classWeights.empty() ? wanted : wanted * getClassWeights(logs);
  }

  /// Of each row. What a label does not mean is not multiplied: its logarithm may be infinite.
  Expression getRows(Expression logs, Expression truth) {
    if (spec.isSoft)
      return -sum(getWanted(truth, logs) * logs, {axis});
    if (!spec.classWeights.empty())
      logs = logs * getClassWeights(logs);
    Expression rows = -sum(selectOrZero(isLabelled(truth, logs), logs), {axis});
    if (spec.smoothing == 0)
      return rows;
    return rows * (1 - spec.smoothing) + -Expression{&g, g.mean(logs, {axis})} * spec.smoothing;
  }

  /// The loss of each row. Cross entropy's gradient by the logits is the difference of what they say and what is
  /// wanted, of the logarithms that the loss has computed.
  Expression getLossOfRows(Expression scores, Expression truth) {
    if (spec.name == "nll")
      return getRows(scores, truth);
    auto getLogs = [&](Expression x) -> Expression { return {&g, g.emit<SoftmaxOp>(x.value, axis, /*log=*/true)}; };
    return withGradient(
        scores, truth, [&](Expression x, Expression target) { return getRows(getLogs(x), target); },
        [&](Expression x, Expression target, Expression seed) {
          Expression logs = getLogs(x), says = apply<ExpOp>(logs), wanted = getWanted(target, logs);
          if (spec.isSoft || !spec.classWeights.empty())
            says = says * repeat(sum(wanted, {axis}), says.value, axis);
          return (says - wanted) * repeat(seed, says.value, axis);
        });
  }

  Value buildSoft(Expression scores, LossResults &results) {
    Expression target{&g, addInput("target", cast<RankedTensorType>(scores.value.getType()))};
    results.metrics.emplace_back("accuracy",
                                 mean(count(compare(ComparePredicate::eq, placesOf(scores), placesOf(target)))));
    Expression loss = getLossOfRows(scores, target);
    if (!spec.takesWeights)
      return mean(loss);
    Expression weights{&g, addWeights(getDims(loss), getElementTypeOrSelf(loss.value))};
    return weights.value ? weightedMean(weigh(loss, weights), weights, results).value : Value();
  }

  Value buildLabelled(Expression scores, LossResults &results) {
    SmallVector<DimAttr> rows = getDims(scores);
    DimAttr classes = rows[axis];
    rows.erase(rows.begin() + axis);
    Type i64 = g.builder.getI64Type();
    Expression label{&g, addInput("label", g.makeType(rows, i64))};
    Expression kept{&g, {}};
    if (spec.ignoredIndex) {
      kept = compare(ComparePredicate::ne, label, static_cast<double>(*spec.ignoredIndex));
      label = selectOrZero(kept, label);
    }
    // A label that is no class fails the call before anything is changed.
    label.value = g.emit<CheckIndicesOp>(label.value, g.toArray({classes}), /*from_start=*/true);
    Expression loss = getLossOfRows(scores, label), isRight = hasBestAt(label, scores);
    const bool isWeighted = spec.takesWeights || !spec.classWeights.empty();
    if (!kept.value) {
      results.metrics.emplace_back("accuracy", mean(count(isRight)));
      return isWeighted ? meanOfWeighted(label, kept, scores, loss, results) : mean(loss).value;
    }
    isRight = both(isRight, kept);
    auto meanOfKept = [&](Expression values) -> Expression {
      Type type = getElementTypeOrSelf(values.value);
      if (!results.rows || getElementTypeOrSelf(results.rows) != type)
        results.rows = sum({&g, g.cast(kept, type)}, getAxes(kept));
      Expression count{&g, results.rows};
      return sum(values, getAxes(values)) / apply<MaxOp>(count, fill(1, count));
    };
    results.metrics.emplace_back("accuracy", meanOfKept(count(isRight)));
    return isWeighted ? meanOfWeighted(label, kept, scores, loss, results) : meanOfKept(selectOrZero(kept, loss)).value;
  }

  /// Of rows that are multiplied by the weights of their classes. Each row counts the weight of its label, times that
  /// of its sample; 0 if it is not `kept`, which may be null. Null after an error.
  Value meanOfWeighted(Expression label, Expression kept, Expression scores, Expression loss, LossResults &results) {
    Expression weights{&g, {}};
    if (!spec.classWeights.empty())
      weights = sum(selectOrZero(isLabelled(label, scores), getClassWeights(scores)), {axis});
    if (spec.takesWeights) {
      Expression own{&g, addWeights(getDims(loss), getElementTypeOrSelf(loss.value))};
      if (!own.value)
        return {};
      loss = weigh(loss, own);
      weights = weights.value ? weights * own : own;
    }
    if (kept.value) {
      loss = selectOrZero(kept, loss);
      weights = selectOrZero(kept, weights);
    }
    return weightedMean(loss, weights, results);
  }

  //===-- Of elements -----------------------------------------------------------------------------===//

  Value buildElements(LossResults &results) {
    Expression x = widen(output);
    auto type = cast<RankedTensorType>(x.value.getType());
    if (spec.name == "none" && !spec.takesWeights && type.hasStaticShape() && type.getNumElements() == 1) {
      // A mean that the model has taken.
      results.rows = buildCountOfMean(g, x);
      return g.reshape(x, {});
    }
    if (spec.name == "none")
      return meanOfElements(x, results);
    if (spec.name == "kl" && type.getRank() == 0)
      return refuse() << "expected an output of one dimension or more, got " << describeType(type), Value();
    Expression target{&g, addInput("target", type)};
    if (spec.name == "bce")
      return meanOfElements(
          withGradient(
              x, target, [&](Expression p, Expression t) { return getBinary(p, t); },
              [&](Expression p, Expression t, Expression seed) { return seed * getBinaryGradient(p, t); }),
          results);
    if (spec.name == "bce_logits")
      return meanOfElements(
          withGradient(
              x, target, [&](Expression z, Expression t) { return getLogitBinary(z, t); },
              [&](Expression z, Expression t, Expression seed) { return seed * getLogitBinaryGradient(z, t); }),
          results);
    if (spec.name == "kl") {
      // 0 * log(0) is 0. By the batch's rows: what PyTorch calls batchmean.
      Expression part = target * (apply<LogOp>(target) - x);
      return meanOfElements(selectOrZero(compare(ComparePredicate::gt, target, 0), part), results, {0});
    }
    Expression difference = x - target;
    if (spec.name == "mse")
      return meanOfElements(difference * difference, results);
    Expression distance = apply<AbsOp>(difference);
    if (spec.name == "l1")
      return meanOfElements(distance, results);
    Expression square = difference * difference * 0.5;
    Expression line = (distance - spec.delta * 0.5) * spec.delta;
    return meanOfElements(select(compare(ComparePredicate::lt, distance, spec.delta), square, line), results); // huber
  }

  using Formula = llvm::function_ref<Expression(Expression x, Expression target)>;
  using Gradient = llvm::function_ref<Expression(Expression x, Expression target, Expression seed)>;

  /// A loss with a gradient of its own by `x`: what follows from the formula has no number at its ends, or more work.
  Expression withGradient(Expression x, Expression target, Formula loss, Gradient gradient) {
    SmallVector<Type> types = {x.value.getType(), target.value.getType()};
    SmallVector<Location> locations(4, g.location);
    OpBuilder::InsertPoint place = g.builder.saveInsertionPoint();
    // The loss's type is known when it is made.
    Region forward, pullback;
    Block *body = g.builder.createBlock(&forward, {}, types, ArrayRef(locations).take_front(2));
    Expression value = loss({&g, body->getArgument(0)}, {&g, body->getArgument(1)});
    if (g.hasRefused())
      return {&g, {}};
    YieldOp::create(g.builder, g.location, ValueRange{value.value});
    Type type = value.value.getType();
    types.append(2, type);
    body = g.builder.createBlock(&pullback, {}, types, locations);
    Expression wanted{&g, body->getArgument(1)};
    SmallVector<Value> gradients = {gradient({&g, body->getArgument(0)}, wanted, {&g, body->getArgument(3)})};
    if (isa<FloatType>(getElementTypeOrSelf(wanted.value)))
      gradients.push_back(fill(0, wanted)); // the target is data
    YieldOp::create(g.builder, g.location, gradients);
    g.builder.restoreInsertionPoint(place);
    auto op = CustomGradientOp::create(g.builder, g.location, TypeRange(type), ValueRange{x.value, target.value});
    op.getForward().takeBody(forward);
    op.getPullback().takeBody(pullback);
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
  DimAttr averaged; // how many numbers the last mean was over
};

} // namespace

/// The rows of the first input that has some.
static DimAttr getBatch(func::FuncOp function) {
  for (Type type : function.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() > 0)
      return getDims(tensor)[0];
  return DimAttr::constant(function.getContext(), 1);
}

Value buildCountOfMean(GraphBuilder &g, Value mean) {
  Type f32 = g.builder.getF32Type();
  if (Value divisor = findMeanDivisor(mean))
    return g.reshape(g.cast(divisor, f32), {});
  return g.emitDim(getBatch(cast<func::FuncOp>(g.builder.getInsertionBlock()->getParentOp())), f32);
}

LossResults buildLoss(GraphBuilder &g, const LossSpec &spec, Value output,
                      llvm::function_ref<Value(StringRef, RankedTensorType)> addInput) {
  return LossBuilder(g, spec, output, addInput).run();
}

} // namespace vx
