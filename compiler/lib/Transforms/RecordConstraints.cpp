#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_RECORDCONSTRAINTSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

using Key = std::tuple<ConstraintKind, DimAttr, DimAttr>;

class Recorder {
public:
  Recorder(func::FuncOp function, const SymbolRanges &ranges)
      : function(function), ranges(ranges), binders(findSymbolBinders(function, ranges)) {}

  LogicalResult run() { return visit(function.getBody().front(), /*isOwnBlock=*/true); }

private:
  LogicalResult visit(Block &block, bool isOwnBlock) {
    size_t mark = stated.size();
    llvm::scope_exit leave([&] {
      for (const Key &key : llvm::drop_begin(stated, mark))
        known.erase(key);
      stated.truncate(mark);
    });
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto constraint = dyn_cast<ConstraintOp>(op)) {
        if (failed(visitStated(constraint, isOwnBlock)))
          return failure();
        continue;
      }
      if (failed(visitOp(&op, isOwnBlock)))
        return failure();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(visit(inner, /*isOwnBlock=*/false)))
            return failure();
    }
    return success();
  }

  /// A constraint that stands there already: by a frontend, or since before some symbols got values.
  LogicalResult visitStated(ConstraintOp op, bool isOwnBlock) {
    Constraint constraint{op.getKind(), op.getLhs(), op.getRhs()};
    std::optional<bool> isTrue = isDecided(constraint);
    if (isTrue == false && isOwnBlock)
      return report(op, op.getWant(), constraint);
    if (isTrue == true || !state(constraint))
      op.erase();
    else if (auto loop = dyn_cast<LoopOp>(op->getParentOp()); loop && isOfCarried(loop, constraint))
      op->moveBefore(loop);
    return success();
  }

  LogicalResult visitOp(Operation *op, bool isOwnBlock) {
    if (!isa_and_present<VXDialect>(op->getDialect()))
      return success();
    LogicalResult result = success();
    auto loop = dyn_cast<LoopOp>(op->getParentOp());
    collectConstraints(op, binders, [&](const Constraint &constraint) {
      std::optional<bool> isTrue = isDecided(constraint);
      if (isTrue == true || failed(result))
        return;
      if (isTrue == false && isOwnBlock) {
        result = report(op, describeWant(constraint), constraint);
        return;
      }
      if (!state(constraint))
        return;
      OpBuilder builder(loop && isOfCarried(loop, constraint) ? loop.getOperation() : op);
      ConstraintOp::create(builder, op->getLoc(), constraint.kind, constraint.lhs, constraint.rhs,
                           describeWant(constraint));
    });
    return result;
  }

  /// Whether a loop relies on the constraint for what it carries, which has its size before the first iteration: the
  /// memory for it is made there. Not where a size is bound in the loop.
  bool isOfCarried(LoopOp loop, const Constraint &constraint) const {
    auto isCarried = [&](DimAttr dim) {
      return llvm::any_of(loop.getBody().getArgumentTypes(), [&](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && llvm::is_contained(getDims(tensor), dim);
      });
    };
    if (constraint.kind != ConstraintKind::equal || (!isCarried(constraint.lhs) && !isCarried(constraint.rhs)))
      return false;
    SetVector<StringAttr> symbols;
    constraint.lhs.collectSymbols(symbols);
    constraint.rhs.collectSymbols(symbols);
    return llvm::none_of(symbols, [&](StringAttr symbol) {
      Operation *binder = binders.lookup(symbol.getValue());
      return binder && loop->isAncestor(binder);
    });
  }

  /// Proofs are looked for once: the layers of a model want the same things.
  std::optional<bool> isDecided(const Constraint &constraint) {
    auto [it, isNew] = decided.try_emplace(Key{constraint.kind, constraint.lhs, constraint.rhs});
    if (isNew)
      it->second = decide(constraint, ranges);
    return it->second;
  }

  /// False when that was stated before, here or around this region.
  bool state(const Constraint &constraint) {
    Key key{constraint.kind, constraint.lhs, constraint.rhs};
    bool isNew = known.insert(key).second;
    if (isNew)
      stated.push_back(key);
    return isNew;
  }

  static LogicalResult report(Operation *op, StringRef want, const Constraint &constraint) {
    return op->emitError() << "needs " << want << ", got " << constraint.lhs.str() << " and " << constraint.rhs.str();
  }

  func::FuncOp function;
  const SymbolRanges &ranges;
  llvm::StringMap<Operation *> binders;
  llvm::DenseMap<Key, std::optional<bool>> decided;
  llvm::DenseSet<Key> known;
  SmallVector<Key> stated;
};

struct RecordConstraintsPass : impl::RecordConstraintsPassBase<RecordConstraintsPass> {
  using RecordConstraintsPassBase::RecordConstraintsPassBase;

  void runOnOperation() override {
    SymbolRanges ranges(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      // What nothing reads wants nothing.
      function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
        if (isa_and_present<VXDialect>(op->getDialect()) && isOpTriviallyDead(op))
          op->erase();
      });
      if (failed(Recorder(function, ranges).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace vx
