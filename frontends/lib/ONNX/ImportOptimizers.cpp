// Steps of optimizers. A node updates several tensors: its inputs are a learning rate and a count of steps, then the
// tensors, their gradients and the optimizer's state of each.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include <cmath>

using namespace mlir;

namespace vx::onnx {

namespace {

class OptimizerStep {
public:
  /// `states`: tensors that are remembered of each updated one.
  OptimizerStep(NodeImporter &n, unsigned states) : n(n), states(states) {
    unsigned parts = 2 + states;
    if (n.getNumInputs() < 2 + parts || (n.getNumInputs() - 2) % parts != 0)
      throwInvalid("expects 2 inputs and " + Twine(parts) + " for each tensor that is updated, got " +
                   Twine(n.getNumInputs()));
    count = (n.getNumInputs() - 2) / parts;
    if (n.proto.output_size() != int(count * (1 + states)))
      throwInvalid("expects " + Twine(count * (1 + states)) + " outputs, got " + Twine(n.proto.output_size()));
    rate = n.getTensor(0);
    steps = n.getTensor(1);
    if (!isa<FloatType>(elementOf(rate)) || !isa<IntegerType>(elementOf(steps)))
      throwInvalid("expects a rate of floats and a count of integers as inputs 0 and 1, got " +
                   describe(rate.getType()) + " and " + describe(steps.getType()));
    rate = n.widen(n.reshape(rate, {}));
    steps = n.reshape(steps, {});
  }

  /// `update` takes a tensor, its regularized gradient and its states, and gives the new tensor and states.
  void import(llvm::function_ref<SmallVector<Value>(Value, Value, ArrayRef<Value>)> update) {
    double decay = n.getFloat("norm_coefficient", 0.0f);
    for (unsigned i = 0; i < count; ++i) {
      SmallVector<Value> parts;
      for (unsigned part = 0; part < 2 + states; ++part) {
        Value value = n.getTensor(2 + part * count + i);
        if (!isa<FloatType>(elementOf(value)) || (part > 0 && elementOf(value) != elementOf(parts[0])))
          throwInvalid("expects tensors of one type of floats, got " +
                       describe((part > 0 ? parts[0] : value).getType()) + " and " + describe(value.getType()));
        parts.push_back(value);
      }
      Type type = elementOf(parts[0]);
      for (Value &part : parts)
        part = n.widen(part);
      n.broadcastTogether(parts);
      Value regularized = decay == 0 ? parts[1] : n.emit<AddOp>(emitScaled(n, parts[0], decay), parts[1]);
      for (auto [index, value] : llvm::enumerate(update(parts[0], regularized, ArrayRef(parts).drop_front(2))))
        n.setOutput(index * count + i, n.cast(value, type));
    }
  }

  /// Repeats a scalar to the type and shape of `like`.
  Value spread(Value scalar, Value like) {
    return n.broadcastInDim(n.cast(scalar, elementOf(like)), vx::getDims(typeOf(like)), {});
  }
  Value isRepeated() { return n.emit<CompareOp>(ComparePredicate::gt, steps, n.splatLike(0, steps)); }

  NodeImporter &n;
  const unsigned states;
  unsigned count;
  Value rate, steps;
};

} // namespace

static void importMomentum(NodeImporter &n) {
  double alpha = n.getFloat("alpha"), beta = n.getFloat("beta");
  (void)n.getFloat("norm_coefficient");
  std::string mode = n.getString("mode", "");
  if (mode != "standard" && mode != "nesterov")
    throwInvalid("expects 'mode' to be standard or nesterov, got '" + mode + "'");
  OptimizerStep step(n, 1);
  // The first gradient counts whole.
  Value share = n.emit<SelectOp>(step.isRepeated(), n.splatLike(beta, step.rate), n.splatLike(1, step.rate));
  step.import([&](Value x, Value gradient, ArrayRef<Value> states) -> SmallVector<Value> {
    Value scaled = n.emit<MulOp>(step.spread(share, gradient), gradient);
    Value momentum = n.emit<AddOp>(emitScaled(n, states[0], alpha), scaled);
    Value direction = mode == "standard" ? momentum : n.emit<AddOp>(gradient, emitScaled(n, momentum, alpha));
    return {n.emit<SubOp>(x, n.emit<MulOp>(step.spread(step.rate, x), direction)), momentum};
  });
}

static void importAdagrad(NodeImporter &n) {
  double epsilon = n.getFloat("epsilon", 0.0f), decay = n.getFloat("decay_factor", 0.0f);
  OptimizerStep step(n, 1);
  Value divisor = emitShifted(n, emitScaled(n, n.cast(step.steps, elementOf(step.rate)), decay), 1);
  Value rate = n.emit<DivOp>(step.rate, divisor);
  step.import([&](Value x, Value gradient, ArrayRef<Value> states) -> SmallVector<Value> {
    Value squares = n.emit<AddOp>(states[0], n.emit<MulOp>(gradient, gradient));
    Value root = emitShifted(n, n.emit<SqrtOp>(squares), epsilon);
    Value change = n.emit<DivOp>(n.emit<MulOp>(step.spread(rate, x), gradient), root);
    return {n.emit<SubOp>(x, change), squares};
  });
}

/// 1 - base^power, also where the power is close to 1.
static Value emitLackingPower(NodeImporter &n, double base, Value power) {
  Value exponent = emitScaled(n, power, std::log(base));
  Value small = n.emit<MaxOp>(exponent, n.splatLike(-0.5, exponent));
  // e^x - 1, by its series: 0.5^n / n! is below a rounding from the last term on.
  int terms = elementOf(power).isF64() ? 14 : 8;
  Value sum = n.splatLike(1, small);
  for (int k = terms; k > 1; --k)
    sum = emitShifted(n, n.emit<MulOp>(sum, emitScaled(n, small, 1.0 / k)), 1);
  Value near = n.emit<NegOp>(n.emit<MulOp>(sum, small));
  Value far = n.emit<SubOp>(n.splatLike(1, exponent), n.emit<ExpOp>(exponent));
  Value isNear = n.emit<CompareOp>(ComparePredicate::gt, exponent, n.splatLike(-0.5, exponent));
  return n.emit<SelectOp>(isNear, near, far);
}

static void importAdam(NodeImporter &n) {
  double alpha = n.getFloat("alpha", 0.9f), beta = n.getFloat("beta", 0.999f), epsilon = n.getFloat("epsilon", 0.0f);
  double decayBehind = n.getFloat("norm_coefficient_post", 0.0f);
  for (auto [name, share] : {std::pair("alpha", alpha), std::pair("beta", beta)})
    if (!(share >= 0 && share <= 1))
      throwInvalid("expects '" + Twine(name) + "' from 0 to 1, got " + std::to_string(share));
  OptimizerStep step(n, 2);
  Value power = n.cast(step.steps, elementOf(step.rate));
  Value adjusted = n.emit<MulOp>(step.rate, n.emit<SqrtOp>(emitLackingPower(n, beta, power)));
  adjusted = n.emit<DivOp>(adjusted, emitLackingPower(n, alpha, power));
  Value rate = n.emit<SelectOp>(step.isRepeated(), adjusted, step.rate);
  step.import([&](Value x, Value gradient, ArrayRef<Value> states) -> SmallVector<Value> {
    auto average = [&](Value before, Value now, double share) {
      return n.emit<AddOp>(emitScaled(n, before, share), emitScaled(n, now, 1 - share));
    };
    Value mean = average(states[0], gradient, alpha);
    Value squares = average(states[1], n.emit<MulOp>(gradient, gradient), beta);
    Value root = emitShifted(n, n.emit<SqrtOp>(squares), epsilon);
    Value moved = n.emit<SubOp>(x, n.emit<DivOp>(n.emit<MulOp>(step.spread(rate, x), mean), root));
    return {emitScaled(n, moved, 1 - decayBehind), mean, squares};
  });
}

static constexpr OpTableEntry optimizersTable[] = {
    {"Adagrad", 1, newestTrainingOpset, importAdagrad},
    {"Adam", 1, newestTrainingOpset, importAdam},
    {"Momentum", 1, newestTrainingOpset, importMomentum},
};
const llvm::ArrayRef<OpTableEntry> optimizersOps = optimizersTable;

} // namespace vx::onnx
