#include "OpEvaluators.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <functional>

using namespace mlir;

namespace vx::reference {

namespace {

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
/// Integers arrive extended to 64 bits by their sign; the low bits of the answer are kept.
using IntUnary = std::function<int64_t(int64_t)>;
using IntBinary = std::function<int64_t(int64_t, int64_t)>;

double signOf(double x) { return std::isnan(x) || x == 0 ? x : (x > 0 ? 1 : -1); }

double maxOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  if (a == b)
    return std::signbit(a) ? b : a; // +0 rather than -0
  return a > b ? a : b;
}

double minOf(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

bool isLess(bool isSigned, int64_t a, int64_t b) {
  return isSigned ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t divide(bool isSigned, int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (!isSigned)
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? wrapSub(0, a) : a / b;
}

int64_t remainder(bool isSigned, int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (!isSigned)
    return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  return b == -1 ? 0 : a % b;
}

FloatUnary getFloatUnary(Operation *op) {
  return llvm::TypeSwitch<Operation *, FloatUnary>(op)
      .Case([](NegOp) { return +[](double x) { return -x; }; })
      .Case([](AbsOp) { return +[](double x) { return std::fabs(x); }; })
      .Case([](SignOp) { return &signOf; })
      .Case([](CeilOp) { return +[](double x) { return std::ceil(x); }; })
      .Case([](FloorOp) { return +[](double x) { return std::floor(x); }; })
      .Case([](RoundOp) { return +[](double x) { return std::nearbyint(x); }; })
      .Case([](SqrtOp) { return +[](double x) { return std::sqrt(x); }; })
      .Case([](ExpOp) { return +[](double x) { return std::exp(x); }; })
      .Case([](LogOp) { return +[](double x) { return std::log(x); }; })
      .Case([](SinOp) { return +[](double x) { return std::sin(x); }; })
      .Case([](CosOp) { return +[](double x) { return std::cos(x); }; })
      .Case([](TanhOp) { return +[](double x) { return std::tanh(x); }; })
      .Case([](ErfOp) { return +[](double x) { return std::erf(x); }; })
      .Default([](Operation *) { return nullptr; });
}

IntUnary getIntUnary(Operation *op, ElementType type) {
  return llvm::TypeSwitch<Operation *, IntUnary>(op)
      .Case([](NegOp) { return [](int64_t x) { return wrapSub(0, x); }; })
      .Case([=](AbsOp) { return [=](int64_t x) { return isSigned(type) && x < 0 ? wrapSub(0, x) : x; }; })
      .Case([=](SignOp) {
        return [=](int64_t x) { return x == 0 ? int64_t(0) : (isSigned(type) && x < 0 ? int64_t(-1) : int64_t(1)); };
      })
      .Case([=](NotOp) { return [=](int64_t x) { return type == ElementType::Bool ? int64_t(x == 0) : ~x; }; })
      .Default([](Operation *) { return IntUnary(); });
}

FloatBinary getFloatBinary(Operation *op) {
  return llvm::TypeSwitch<Operation *, FloatBinary>(op)
      .Case([](AddOp) { return +[](double a, double b) { return a + b; }; })
      .Case([](SubOp) { return +[](double a, double b) { return a - b; }; })
      .Case([](MulOp) { return +[](double a, double b) { return a * b; }; })
      .Case([](DivOp) { return +[](double a, double b) { return a / b; }; })
      .Case([](RemOp) { return +[](double a, double b) { return std::fmod(a, b); }; })
      .Case([](PowOp) { return +[](double a, double b) { return std::pow(a, b); }; })
      .Case([](MaxOp) { return &maxOf; })
      .Case([](MinOp) { return &minOf; })
      .Default([](Operation *) { return nullptr; });
}

IntBinary getIntBinary(Operation *op, ElementType type) {
  bool sign = isSigned(type);
  return llvm::TypeSwitch<Operation *, IntBinary>(op)
      .Case([](AddOp) { return &wrapAdd; })
      .Case([](SubOp) { return &wrapSub; })
      .Case([](MulOp) { return &wrapMul; })
      .Case([=](DivOp) { return [=](int64_t a, int64_t b) { return divide(sign, a, b); }; })
      .Case([=](RemOp) { return [=](int64_t a, int64_t b) { return remainder(sign, a, b); }; })
      .Case([=](MaxOp) { return [=](int64_t a, int64_t b) { return isLess(sign, a, b) ? b : a; }; })
      .Case([=](MinOp) { return [=](int64_t a, int64_t b) { return isLess(sign, b, a) ? b : a; }; })
      .Case([](AndOp) { return [](int64_t a, int64_t b) { return a & b; }; })
      .Case([](OrOp) { return [](int64_t a, int64_t b) { return a | b; }; })
      .Case([](XorOp) { return [](int64_t a, int64_t b) { return a ^ b; }; })
      .Default([](Operation *) { return IntBinary(); });
}

template <typename T>
bool holds(ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case ComparePredicate::eq:
    return a == b;
  case ComparePredicate::ne:
    return a != b;
  case ComparePredicate::lt:
    return a < b;
  case ComparePredicate::le:
    return a <= b;
  case ComparePredicate::gt:
    return a > b;
  case ComparePredicate::ge:
    return a >= b;
  }
  llvm_unreachable("all predicates are handled");
}

HostTensor compare(CompareOp op, const HostTensor &lhs, const HostTensor &rhs) {
  HostTensor result(ElementType::Bool, lhs.getShape());
  ElementType type = lhs.getElementType();
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    bool value;
    if (isFloat(type))
      value = holds(op.getPredicate(), lhs.getFloat(i), rhs.getFloat(i));
    else if (isSigned(type))
      value = holds(op.getPredicate(), lhs.getInt(i), rhs.getInt(i));
    else
      value = holds(op.getPredicate(), static_cast<uint64_t>(lhs.getInt(i)), static_cast<uint64_t>(rhs.getInt(i)));
    result.setInt(i, value);
  }
  return result;
}

/// Truncates towards zero and saturates.
int64_t toInt(ElementType type, double value) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  // Both bounds are powers of two or one less, so that "at least 2^k" is exact in f64.
  int bits = static_cast<int>(getStorageBits(type)) - (isSigned(type) ? 1 : 0);
  if (value >= std::ldexp(1.0, bits))
    return getHighestInt(type);
  double lowest = isSigned(type) ? -std::ldexp(1.0, bits) : 0;
  if (value <= lowest)
    return getLowestInt(type);
  return value >= std::ldexp(1.0, 63) ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                      : static_cast<int64_t>(value);
}

HostTensor cast(const HostTensor &input, ElementType type) {
  HostTensor result(type, input.getShape());
  ElementType from = input.getElementType();
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    if (isFloat(from) && isFloat(type)) {
      result.setFloat(i, input.getFloat(i));
    } else if (isFloat(from)) {
      double value = input.getFloat(i);
      result.setInt(i, type == ElementType::Bool ? int64_t(value != 0) : toInt(type, value));
    } else if (type == ElementType::F64) {
      // f64 itself wants the nearest number, not the odd one that getFloat gives.
      int64_t value = input.getInt(i);
      result.setFloat(i,
                      isSigned(from) ? static_cast<double>(value) : static_cast<double>(static_cast<uint64_t>(value)));
    } else if (isFloat(type)) {
      result.setFloat(i, input.getFloat(i));
    } else {
      result.setInt(i, input.getInt(i));
    }
  }
  return result;
}

} // namespace

static Result evaluateElementwise(Operation *op, llvm::ArrayRef<HostTensor> operands) {
  for (const HostTensor &operand : operands.drop_front())
    if (operand.getShape() != operands[0].getShape())
      return callError(op, "the operands' shapes " + describeShape(operands[0].getShape()) + " and " +
                               describeShape(operand.getShape()) + " differ");
  llvm::ArrayRef<int64_t> shape = operands[0].getShape();
  ElementType type = operands[0].getElementType();
  int64_t count = operands[0].getNumElements();

  if (auto compareOp = llvm::dyn_cast<CompareOp>(op))
    return compare(compareOp, operands[0], operands[1]);
  if (llvm::isa<CastOp>(op))
    return cast(operands[0], elementTypeOf(op->getResult(0)));
  if (llvm::isa<SelectOp>(op)) {
    HostTensor result(operands[1].getElementType(), shape);
    for (int64_t i = 0; i < count; ++i)
      copyElement(result, i, operands[0].getInt(i) ? operands[1] : operands[2], i);
    return result;
  }
  if (llvm::isa<IsNanOp, IsInfOp>(op)) {
    HostTensor result(ElementType::Bool, shape);
    for (int64_t i = 0; i < count; ++i) {
      double value = operands[0].getFloat(i);
      result.setInt(i, llvm::isa<IsNanOp>(op) ? std::isnan(value) : std::isinf(value));
    }
    return result;
  }

  HostTensor result(type, shape);
  auto unknown = [&] {
    return callError(op, "the reference evaluator does not know '" + op->getName().getStringRef() +
                             "' for elements of " + getName(type));
  };
  if (operands.size() == 1 && isFloat(type)) {
    FloatUnary compute = getFloatUnary(op);
    if (!compute)
      return unknown();
    for (int64_t i = 0; i < count; ++i)
      result.setFloat(i, compute(operands[0].getFloat(i)));
  } else if (operands.size() == 1) {
    IntUnary compute = getIntUnary(op, type);
    if (!compute)
      return unknown();
    for (int64_t i = 0; i < count; ++i)
      result.setInt(i, compute(operands[0].getInt(i)));
  } else if (isFloat(type)) {
    FloatBinary compute = getFloatBinary(op);
    if (!compute)
      return unknown();
    for (int64_t i = 0; i < count; ++i)
      result.setFloat(i, compute(operands[0].getFloat(i), operands[1].getFloat(i)));
  } else {
    IntBinary compute = getIntBinary(op, type);
    if (!compute)
      return unknown();
    for (int64_t i = 0; i < count; ++i)
      result.setInt(i, compute(operands[0].getInt(i), operands[1].getInt(i)));
  }
  return result;
}

void addElementwiseEvaluators(EvaluatorTable &table) {
  table.addTrait<OpTrait::Elementwise>(EvaluatorTable::evaluate<evaluateElementwise>);
}

} // namespace vx::reference
