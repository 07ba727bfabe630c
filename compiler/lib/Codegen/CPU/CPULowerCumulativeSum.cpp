#include "Common/ElementEvaluator.h"
#include "Common/WorkgroupTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CPULOWERCUMULATIVESUMPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

/// Goes along the middle dimension with the sums so far in a register: one, or a vector of neighbours of the last
/// dimension.
class CumulativeSumEmitter {
public:
  CumulativeSumEmitter(vxk::CumulativeSumOp op, ArrayRef<int64_t> tiles, int64_t lanes)
      : op(op), tiles(tiles), lanes(lanes), builder(op), loc(op.getLoc()) {}

  LogicalResult run() {
    auto type = cast<MemRefType>(op.getSums().getType());
    while (lanes > 1 && !type.isDynamicDim(2) && type.getDimSize(2) <= lanes / 2)
      lanes /= 2;
    Value number = enterWorkgroup(builder, loc);
    evaluator.emplace(builder, lanes);
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < 3; ++d)
      sizes.push_back(evaluator->sizeOf(op.getSums(), d));
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, tiles);
    scf::ForOp outer = evaluator->enterLoop(loc, tile.lower[0], tile.upper[0], index(1));
    scf::ForOp inner = evaluator->enterLoop(loc, tile.lower[2], tile.upper[2], index(lanes));
    if (failed(emitLine(outer.getInductionVar(), inner.getInductionVar(), sizes[1], tile.upper[2])))
      return failure();
    evaluator->leaveLoop();
    evaluator->leaveLoop();
    op.erase();
    return success();
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  LogicalResult emitLine(Value outer, Value inner, Value length, Value end) {
    Type element = cast<MemRefType>(op.getSums().getType()).getElementType();
    Type wide = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32 ? builder.getF32Type() : element;
    auto asLanes = [&](Type type) -> Type { return lanes > 1 ? VectorType::get(lanes, type) : type; };
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(asLanes(wide))), mask;
    if (lanes > 1) {
      Value left = arith::SubIOp::create(builder, loc, end, inner);
      mask = vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left);
    }
    scf::ForOp loop = evaluator->enterLoop(loc, index(0), length, index(1), zero);
    Value place = loop.getInductionVar(), before = loop.getRegionIterArg(0);
    if (op.getReverse()) {
      Value last = arith::SubIOp::create(builder, loc, length, index(1));
      place = arith::SubIOp::create(builder, loc, last, place);
    }
    evaluator->setMask(mask);
    Value added = evaluator->evaluate(op.getInput(), {{outer, 0, {}}, {place, 0, {}}, {inner, lanes > 1 ? 1 : 0, {}}});
    evaluator->setMask({});
    if (!added)
      return failure();
    if (lanes > 1)
      added = evaluator->toVector(loc, added);
    if (wide != element)
      added = arith::ExtFOp::create(builder, loc, asLanes(wide), added);
    Value sum = isa<FloatType>(wide) ? Value(arith::AddFOp::create(builder, loc, before, added))
                                     : Value(arith::AddIOp::create(builder, loc, before, added));
    Value result = op.getExclusive() ? before : sum;
    if (wide != element)
      result = arith::TruncFOp::create(builder, loc, asLanes(element), result);
    SmallVector<Value> at = {outer, place, inner};
    if (lanes > 1)
      vector::MaskedStoreOp::create(builder, loc, op.getSums(), at, mask, result);
    else
      memref::StoreOp::create(builder, loc, result, op.getSums(), at);
    evaluator->leaveLoop(sum);
    return success();
  }

  vxk::CumulativeSumOp op;
  ArrayRef<int64_t> tiles;
  int64_t lanes;
  OpBuilder builder;
  Location loc;
  std::optional<ElementEvaluator> evaluator;
};

struct CPULowerCumulativeSum : impl::CPULowerCumulativeSumPassBase<CPULowerCumulativeSum> {
  using CPULowerCumulativeSumPassBase::CPULowerCumulativeSumPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<vxk::CumulativeSumOp> found(function.getOps<vxk::CumulativeSumOp>());
    for (vxk::CumulativeSumOp op : found) {
      auto strategy = function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr);
      if (failed(CumulativeSumEmitter(op, strategy.getWorkgroupTile(), vectorBits / 32).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace vx
