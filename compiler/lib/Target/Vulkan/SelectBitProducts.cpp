// Products with a factor of 0 or 1. One of NVIDIA's drivers (580.159) computes the 64-bit product of such a factor
// wrongly, however the factor came about: x mod 2, x & 1, a loop's or a thread's number below 2. What it makes of a
// choice between the other factor and 0 is right.
#include "SPIRVPatterns.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace vx::vulkan {

static bool isBit(const DataFlowSolver &solver, Value value) {
  auto *lattice = solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
  return lattice && !lattice->getValue().isUninitialized() && lattice->getValue().getValue().umax().ule(1);
}

LogicalResult selectBitProducts(Operation *kernel) {
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(kernel)))
    return kernel->emitError("the ranges of its integers were not found");
  SmallVector<std::pair<arith::MulIOp, unsigned>> products; // with the place of the factor
  kernel->walk([&](arith::MulIOp product) {
    if (!product.getType().isIndex() && !product.getType().isInteger(64))
      return;
    for (unsigned place : {0, 1})
      if (isBit(solver, product->getOperand(place))) {
        products.emplace_back(product, place);
        return;
      }
  });
  OpBuilder builder(kernel->getContext());
  for (auto [product, place] : products) {
    builder.setInsertionPoint(product);
    Location loc = product.getLoc();
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(product.getType()));
    Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, product->getOperand(place), zero);
    Value chosen = arith::SelectOp::create(builder, loc, isSet, product->getOperand(1 - place), zero);
    product.replaceAllUsesWith(chosen);
    product.erase();
  }
  return success();
}

} // namespace vx::vulkan
