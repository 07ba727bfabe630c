// Hyperbolic functions and their inverses, built of exponentials, logarithms and roots. Where these cancel, near 0 or
// near 1, they are sums of powers. A branch is finite also where the other one is selected, as gradients need.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include <cmath>

using namespace mlir;

namespace vx::onnx {

static bool isWide(Value x) { return elementOf(x).isF64(); }

static Value clamp(NodeImporter &n, Value x, double low, double high) {
  return n.emit<MaxOp>(n.emit<MinOp>(x, n.splatLike(high, x)), n.splatLike(low, x));
}

static Value isBelow(NodeImporter &n, Value x, double limit) {
  return n.emit<CompareOp>(ComparePredicate::lt, x, n.splatLike(limit, x));
}

static Value giveSign(NodeImporter &n, Value magnitude, Value x) {
  return n.emit<SelectOp>(isBelow(n, x, 0), n.emit<NegOp>(magnitude), magnitude);
}

/// x + factors[0] x^3 + factors[1] x^5 + ...
static Value emitOddSeries(NodeImporter &n, Value x, ArrayRef<double> factors) {
  Value square = n.emit<MulOp>(x, x), sum = n.splatLike(factors.back(), x);
  for (double factor : llvm::reverse(factors.drop_back()))
    sum = emitShifted(n, n.emit<MulOp>(sum, square), factor);
  return n.emit<AddOp>(x, n.emit<MulOp>(x, n.emit<MulOp>(square, sum)));
}

/// 2 atanh(z), where |z| is 0.2 at most.
static Value emitTwiceInverse(NodeImporter &n, Value z) {
  SmallVector<double> factors;
  for (int k = 1; k <= (isWide(z) ? 11 : 5); ++k)
    factors.push_back(1.0 / (2 * k + 1));
  return emitScaled(n, emitOddSeries(n, z, factors), 2);
}

/// e^|x| / 2 with e^-|x| / 2 added or subtracted. It overflows where the result does, and not where e^|x| does.
static Value emitHalvedExponentials(NodeImporter &n, Value magnitude, bool adds) {
  Value isHuge =
      n.emit<CompareOp>(ComparePredicate::gt, magnitude, n.splatLike(isWide(magnitude) ? 709 : 88, magnitude));
  Value power = n.emit<ExpOp>(n.emit<SelectOp>(isHuge, emitScaled(n, magnitude, 0.5), magnitude));
  Value half = emitScaled(n, power, 0.5), other = n.emit<DivOp>(n.splatLike(0.5, power), power);
  Value direct = adds ? n.emit<AddOp>(half, other) : n.emit<SubOp>(half, other);
  return n.emit<SelectOp>(isHuge, n.emit<MulOp>(half, power), direct);
}

/// `log(select)` of numbers from 1 on that grow: ln(2 x) from where the root's 1 is lost.
static Value emitLogOfSum(NodeImporter &n, Value x, Value root) {
  double limit = std::ldexp(1, isWide(x) ? 28 : 13);
  Value isLarge = n.emit<CompareOp>(ComparePredicate::gt, x, n.splatLike(limit, x));
  Value log = n.emit<LogOp>(n.emit<SelectOp>(isLarge, x, n.emit<AddOp>(x, root)));
  return n.emit<SelectOp>(isLarge, emitShifted(n, log, M_LN2), log);
}
/// The argument of the root in `emitLogOfSum`.
static Value boundRoot(NodeImporter &n, Value x) {
  return n.emit<MinOp>(x, n.splatLike(std::ldexp(1, isWide(x) ? 28 : 13), x));
}

static Value emitCosh(NodeImporter &n, Value x) { return emitHalvedExponentials(n, n.emit<AbsOp>(x), /*adds=*/true); }

static Value emitSinh(NodeImporter &n, Value x) {
  SmallVector<double> factors;
  double factorial = 1;
  for (int k = 1; k <= (isWide(x) ? 9 : 5); ++k)
    factors.push_back(1 / (factorial *= (2.0 * k) * (2 * k + 1)));
  Value magnitude = n.emit<AbsOp>(x);
  Value far = giveSign(n, emitHalvedExponentials(n, magnitude, /*adds=*/false), x);
  return n.emit<SelectOp>(isBelow(n, magnitude, 1), emitOddSeries(n, clamp(n, x, -1, 1), factors), far);
}

/// asinh x = 2 atanh(x / (1 + sqrt(1 + x^2))) = sign(x) ln(|x| + sqrt(1 + x^2)).
static Value emitAsinh(NodeImporter &n, Value x) {
  auto root = [&](Value value) { return n.emit<SqrtOp>(emitShifted(n, n.emit<MulOp>(value, value), 1)); };
  Value magnitude = n.emit<AbsOp>(x), small = clamp(n, x, -0.5, 0.5);
  Value near = emitTwiceInverse(n, n.emit<DivOp>(small, emitShifted(n, root(small), 1)));
  Value far = emitLogOfSum(n, magnitude, root(boundRoot(n, magnitude)));
  return n.emit<SelectOp>(isBelow(n, magnitude, 0.4), near, giveSign(n, far, x));
}

/// acosh x = 2 atanh(sqrt((x - 1) / (x + 1))) = ln(x + sqrt((x - 1) (x + 1))); NaN below 1.
static Value emitAcosh(NodeImporter &n, Value x) {
  constexpr double limit = 1.08;
  Value small = emitShifted(n, n.emit<MinOp>(x, n.splatLike(1.5, x)), -1);
  Value near =
      emitTwiceInverse(n, n.emit<DivOp>(n.emit<SqrtOp>(small),
                                        n.emit<SqrtOp>(emitShifted(n, small, 2)))); // a root of less than 0 is NaN
  Value large = n.emit<MaxOp>(x, n.splatLike(limit, x)), bound = boundRoot(n, large);
  Value root = n.emit<SqrtOp>(n.emit<MulOp>(emitShifted(n, bound, -1), emitShifted(n, bound, 1)));
  return n.emit<SelectOp>(isBelow(n, x, limit), near, emitLogOfSum(n, large, root));
}

/// atanh x = 2 atanh(x / (1 + sqrt(1 - x^2))) = ln((1 + x) / (1 - x)) / 2.
static Value emitAtanh(NodeImporter &n, Value x) {
  Value magnitude = n.emit<AbsOp>(x), one = n.splatLike(1, x), small = clamp(n, x, -0.5, 0.5);
  Value root = n.emit<SqrtOp>(n.emit<SubOp>(one, n.emit<MulOp>(small, small)));
  Value near = emitTwiceInverse(n, n.emit<DivOp>(small, emitShifted(n, root, 1)));
  Value quotient = n.emit<DivOp>(n.emit<AddOp>(one, magnitude), n.emit<SubOp>(one, magnitude));
  Value far = giveSign(n, emitScaled(n, n.emit<LogOp>(quotient), 0.5), x);
  return n.emit<SelectOp>(isBelow(n, magnitude, 0.38), near, far);
}

/// Narrow floats are computed in f32.
static void importFunction(NodeImporter &n, Value (*emitFunction)(NodeImporter &, Value)) {
  Value x = n.getTensor(0);
  if (!isa<FloatType>(elementOf(x)))
    throwInvalid("expects floats as input 0, got " + describe(x.getType()));
  n.setOutput(0, n.cast(emitFunction(n, n.widen(x)), elementOf(x)));
}
static void importAcosh(NodeImporter &n) { importFunction(n, emitAcosh); }
static void importAsinh(NodeImporter &n) { importFunction(n, emitAsinh); }
static void importAtanh(NodeImporter &n) { importFunction(n, emitAtanh); }
static void importCosh(NodeImporter &n) { importFunction(n, emitCosh); }
static void importSinh(NodeImporter &n) { importFunction(n, emitSinh); }

static constexpr OpTableEntry hyperbolicsTable[] = {
    {"Acosh", 9, newestOpset, importAcosh}, {"Asinh", 9, newestOpset, importAsinh},
    {"Atanh", 9, newestOpset, importAtanh}, {"Cosh", 9, newestOpset, importCosh},
    {"Sinh", 9, newestOpset, importSinh},
};
const llvm::ArrayRef<OpTableEntry> hyperbolicsOps = hyperbolicsTable;

} // namespace vx::onnx
