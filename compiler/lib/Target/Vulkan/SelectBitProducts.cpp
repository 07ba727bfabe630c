// Products with a factor of two values. One of NVIDIA's drivers (580.159) computes the product of a factor that is 0 or
// 1 wrongly, however the factor came about: x mod 2, x & 1, a loop's or a thread's number below 2; and also that of a
// choice between two constants and of what is computed from one, ((x mod 2) * 9 mod 5) * 100. It takes such a product
// for the one of another factor that stands before it. What it makes of a choice between two products is right.
#include "SPIRVPatterns.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace vx::vulkan {
namespace {

/// Few numbers, each once, in order.
using Values = SmallVector<APInt, 2>;

class PossibleValues {
public:
  explicit PossibleValues(const DataFlowSolver &solver) : solver(solver) {}

  /// The one or two numbers that an integer may be; none where it may be others.
  Values of(Value value) {
    auto [found, isNew] = known.try_emplace(value);
    if (!isNew)
      return found->second;
    Values values = find(value);
    known[value] = values;
    return values;
  }

private:
  static void add(Values &values, const APInt &number) {
    auto at = llvm::lower_bound(values, number, [](const APInt &a, const APInt &b) { return a.ult(b); });
    if (at == values.end() || *at != number)
      values.insert(at, number);
  }

  static unsigned width(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

  Values find(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return {constant.zextOrTrunc(width(value.getType()))};
    auto *lattice = solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
    if (lattice && !lattice->getValue().isUninitialized()) {
      const ConstantIntRanges &range = lattice->getValue().getValue();
      if (range.umax() - range.umin() == 1)
        return {range.umin(), range.umax()};
    }
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0)
      return {};
    return fold(op);
  }

  // What becomes of each choice of the operands' numbers, where the op itself can say.
  Values fold(Operation *op) {
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      Values values = of(select.getTrueValue()), others = of(select.getFalseValue());
      if (values.empty() || others.empty())
        return {};
      for (const APInt &number : others)
        add(values, number);
      return values.size() <= 2 ? values : Values{};
    }
    if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumOperands() == 0 || op->getNumOperands() > 2 ||
        !isa<IntegerType, IndexType>(op->getResult(0).getType()))
      return {};
    SmallVector<Values, 2> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<IntegerType, IndexType>(operand.getType()))
        return {};
      operands.push_back(of(operand));
      if (operands.back().empty())
        return {};
    }
    Values values;
    for (const APInt &first : operands[0])
      for (const APInt &second : operands.size() == 2 ? operands[1] : Values{APInt(1, 0)}) {
        SmallVector<Attribute, 2> numbers = {IntegerAttr::get(op->getOperand(0).getType(), first)};
        if (operands.size() == 2)
          numbers.push_back(IntegerAttr::get(op->getOperand(1).getType(), second));
        SmallVector<OpFoldResult, 1> folded;
        if (failed(op->fold(numbers, folded)) || folded.size() != 1)
          return {};
        auto number = dyn_cast_or_null<IntegerAttr>(dyn_cast<Attribute>(folded[0]));
        if (!number)
          return {};
        add(values, number.getValue().zextOrTrunc(width(op->getResult(0).getType())));
      }
    return values.size() <= 2 ? values : Values{};
  }

  const DataFlowSolver &solver;
  llvm::DenseMap<Value, Values> known;
};

} // namespace

LogicalResult selectBitProducts(Operation *kernel) {
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(kernel)))
    return kernel->emitError("the ranges of its integers were not found");
  struct Product {
    arith::MulIOp op;
    unsigned place; // of the factor
    Values values;
  };
  PossibleValues possible(solver);
  SmallVector<Product> products;
  kernel->walk([&](arith::MulIOp op) {
    if (!op.getType().isIntOrIndex())
      return;
    for (unsigned place : {0, 1}) {
      Values values = possible.of(op->getOperand(place));
      if (values.size() == 2) {
        products.push_back({op, place, values});
        return;
      }
    }
  });
  OpBuilder builder(kernel->getContext());
  for (const Product &product : products) {
    arith::MulIOp op = product.op;
    builder.setInsertionPoint(op);
    Location loc = op.getLoc();
    Value factor = op->getOperand(product.place), other = op->getOperand(1 - product.place);
    auto constant = [&](const APInt &number) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(op.getType(), number));
    };
    auto times = [&](const APInt &number) -> Value {
      if (number.isZero())
        return constant(number);
      return number.isOne() ? other : builder.createOrFold<arith::MulIOp>(loc, other, constant(number));
    };
    Value isSecond =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, factor, constant(product.values.front()));
    Value second = times(product.values.back()), first = times(product.values.front());
    Value chosen = arith::SelectOp::create(builder, loc, isSecond, second, first);
    op.replaceAllUsesWith(chosen);
    op.erase();
  }
  return success();
}

} // namespace vx::vulkan
