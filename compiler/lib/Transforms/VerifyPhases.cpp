// What holds after the `import` and the `graph` phase, as checks.
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Reference/HostTensor.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYIMPORTPASS
#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

using Declarations = llvm::StringMap<SymbolOp>;

Declarations getDeclarations(ModuleOp module) {
  Declarations declarations;
  for (auto symbol : module.getOps<SymbolOp>())
    declarations[symbol.getName()] = symbol;
  return declarations;
}

/// Both phases' C1.
LogicalResult checkKind(Operation *op, StringRef phase) {
  bool isKnown = isa<func::FuncOp, func::ReturnOp>(op) || isa_and_present<VXDialect>(op->getDialect()) ||
                 (isa<ModuleOp>(op) && !op->getParentOp());
  if (!isKnown || isa<FusionOp, KernelOp, DispatchOp>(op))
    return op->emitError() << "'" << op->getName() << "' does not belong to the '" << phase << "' phase";
  auto function = dyn_cast<func::FuncOp>(op);
  if (function &&
      (!function.getBody().hasOneBlock() || !isa<func::ReturnOp>(function.getBody().front().getTerminator())))
    return op->emitError() << "expects function '" << function.getName()
                           << "' to have a body of one block that ends with 'func.return'";
  return success();
}

/// Both phases' C2.
LogicalResult checkSymbols(Operation *op, const Declarations &declarations) {
  SetVector<StringAttr> names;
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    dim.collectSymbols(names);
    return WalkResult::skip();
  });
  walker.walk(op->getAttrDictionary());
  for (Type type : op->getResultTypes())
    walker.walk(type);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        walker.walk(type);
  for (StringAttr name : names)
    if (!declarations.contains(name.getValue()))
      return op->emitError() << "dimension symbol '" << name.getValue() << "' is not declared by a 'vx.symbol'";
  if (auto bind = dyn_cast<BindSymbolOp>(op)) {
    SymbolOp symbol = declarations.lookup(bind.getSymbol());
    if (!symbol || !symbol.getDataDependent())
      return op->emitOpError() << "expects the symbol '" << bind.getSymbol() << "' to be declared as data-dependent";
  }
  return success();
}

/// What a call can hand over: of a known element type, and stored as we store it.
bool isCallValue(Type type) {
  if (auto optional = dyn_cast<OptionalType>(type))
    return isCallValue(optional.getValueType());
  auto sequence = dyn_cast<SequenceType>(type);
  if (!sequence && !isa<RankedTensorType>(type))
    return false;
  TensorType tensor = sequence ? sequence.getElementType() : cast<TensorType>(type);
  auto ranked = dyn_cast<RankedTensorType>(tensor);
  if (ranked && ranked.getEncoding() && !isa<EncodingAttr>(ranked.getEncoding()))
    return false;
  return isa<StringType>(tensor.getElementType()) || reference::getElementType(tensor.getElementType());
}

/// The import phase's C4, of the inputs or the results.
LogicalResult checkSignature(func::FuncOp function, StringRef what, TypeRange types,
                             function_ref<DictionaryAttr(unsigned)> attributesOf) {
  llvm::StringSet<> names;
  for (auto [index, type] : llvm::enumerate(types)) {
    if (!isCallValue(type))
      return function.emitError() << "expects a tensor, a sequence or an optional as " << what << " " << index
                                  << " of function '" << function.getName() << "', got " << type;
    DictionaryAttr attributes = attributesOf(index);
    Attribute given = attributes ? attributes.get("vx.name") : Attribute();
    if (given && !isa<StringAttr>(given))
      return function.emitError() << "expects a string as the name of " << what << " " << index << " of function '"
                                  << function.getName() << "', got " << given;
    std::string name = given ? cast<StringAttr>(given).getValue().str() : std::to_string(index);
    if (name.empty() || !names.insert(name).second)
      return function.emitError() << "expects another name for each " << what << " of function '" << function.getName()
                                  << "', got '" << name << "' for number " << index;
  }
  return success();
}

/// The import phase's C4.
LogicalResult checkFunction(func::FuncOp function) {
  if (function.getName().empty())
    return function.emitError() << "expects a function to have a name, got ''";
  if (failed(checkSignature(function, "input", function.getArgumentTypes(),
                            [&](unsigned i) { return function.getArgAttrDict(i); })))
    return failure();
  return checkSignature(function, "result", function.getResultTypes(),
                        [&](unsigned i) { return function.getResultAttrDict(i); });
}

/// Calls `check` for each value that `op` makes, region arguments included.
LogicalResult checkValues(Operation *op, function_ref<LogicalResult(Type)> check) {
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (failed(check(type)))
          return failure();
  return success();
}

/// The import phase's C5.
LogicalResult checkCounts(Operation *op) {
  return checkValues(op, [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    int64_t bytes = 8; // of the widest element
    for (int64_t size : tensor ? tensor.getShape() : ArrayRef<int64_t>())
      if (size > 0 && llvm::MulOverflow(bytes, size, bytes))
        return op->emitError() << "'" << op->getName() << "' has a value of more bytes than 64 bits count: " << type;
    return success();
  });
}

/// The import phase's C6.
LogicalResult checkValue(Operation *op) {
  ElementsAttr value;
  if (auto constant = dyn_cast<ConstantOp>(op))
    value = constant.getValue();
  else if (auto variable = dyn_cast<VariableOp>(op); variable && variable.getInitial())
    value = *variable.getInitial();
  if (!value || isa<StringType>(value.getElementType())) // whether it takes strings is for the target to say
    return success();
  if (llvm::Error error = reference::checkConstant(value))
    return op->emitOpError() << llvm::toString(std::move(error));
  return success();
}

/// The graph phase's C3.
LogicalResult checkSizes(Operation *op) {
  return checkValues(op, [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !llvm::is_contained(getDims(tensor), DimAttr()))
      return success();
    return op->emitError() << "'" << op->getName() << "' of " << describeSource(op->getLoc())
                           << " has a value of unknown size, want an expression for each dimension: " << type;
  });
}

/// The graph phase's C4.
LogicalResult checkBindings(func::FuncOp function, const Declarations &declarations) {
  SetVector<StringAttr> bound, used;
  for (Type type : function.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(tensor))
        if (dim && dim.asSymbol())
          bound.insert(dim.asSymbol());
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    dim.collectSymbols(used);
    return WalkResult::skip();
  });
  function->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
  });
  for (StringAttr name : used) {
    SymbolOp symbol = declarations.lookup(name.getValue());
    if (symbol && !symbol.getDataDependent() && !bound.contains(name))
      return function.emitError() << "no input of '" << function.getName() << "' has the size '" << name.getValue()
                                  << "', so that a call does not bind it";
  }
  return success();
}

struct VerifyImportPass : impl::VerifyImportPassBase<VerifyImportPass> {
  using VerifyImportPassBase::VerifyImportPassBase;

  void runOnOperation() override {
    Declarations declarations = getDeclarations(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (failed(checkKind(op, "import")) || failed(checkSymbols(op, declarations)))
        return WalkResult::interrupt();
      bool computes = op->getParentOfType<func::FuncOp>() && !op->hasTrait<mlir::OpTrait::IsTerminator>();
      if (computes && getSourceNodes(op->getLoc()).empty()) { // C3
        op->emitError() << "'" << op->getName() << "' has a location that names no source";
        return WalkResult::interrupt();
      }
      auto function = dyn_cast<func::FuncOp>(op);
      return WalkResult(
          failure((function && failed(checkFunction(function))) || failed(checkCounts(op)) || failed(checkValue(op))));
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

struct VerifyGraphPass : impl::VerifyGraphPassBase<VerifyGraphPass> {
  using VerifyGraphPassBase::VerifyGraphPassBase;

  void runOnOperation() override {
    Declarations declarations = getDeclarations(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) {
      return WalkResult(success(succeeded(checkKind(op, "graph")) && succeeded(checkSymbols(op, declarations)) &&
                                succeeded(checkSizes(op))));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkBindings(function, declarations)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace vx
