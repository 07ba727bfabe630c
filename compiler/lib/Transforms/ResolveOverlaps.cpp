// Makes one variable of those that share bytes, where the order of their accesses decides what is there.
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_RESOLVEOVERLAPSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

class OverlapResolver {
public:
  OverlapResolver(ModuleOp module, StringAttr storage)
      : pool(module.lookupSymbol<VariableOp>(storage)), type(cast<RankedTensorType>(pool.getType())) {}

  /// A load of a member is one of a part of the pool; a store of it is one of the pool with that part replaced.
  bool resolve(Operation *access) {
    auto member = SymbolTable::lookupNearestSymbolFrom<VariableOp>(access, getAccessedVariable(access));
    if (member == pool)
      return true;
    OpBuilder builder(access);
    GraphBuilder graph(builder, access->getLoc());
    VariablePlace place = getPlace(member);
    int64_t elements = cast<RankedTensorType>(member.getType()).getNumElements();
    // Offsets are multiples of many bytes, which elements of any width fill.
    int64_t bits = type.getElementType().isInteger(1) ? 8 : type.getElementTypeBitWidth();
    int64_t start = place.offset * 8 / bits;
    if (auto load = dyn_cast<VariableLoadOp>(access)) {
      Value part = elements == type.getNumElements()
                       ? loadPool(graph)
                       : graph.slice(loadPool(graph), {graph.dim(start)}, {graph.dim(elements)}, {1});
      Value value = graph.reshape(part, getDims(load.getResult().getType()));
      if (!value)
        return false;
      load.getResult().replaceAllUsesWith(value);
    } else {
      auto store = cast<VariableStoreOp>(access);
      Value flat = graph.reshape(store.getValue(), {graph.dim(elements)});
      auto startType = RankedTensorType::get({1}, builder.getI64Type());
      Value at = graph.emitConstant(DenseElementsAttr::get(startType, start));
      Value whole = graph.emit<UpdateSliceOp>(loadPool(graph), at, flat, builder.getDenseI64ArrayAttr({0}));
      if (!whole)
        return false;
      VariableStoreOp::create(builder, store.getLoc(), whole, FlatSymbolRefAttr::get(pool.getSymNameAttr()));
    }
    access->erase();
    return true;
  }

private:
  Value loadPool(GraphBuilder &graph) {
    return graph.emitAs<VariableLoadOp>(type, FlatSymbolRefAttr::get(pool.getSymNameAttr()));
  }

  VariableOp pool;
  RankedTensorType type;
};

struct ResolveOverlapsPass : impl::ResolveOverlapsPassBase<ResolveOverlapsPass> {
  void runOnOperation() override {
    VariablePlaces places(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (OverlappingAccess overlap : findOverlappingAccesses(function, places)) {
        StringAttr storage = places.lookup(getAccessedVariable(overlap.store)).storage;
        SmallVector<Operation *> accesses;
        function.walk([&](Operation *op) {
          if (StringAttr variable = getAccessedVariable(op); variable && places.lookup(variable).storage == storage)
            accesses.push_back(op);
        });
        OverlapResolver resolver(getOperation(), storage);
        for (Operation *access : accesses)
          if (!resolver.resolve(access))
            return signalPassFailure();
      }
  }
};

} // namespace
} // namespace vx
