#include "../Common/ElementEvaluator.h"
#include "../Common/IndexFacts.h"
#include "../Common/WorkgroupTile.h"
#include "Common/DeclineStrategy.h"
#include "EraseTensorOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERELEMENTWISEPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;
using bufferization::MaterializeInDestinationOp;

namespace vx {
namespace {

class ElementwiseEmitter {
public:
  ElementwiseEmitter(func::FuncOp function, ElementwiseAttr strategy)
      : function(function), strategy(strategy), builder(function.getContext()), loc(function.getLoc()) {}

  /// True when the kernel has been lowered, false when its form is another one.
  FailureOr<bool> run() {
    results.assign(function.getOps<MaterializeInDestinationOp>().begin(),
                   function.getOps<MaterializeInDestinationOp>().end());
    if (results.empty())
      return false;
    auto type = cast<RankedTensorType>(results.front().getSource().getType());
    for (MaterializeInDestinationOp result : results)
      if (cast<RankedTensorType>(result.getSource().getType()).getShape() != type.getShape())
        return decline("its results have different sizes");
    tiles = strategy.getTile();
    lanes = strategy.getLanes();
    if (static_cast<int64_t>(tiles.size()) != type.getRank() || type.getRank() == 0)
      return function.emitError() << "of " << describeSource(loc) << " expects a strategy that fits its result: a "
                                  << "tile size for each of " << type.getRank() << " dimensions, 1 or more, got "
                                  << strategy;
    if (failed(emit()))
      return failure();
    for (MaterializeInDestinationOp result : results)
      result.erase();
    return true;
  }

private:
  bool decline(StringRef reason) {
    declineStrategy(function.getLoc(), strategy, reason);
    return false;
  }

  Value index(int64_t value) { return evaluator->constantIndex(value).base; }
  Value plus(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }

  LogicalResult emit() {
    builder.setInsertionPoint(results.back());
    Value number = enterWorkgroup(builder, loc);
    ElementEvaluator elements(builder, /*lanes=*/1);
    evaluator = &elements;
    SmallVector<Value> sizes;
    for (size_t d = 0; d < tiles.size(); ++d)
      sizes.push_back(evaluator->sizeOf(results.front().getDest(), static_cast<int64_t>(d)));
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, tiles);
    Value thread = vxk::ThreadIdOp::create(builder, loc);
    int64_t elementsOfTile = 1, threads = strategy.getThreads();
    for (int64_t size : tiles)
      elementsOfTile *= size;
    for (int64_t first = 0; first < elementsOfTile; first += threads * lanes) {
      Value flat = plus(builder.createOrFold<arith::MulIOp>(loc, thread, index(lanes)), index(first));
      Value isInside;
      auto require = [&](Value condition) {
        isInside = isInside ? Value(arith::AndIOp::create(builder, loc, isInside, condition)) : condition;
      };
      if (first + threads * lanes > elementsOfTile)
        require(compare(arith::CmpIPredicate::ult, flat, index(elementsOfTile)));
      SmallVector<Value> at(tiles.size());
      for (size_t d = tiles.size(); d-- > 0;) {
        Value place = flat;
        if (d > 0) {
          place = builder.createOrFold<arith::RemUIOp>(loc, flat, index(tiles[d]));
          flat = builder.createOrFold<arith::DivUIOp>(loc, flat, index(tiles[d]));
        }
        at[d] = plus(tile.lower[d], place);
        if (tiles[d] != 1 && !isMultipleOf(sizes[d], tiles[d]))
          require(compare(arith::CmpIPredicate::ult, at[d], sizes[d]));
      }
      if (isInside)
        evaluator->enterIf(loc, isInside);
      if (failed(emitGroup(at, sizes.back())))
        return failure();
      if (isInside)
        evaluator->leaveIf();
    }
    return success();
  }

  /// The neighbours along the last dimension that begin at `at`, which is inside of the result.
  LogicalResult emitGroup(ArrayRef<Value> at, Value size) {
    if (isMultipleOf(size, lanes))
      return emitElements(at, lanes);
    Value end = plus(at.back(), index(lanes));
    evaluator->enterIf(loc, compare(arith::CmpIPredicate::ule, end, size));
    if (failed(emitElements(at, lanes)))
      return failure();
    evaluator->leaveIf();
    // Behind the last whole group, one by one.
    evaluator->enterIf(loc, compare(arith::CmpIPredicate::ugt, end, size));
    scf::ForOp rest = evaluator->enterLoop(loc, at.back(), size, index(1));
    SmallVector<Value> one(at);
    one.back() = rest.getInductionVar();
    if (failed(emitElements(one, 1)))
      return failure();
    evaluator->leaveLoop();
    evaluator->leaveIf();
    return success();
  }

  /// Computes all of the neighbours before it stores the first one: they may read where it is stored.
  LogicalResult emitElements(ArrayRef<Value> first, int64_t count) {
    SmallVector<SmallVector<Value>> places, values(results.size());
    for (int64_t lane = 0; lane < count; ++lane) {
      SmallVector<Value> &at = places.emplace_back(first);
      at.back() = plus(at.back(), index(lane));
      SmallVector<LaneIndex> indices;
      for (Value place : at)
        indices.push_back({place, 0, {}});
      for (auto [result, list] : llvm::zip(results, values)) {
        list.push_back(evaluator->evaluate(result.getSource(), indices));
        if (!list.back())
          return failure();
      }
    }
    for (auto [result, list] : llvm::zip(results, values))
      for (auto [value, at] : llvm::zip(list, places))
        memref::StoreOp::create(builder, result.getLoc(), value, result.getDest(), at);
    return success();
  }

  func::FuncOp function;
  ElementwiseAttr strategy;
  OpBuilder builder;
  Location loc;
  SmallVector<MaterializeInDestinationOp> results;
  ArrayRef<int64_t> tiles;
  int64_t lanes = 1;
  ElementEvaluator *evaluator = nullptr;
};

struct GPULowerElementwise : impl::GPULowerElementwisePassBase<GPULowerElementwise> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<ElementwiseAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    FailureOr<bool> lowered = ElementwiseEmitter(function, strategy).run();
    if (failed(lowered))
      return signalPassFailure();
    if (!*lowered)
      return;
    eraseTensorOps(function);
  }
};

} // namespace
} // namespace vx
