// The formulas are PyTorch's, and Lion's those of Chen et al. (Symbolic discovery of optimization algorithms, 2023).
#include "Optimizers.h"

#include <cmath>

using namespace mlir;

namespace vx {

SmallVector<StringRef> getOptimizerState(const OptimizerSpec &spec) {
  if (spec.name == "adam" || spec.name == "adamw")
    return {"m", "v"};
  if (spec.name == "lion")
    return {"m"};
  if (spec.name == "adagrad")
    return {"sum"};
  SmallVector<StringRef> state;
  if (spec.name == "rmsprop") {
    state.push_back("square");
    if (spec.get("centered") != 0)
      state.push_back("mean");
  }
  if (spec.get("momentum") != 0)
    state.push_back("momentum");
  return state;
}

double getInitialState(const OptimizerSpec &spec) {
  return spec.name == "adagrad" ? spec.get("initial_accumulator_value") : 0;
}

namespace {

class Optimizer {
public:
  Optimizer(const OptimizerSpec &spec, Expression gradients, Expression rate, Expression step)
      : spec(spec), gradients(gradients), rate(rate), step(step) {}

  OptimizerUpdate build(Expression w, ArrayRef<Expression> state) {
    if (spec.name == "adam" || spec.name == "adamw")
      return buildAdam(w, state[0], state[1]);
    if (spec.name == "lion")
      return buildLion(w, state[0]);
    if (spec.name == "adagrad")
      return buildAdagrad(w, state[0]);
    return spec.name == "rmsprop" ? buildRmsProp(w, state) : buildSgd(w, state);
  }

private:
  double get(StringRef key) const { return spec.get(key); }

  /// A scalar in every place.
  Expression repeat(Expression scalar) const {
    return {scalar.g, scalar.g->broadcastInDim(scalar, getDims(cast<RankedTensorType>(gradients.value.getType())), {})};
  }

  /// The decay of the weights as a part of the gradient.
  Expression addDecay(Expression w) const {
    return get("weight_decay") == 0 ? gradients : gradients + w * get("weight_decay");
  }
  /// The decay of the weights beside the gradient.
  Expression decay(Expression w) const {
    return get("weight_decay") == 0 ? w : w - w * repeat(rate * get("weight_decay"));
  }

  static Expression mix(Expression old, Expression next, double share) { return old + (next - old) * share; }

  /// 1 - beta^step: of beta near 1 a difference of two numbers near 1, so by 1 - e^y = -tanh(y / 2) (e^y + 1).
  Expression getCorrection(double beta) const {
    if (beta == 0)
      return fill(1, step);
    Expression y = step * std::log(beta);
    return -(apply<TanhOp>(y * 0.5) * (apply<ExpOp>(y) + 1.0));
  }

  OptimizerUpdate buildAdam(Expression w, Expression m, Expression v) {
    bool isDecoupled = spec.name == "adamw";
    Expression g = isDecoupled ? gradients : addDecay(w);
    w = isDecoupled ? decay(w) : w;
    m = mix(m, g, 1 - get("beta1"));
    v = v * get("beta2") + g * g * (1 - get("beta2"));
    // rate m / c1 / (sqrt(v) / sqrt(c2) + eps) with what all elements have in common in two numbers, which one kernel
    // computes.
    Expression root = apply<SqrtOp>(getCorrection(get("beta2")));
    Expression size = rate * root / getCorrection(get("beta1"));
    Expression deviation = apply<SqrtOp>(v) + repeat(root * get("eps"));
    return {w - repeat(size) * (m / deviation), {m, v}};
  }

  OptimizerUpdate buildLion(Expression w, Expression m) {
    Expression direction = apply<SignOp>(mix(m, gradients, 1 - get("beta1")));
    return {decay(w) - repeat(rate) * direction, {mix(m, gradients, 1 - get("beta2"))}};
  }

  OptimizerUpdate buildAdagrad(Expression w, Expression sum) {
    Expression g = addDecay(w), size = rate;
    if (get("lr_decay") != 0)
      size = rate / ((step - 1.0) * get("lr_decay") + 1.0);
    sum = sum + g * g;
    return {w - repeat(size) * (g / (apply<SqrtOp>(sum) + get("eps"))), {sum}};
  }

  OptimizerUpdate buildRmsProp(Expression w, ArrayRef<Expression> state) {
    Expression g = addDecay(w), square = state[0] * get("alpha") + g * g * (1 - get("alpha")), spread = square;
    OptimizerUpdate update{w, {square}};
    if (get("centered") != 0) {
      Expression mean = mix(state[1], g, 1 - get("alpha"));
      update.state.push_back(mean);
      // Rounding gives less than 0 where all gradients are equal.
      spread = apply<MaxOp>(square - mean * mean, fill(0, square));
    }
    Expression change = g / (apply<SqrtOp>(spread) + get("eps"));
    if (get("momentum") != 0) {
      change = state.back() * get("momentum") + change;
      update.state.push_back(change);
    }
    update.parameters = w - repeat(rate) * change;
    return update;
  }

  OptimizerUpdate buildSgd(Expression w, ArrayRef<Expression> state) {
    Expression g = addDecay(w), change = g;
    OptimizerUpdate update{w, {}};
    if (get("momentum") != 0) {
      Expression next = state[0] * get("momentum") + g * (1 - get("dampening"));
      // The first step takes the gradient whole.
      if (get("dampening") != 0) {
        Expression isFirst = compare(ComparePredicate::eq, step, 1);
        next = select(repeat(isFirst), g, next);
      }
      update.state.push_back(next);
      change = get("nesterov") != 0 ? g + next * get("momentum") : next;
    }
    update.parameters = w - repeat(rate) * change;
    return update;
  }

  const OptimizerSpec &spec;
  Expression gradients, rate, step;
};

} // namespace

OptimizerUpdate buildOptimizer(const OptimizerSpec &spec, Expression parameters, Expression gradients,
                               ArrayRef<Expression> state, Expression rate, Expression step) {
  return Optimizer(spec, gradients, rate, step).build(parameters, state);
}

Expression buildNorm(Expression gradients) {
  GraphBuilder *g = gradients.g;
  auto type = cast<RankedTensorType>(gradients.value.getType());
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return apply<SqrtOp>(Expression{g, g->reduce(ReduceKind::sum, gradients * gradients, axes)});
}

Expression buildClip(const OptimizerSpec &spec, Expression gradients, std::optional<Expression> norm,
                     std::optional<Expression> scale) {
  GraphBuilder *g = gradients.g;
  // What all elements are multiplied by is one number.
  std::optional<Expression> factor;
  if (scale)
    factor = fill(1, *scale) / *scale;
  if (spec.clipNorm) {
    if (!norm)
      norm = buildNorm(gradients);
    if (factor)
      norm = *norm * *factor;
    Expression share = fill(*spec.clipNorm, *norm) / (*norm + 1e-6);
    share = apply<MinOp>(share, fill(1, share));
    factor = factor ? share * *factor : share;
  }
  if (factor) {
    auto type = cast<RankedTensorType>(gradients.value.getType());
    gradients = gradients * Expression{g, g->broadcastInDim(*factor, getDims(type), {})};
  }
  if (spec.clipValue)
    gradients =
        apply<MaxOp>(apply<MinOp>(gradients, fill(*spec.clipValue, gradients)), fill(-*spec.clipValue, gradients));
  return gradients;
}

} // namespace vx
