#include "OpEvaluators.h"

#include <cmath>

using namespace mlir;

namespace vx::reference {

namespace {

/// The operands' elements at one place: floats of any type as f64.
struct Floats {
  double x, y; // y is 0 where there is one operand
};
/// Integers and bools of one type, extended to 64 bits by their sign.
struct Ints {
  int64_t x, y;
  ElementType type;
  bool isSigned() const { return reference::isSigned(type); }
};

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

// What each op of the family computes of one place; one without does not build. An op of floats and integers has two
// functions. A float is rounded to the result's type afterwards, and of an integer the low bits are kept.
double compute(NegOp, Floats v) { return -v.x; }
int64_t compute(NegOp, Ints v) { return wrapSub(0, v.x); }
double compute(AbsOp, Floats v) { return std::fabs(v.x); }
int64_t compute(AbsOp, Ints v) { return v.isSigned() && v.x < 0 ? wrapSub(0, v.x) : v.x; }
double compute(SignOp, Floats v) { return signOf(v.x); }
int64_t compute(SignOp, Ints v) { return v.x == 0 ? 0 : v.isSigned() && v.x < 0 ? -1 : 1; }
double compute(CeilOp, Floats v) { return std::ceil(v.x); }
double compute(FloorOp, Floats v) { return std::floor(v.x); }
double compute(RoundOp, Floats v) { return std::nearbyint(v.x); }
double compute(SqrtOp, Floats v) { return std::sqrt(v.x); }
double compute(ExpOp, Floats v) { return std::exp(v.x); }
double compute(LogOp, Floats v) { return std::log(v.x); }
double compute(SinOp, Floats v) { return std::sin(v.x); }
double compute(CosOp, Floats v) { return std::cos(v.x); }
double compute(AsinOp, Floats v) { return std::asin(v.x); }
double compute(AcosOp, Floats v) { return std::acos(v.x); }
double compute(AtanOp, Floats v) { return std::atan(v.x); }
double compute(TanhOp, Floats v) { return std::tanh(v.x); }
double compute(ErfOp, Floats v) { return std::erf(v.x); }
int64_t compute(NotOp, Ints v) { return v.type == ElementType::Bool ? int64_t(v.x == 0) : ~v.x; }
bool compute(IsNanOp, Floats v) { return std::isnan(v.x); }
bool compute(IsInfOp, Floats v) { return std::isinf(v.x); }

double compute(AddOp, Floats v) { return v.x + v.y; }
int64_t compute(AddOp, Ints v) { return wrapAdd(v.x, v.y); }
double compute(SubOp, Floats v) { return v.x - v.y; }
int64_t compute(SubOp, Ints v) { return wrapSub(v.x, v.y); }
double compute(MulOp, Floats v) { return v.x * v.y; }
int64_t compute(MulOp, Ints v) { return wrapMul(v.x, v.y); }
double compute(DivOp, Floats v) { return v.x / v.y; }
int64_t compute(DivOp, Ints v) { return divide(v.isSigned(), v.x, v.y); }
double compute(RemOp, Floats v) { return std::fmod(v.x, v.y); }
int64_t compute(RemOp, Ints v) { return remainder(v.isSigned(), v.x, v.y); }
double compute(PowOp, Floats v) { return std::pow(v.x, v.y); }
double compute(MaxOp, Floats v) { return maxOf(v.x, v.y); }
int64_t compute(MaxOp, Ints v) { return isLess(v.isSigned(), v.x, v.y) ? v.y : v.x; }
double compute(MinOp, Floats v) { return minOf(v.x, v.y); }
int64_t compute(MinOp, Ints v) { return isLess(v.isSigned(), v.y, v.x) ? v.y : v.x; }
int64_t compute(AndOp, Ints v) { return v.x & v.y; }
int64_t compute(OrOp, Ints v) { return v.x | v.y; }
int64_t compute(XorOp, Ints v) { return v.x ^ v.y; }
bool compute(CompareOp op, Floats v) { return holds(op.getPredicate(), v.x, v.y); }
bool compute(CompareOp op, Ints v) {
  return v.isSigned() ? holds(op.getPredicate(), v.x, v.y)
                      : holds(op.getPredicate(), static_cast<uint64_t>(v.x), static_cast<uint64_t>(v.y));
}

// What chooses or converts takes elements as they are, and sets the result's.
void compute(SelectOp, llvm::ArrayRef<HostTensor> operands, int64_t i, HostTensor &result) {
  copyElement(result, i, operands[0].getInt(i) ? operands[1] : operands[2], i);
}
void compute(CastOp, llvm::ArrayRef<HostTensor> operands, int64_t i, HostTensor &result) {
  const HostTensor &input = operands[0];
  ElementType from = input.getElementType(), type = result.getElementType();
  if (isFloat(from) && !isFloat(type)) {
    double value = input.getFloat(i);
    result.setInt(i, type == ElementType::Bool ? int64_t(value != 0) : toInt(type, value));
  } else if (!isFloat(from) && type == ElementType::F64) {
    // f64 itself wants the nearest number, not the odd one that getFloat gives.
    int64_t value = input.getInt(i);
    result.setFloat(i, isSigned(from) ? static_cast<double>(value) : static_cast<double>(static_cast<uint64_t>(value)));
  } else if (isFloat(type)) {
    result.setFloat(i, input.getFloat(i));
  } else {
    result.setInt(i, input.getInt(i));
  }
}

void compute(BitcastOp, llvm::ArrayRef<HostTensor> operands, int64_t i, HostTensor &result) {
  uint64_t bits = operands[0].getBits(i);
  result.setBits(i, result.getElementType() == ElementType::Bool ? bits != 0 : bits);
}

void set(HostTensor &result, int64_t i, double value) { result.setFloat(i, value); }
void set(HostTensor &result, int64_t i, int64_t value) { result.setInt(i, value); }
void set(HostTensor &result, int64_t i, bool value) { result.setInt(i, value); }

template <typename Op>
Result evaluateElementwise(Op op, llvm::ArrayRef<HostTensor> operands) {
  for (const HostTensor &operand : operands.drop_front())
    if (operand.getShape() != operands[0].getShape())
      return callError(op, "the operands' shapes " + describeShape(operands[0].getShape()) + " and " +
                               describeShape(operand.getShape()) + " differ");
  ElementType type = operands[0].getElementType();
  HostTensor result(elementTypeOf(op->getResult(0)), operands[0].getShape());
  auto forEachPlace = [&](auto body) -> Result {
    for (int64_t i = 0; i < result.getNumElements(); ++i)
      body(i);
    return std::move(result);
  };
  const HostTensor &x = operands.front(), &y = operands.back();
  constexpr bool isBinary = Op::template hasTrait<mlir::OpTrait::NOperands<2>::Impl>();
  constexpr bool takesPlaces = requires(int64_t i) { compute(op, operands, i, result); },
                 takesFloats = requires(Floats v) { compute(op, v); }, takesInts = requires(Ints v) { compute(op, v); };
  static_assert(takesPlaces || takesFloats || takesInts);
  if constexpr (takesPlaces)
    return forEachPlace([&](int64_t i) { compute(op, operands, i, result); });
  if constexpr (takesFloats)
    if (isFloat(type))
      return forEachPlace(
          [&](int64_t i) { set(result, i, compute(op, Floats{x.getFloat(i), isBinary ? y.getFloat(i) : 0})); });
  if constexpr (takesInts)
    if (!isFloat(type))
      return forEachPlace(
          [&](int64_t i) { set(result, i, compute(op, Ints{x.getInt(i), isBinary ? y.getInt(i) : 0, type})); });
  return callError(op, "the reference evaluator does not know '" + op->getName().getStringRef() + "' for elements of " +
                           getName(type));
}

template <typename... Ops>
void addAll(EvaluatorTable &table) {
  (table.add<evaluateElementwise<Ops>>(), ...);
}

} // namespace

void addElementwiseEvaluators(EvaluatorTable &table) {
  addAll<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsElementwise.cpp.inc"
      >(table);
}

} // namespace vx::reference
