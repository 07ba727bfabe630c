// Writes formulas on f32 or f64 scalars and vectors as arith and math.fma ops.
#ifndef VX_LIB_CODEGEN_COMMON_MATHBUILDER_H
#define VX_LIB_CODEGEN_COMMON_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include <bit>

namespace vx {

class MathBuilder;

/// A value of the builder's floating-point type.
struct Number {
  MathBuilder *builder = nullptr;
  mlir::Value value;
};
/// A value of the integer type as wide.
struct Integer {
  MathBuilder *builder = nullptr;
  mlir::Value value;
};
/// A value of the condition type of the same shape.
struct Condition {
  MathBuilder *builder = nullptr;
  mlir::Value value;
};
/// An unevaluated sum: `low` holds what `high` has no digits for.
struct Pair {
  Number high, low;
};

class MathBuilder {
public:
  /// With `hasScale`, `vxk.scale` is an instruction.
  MathBuilder(mlir::OpBuilder &builder, mlir::Location location, mlir::Type type, bool hasScale = false)
      : builder(builder), location(location), type(type) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(type);
    scales = hasScale && vector && vector.getRank() == 1 && vector.getElementType().isF32() &&
             llvm::is_contained({4, 8, 16}, vector.getNumElements());
    isDouble = mlir::getElementTypeOrSelf(type).isF64();
    integerType = shaped(builder.getIntegerType(bits()));
  }

  bool isF64() const { return isDouble; }
  int64_t bits() const { return isDouble ? 64 : 32; }
  /// Bits of the stored mantissa, and the exponent's bias.
  int64_t mantissaBits() const { return isDouble ? 52 : 23; }
  int64_t bias() const { return isDouble ? 1023 : 127; }
  /// The first argument for f32, the second for f64.
  template <typename T>
  T choose(const T &forF32, const T &forF64) const {
    return isDouble ? forF64 : forF32;
  }

  Number number(mlir::Value value) { return {this, value}; }
  Number number(double value) {
    mlir::Type element = mlir::getElementTypeOrSelf(type);
    return {this, constant(type, builder.getFloatAttr(element, isDouble ? value : double(float(value))))};
  }
  Integer integer(uint64_t value) {
    mlir::Type element = mlir::getElementTypeOrSelf(integerType);
    return {this, constant(integerType, builder.getIntegerAttr(element, llvm::APInt(bits(), value, false, true)))};
  }

  Number fma(Number a, Number b, Number c) {
    return number(mlir::math::FmaOp::create(builder, location, a.value, b.value, c.value).getResult());
  }
  /// coefficients[0] + x * (coefficients[1] + ...).
  Number polynomial(Number x, llvm::ArrayRef<double> coefficients) {
    Number sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
  Number abs(Number x) { return number(mlir::math::AbsFOp::create(builder, location, x.value).getResult()); }
  Number sqrt(Number x) { return number(mlir::math::SqrtOp::create(builder, location, x.value).getResult()); }
  Number trunc(Number x) { return number(mlir::math::TruncOp::create(builder, location, x.value).getResult()); }
  Number copySign(Number magnitude, Number sign) {
    return number(mlir::math::CopySignOp::create(builder, location, magnitude.value, sign.value).getResult());
  }
  Number select(Condition condition, Number a, Number b) {
    return number(mlir::arith::SelectOp::create(builder, location, condition.value, a.value, b.value).getResult());
  }
  Integer select(Condition condition, Integer a, Integer b) {
    return {this, mlir::arith::SelectOp::create(builder, location, condition.value, a.value, b.value)};
  }
  Integer bitsOf(Number x) { return {this, mlir::arith::BitcastOp::create(builder, location, integerType, x.value)}; }
  Number fromBits(Integer x) { return {this, mlir::arith::BitcastOp::create(builder, location, type, x.value)}; }
  Number signedToNumber(Integer x) { return {this, mlir::arith::SIToFPOp::create(builder, location, type, x.value)}; }
  Number unsignedToNumber(Integer x) { return {this, mlir::arith::UIToFPOp::create(builder, location, type, x.value)}; }
  /// The low and the high half of the product.
  std::pair<Integer, Integer> multiplyExtended(Integer a, Integer b) {
    auto op = mlir::arith::MulUIExtendedOp::create(builder, location, a.value, b.value);
    return {Integer{this, op.getLow()}, Integer{this, op.getHigh()}};
  }

  /// True where `scale` may be called: one instruction does it.
  bool hasScale() const { return scales; }
  /// x * 2^n, rounded once; `n` is a whole number.
  Number scale(Number x, Number n) {
    return number(vxk::ScaleOp::create(builder, location, x.value, n.value).getResult());
  }

  /// a + b without loss, where |a| >= |b| or a is 0.
  Pair fastSum(Number a, Number b);
  /// a + b without loss.
  Pair sum(Number a, Number b);
  /// a * b without loss.
  Pair product(Number a, Number b);
  /// 2^n for an `n` that gives a normal number.
  Number powerOfTwo(Integer n);

  template <typename Op>
  mlir::Value binary(mlir::Value a, mlir::Value b) {
    return Op::create(builder, location, a, b).getResult();
  }
  Condition compare(mlir::arith::CmpFPredicate predicate, Number a, Number b) {
    return {this, mlir::arith::CmpFOp::create(builder, location, predicate, a.value, b.value)};
  }
  Condition compare(mlir::arith::CmpIPredicate predicate, Integer a, Integer b) {
    return {this, mlir::arith::CmpIOp::create(builder, location, predicate, a.value, b.value)};
  }
  mlir::Value negated(mlir::Value a) { return mlir::arith::NegFOp::create(builder, location, a).getResult(); }
  mlir::Value notOf(mlir::Value a) {
    mlir::Value all = constant(a.getType(), builder.getBoolAttr(true));
    return binary<mlir::arith::XOrIOp>(a, all);
  }

private:
  mlir::Type shaped(mlir::Type element) {
    if (auto shape = llvm::dyn_cast<mlir::ShapedType>(type))
      return shape.clone(element);
    return element;
  }
  mlir::Value constant(mlir::Type constantType, mlir::TypedAttr attribute) {
    if (auto shape = llvm::dyn_cast<mlir::ShapedType>(constantType))
      attribute = mlir::DenseElementsAttr::get(shape, mlir::Attribute(attribute));
    return mlir::arith::ConstantOp::create(builder, location, attribute);
  }

  mlir::OpBuilder &builder;
  mlir::Location location;
  mlir::Type type, integerType;
  bool isDouble, scales;
};

inline Number operator+(Number a, Number b) {
  return {a.builder, a.builder->binary<mlir::arith::AddFOp>(a.value, b.value)};
}
inline Number operator-(Number a, Number b) {
  return {a.builder, a.builder->binary<mlir::arith::SubFOp>(a.value, b.value)};
}
inline Number operator*(Number a, Number b) {
  return {a.builder, a.builder->binary<mlir::arith::MulFOp>(a.value, b.value)};
}
inline Number operator/(Number a, Number b) {
  return {a.builder, a.builder->binary<mlir::arith::DivFOp>(a.value, b.value)};
}
inline Number operator-(Number a) { return {a.builder, a.builder->negated(a.value)}; }
inline Number operator+(Number a, double b) { return a + a.builder->number(b); }
inline Number operator-(Number a, double b) { return a - a.builder->number(b); }
inline Number operator*(Number a, double b) { return a * a.builder->number(b); }
inline Number operator-(double a, Number b) { return b.builder->number(a) - b; }
inline Number operator/(double a, Number b) { return b.builder->number(a) / b; }

// Ordered comparisons: false when an operand is NaN.
inline Condition operator<(Number a, Number b) { return a.builder->compare(mlir::arith::CmpFPredicate::OLT, a, b); }
inline Condition operator>(Number a, Number b) { return a.builder->compare(mlir::arith::CmpFPredicate::OGT, a, b); }
inline Condition operator==(Number a, Number b) { return a.builder->compare(mlir::arith::CmpFPredicate::OEQ, a, b); }
inline Condition operator<(Number a, double b) { return a < a.builder->number(b); }
inline Condition operator>(Number a, double b) { return a > a.builder->number(b); }
inline Condition operator==(Number a, double b) { return a == a.builder->number(b); }
inline Condition isNaN(Number a) { return a.builder->compare(mlir::arith::CmpFPredicate::UNO, a, a); }

inline Condition operator&(Condition a, Condition b) {
  return {a.builder, a.builder->binary<mlir::arith::AndIOp>(a.value, b.value)};
}
inline Condition operator|(Condition a, Condition b) {
  return {a.builder, a.builder->binary<mlir::arith::OrIOp>(a.value, b.value)};
}
inline Condition operator!(Condition a) { return {a.builder, a.builder->notOf(a.value)}; }

inline Integer operator+(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::AddIOp>(a.value, b.value)};
}
inline Integer operator-(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::SubIOp>(a.value, b.value)};
}
inline Integer operator*(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::MulIOp>(a.value, b.value)};
}
inline Integer operator&(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::AndIOp>(a.value, b.value)};
}
inline Integer operator|(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::OrIOp>(a.value, b.value)};
}
inline Integer operator^(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::XOrIOp>(a.value, b.value)};
}
inline Integer operator<<(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::ShLIOp>(a.value, b.value)};
}
/// Logical: zeros come in.
inline Integer operator>>(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::ShRUIOp>(a.value, b.value)};
}
inline Integer shiftRightSigned(Integer a, Integer b) {
  return {a.builder, a.builder->binary<mlir::arith::ShRSIOp>(a.value, b.value)};
}
inline Integer operator+(Integer a, uint64_t b) { return a + a.builder->integer(b); }
inline Integer operator-(Integer a, uint64_t b) { return a - a.builder->integer(b); }
inline Integer operator&(Integer a, uint64_t b) { return a & a.builder->integer(b); }
inline Integer operator|(Integer a, uint64_t b) { return a | a.builder->integer(b); }
inline Integer operator<<(Integer a, uint64_t b) { return a << a.builder->integer(b); }
inline Integer operator>>(Integer a, uint64_t b) { return a >> a.builder->integer(b); }
inline Condition operator!=(Integer a, uint64_t b) {
  return a.builder->compare(mlir::arith::CmpIPredicate::ne, a, a.builder->integer(b));
}
inline Condition unsignedLess(Integer a, Integer b) {
  return a.builder->compare(mlir::arith::CmpIPredicate::ult, a, b);
}

inline Pair MathBuilder::fastSum(Number a, Number b) {
  Number high = a + b;
  return {high, b - (high - a)};
}
inline Pair MathBuilder::sum(Number a, Number b) {
  Number high = a + b, part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}
inline Pair MathBuilder::product(Number a, Number b) {
  Number high = a * b;
  return {high, fma(a, b, -high)};
}
inline Number MathBuilder::powerOfTwo(Integer n) { return fromBits((n + bias()) << mantissaBits()); }

} // namespace vx

#endif
