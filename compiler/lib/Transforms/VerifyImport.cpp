// vx-verify-import: what holds after the `import` phase.
#include "GraphChecks.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Reference/HostTensor.h"
#include "vx/Transforms/Passes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYIMPORTPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

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

/// The import phase's C5.
LogicalResult checkCounts(Operation *op) {
  return checkValues(op, [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    int64_t bytes = 8; // of the widest element
    for (int64_t size : tensor ? tensor.getShape() : ArrayRef<int64_t>())
      if (size > 0 && llvm::MulOverflow(bytes, size, bytes))
        return op->emitError() << "'" << op->getName() << "': expected values of fewer than 2^64 bytes, got " << type;
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

struct VerifyImportPass : impl::VerifyImportPassBase<VerifyImportPass> {
  using VerifyImportPassBase::VerifyImportPassBase;

  void runOnOperation() override {
    Declarations declarations = getDeclarations(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (failed(checkKind(op, "import")) || failed(checkSymbols(op, declarations)))
        return WalkResult::interrupt();
      bool computes = op->getParentOfType<func::FuncOp>() && !op->hasTrait<mlir::OpTrait::IsTerminator>();
      if (computes && getSourceNodes(op->getLoc()).empty()) { // C3
        op->emitError() << "'" << op->getName() << "': expected a location that names a source, got none";
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

} // namespace
} // namespace vx
