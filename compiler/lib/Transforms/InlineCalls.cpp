#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_INLINECALLSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The sizes of two types that `vx.call` takes for each other, one by one; those of a sequence's tensors too.
void visitDims(Type type, Type other, llvm::function_ref<void(DimAttr, DimAttr)> visit) {
  if (auto optional = dyn_cast<OptionalType>(type))
    return visitDims(optional.getValueType(), cast<OptionalType>(other).getValueType(), visit);
  if (auto sequence = dyn_cast<SequenceType>(type))
    return visitDims(sequence.getElementType(), cast<SequenceType>(other).getElementType(), visit);
  auto tensor = dyn_cast<RankedTensorType>(type), otherTensor = dyn_cast<RankedTensorType>(other);
  if (!tensor || !otherTensor)
    return;
  for (auto [dim, otherDim] : llvm::zip(getDims(tensor), getDims(otherTensor)))
    if (dim && otherDim)
      visit(dim, otherDim);
}

class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(visit(function)))
        return failure();
    for (func::FuncOp function : called)
      if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module))
        function.erase();
    return success();
  }

private:
  /// A function's own calls first, so that each of its copies has none.
  LogicalResult visit(func::FuncOp function) {
    if (!visited.insert(function).second)
      return success();
    active.push_back(function);
    llvm::scope_exit leave([&] { active.pop_back(); });
    SmallVector<CallOp> calls;
    function.walk([&](CallOp call) { calls.push_back(call); });
    for (CallOp call : calls) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (llvm::is_contained(active, callee))
        return call.emitError() << "expected functions without recursion, got '" << call.getCallee()
                                << "', which calls itself";
      if (failed(visit(callee)) || failed(inlineCall(call, callee)))
        return failure();
      called.insert(callee);
    }
    return success();
  }

  LogicalResult inlineCall(CallOp call, func::FuncOp callee) {
    SymbolMap symbols;
    bindInputs(call, callee, symbols);
    Block &body = callee.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getInputs());
    OpBuilder builder(call);
    constrain(builder, call, callee, symbols);
    cloneWithFreshSymbols(callee.getBody(), builder, call.getLoc(), mapping, symbols);
    SmallVector<Value> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(mapping.lookup(value));
    // A size that the call bound is what the function makes of it; another one was stated, and is wanted.
    SymbolMap bound;
    auto caller = call->getParentOfType<func::FuncOp>();
    SymbolRanges ranges(module);
    llvm::StringMap<Operation *> binders = findSymbolBinders(caller, ranges);
    for (auto [result, value] : llvm::zip(call.getResults(), results))
      visitDims(result.getType(), value.getType(), [&](DimAttr stated, DimAttr made) {
        StringAttr name = stated.asSymbol();
        if (name && binders.lookup(name.getValue()) == call && bound.try_emplace(name, made).second)
          return;
        want(builder, call, ranges, {ConstraintKind::equal, stated, made});
      });
    call.replaceAllUsesWith(results);
    call.erase();
    if (!bound.empty())
      replaceSymbols(caller, bound);
    return success();
  }

  /// The symbols of the function that its inputs bind become sizes of the operands.
  static void bindInputs(CallOp call, func::FuncOp callee, SymbolMap &symbols) {
    for (auto [want, given] : llvm::zip(callee.getArgumentTypes(), call.getInputs().getTypes()))
      visitDims(want, given, [&](DimAttr dim, DimAttr size) {
        if (StringAttr name = dim.asSymbol())
          symbols.try_emplace(name, size);
      });
  }

  /// What the function's types and the declarations of its symbols want of the operands' sizes.
  void constrain(OpBuilder &builder, CallOp call, func::FuncOp callee, const SymbolMap &symbols) {
    SymbolRanges ranges(module);
    for (auto [want, given] : llvm::zip(callee.getArgumentTypes(), call.getInputs().getTypes()))
      visitDims(want, given, [&](DimAttr dim, DimAttr size) {
        DimAttr wanted = dim.substitute([&](StringAttr name) { return symbols.lookup(name); });
        this->want(builder, call, ranges, {ConstraintKind::equal, size, wanted});
      });
    SmallVector<std::pair<StringAttr, DimAttr>> sizes(symbols.begin(), symbols.end());
    llvm::sort(sizes, [](const auto &a, const auto &b) { return a.first.getValue() < b.first.getValue(); });
    MLIRContext *context = module.getContext();
    for (auto [name, size] : sizes) {
      SymbolRange range = ranges.lookup(name);
      want(builder, call, ranges, {ConstraintKind::at_least, size, DimAttr::constant(context, range.min)});
      if (range.max != INT64_MAX)
        want(builder, call, ranges, {ConstraintKind::at_least, DimAttr::constant(context, range.max), size});
      if (range.multiple != 1)
        want(builder, call, ranges, {ConstraintKind::multiple, size, DimAttr::constant(context, range.multiple)});
    }
  }

  static void want(OpBuilder &builder, CallOp call, const SymbolRanges &ranges, const Constraint &constraint) {
    if (constraint.lhs != constraint.rhs && decide(constraint, ranges) != true)
      ConstraintOp::create(builder, call.getLoc(), constraint.kind, constraint.lhs, constraint.rhs,
                           describeWant(constraint));
  }

  ModuleOp module;
  llvm::DenseSet<func::FuncOp> visited;
  llvm::SetVector<func::FuncOp> called;
  SmallVector<func::FuncOp> active;
};

struct InlineCallsPass : impl::InlineCallsPassBase<InlineCallsPass> {
  void runOnOperation() override {
    if (failed(Inliner(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx
