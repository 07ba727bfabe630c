#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPECIALIZEDIMSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

struct SpecializeDimsPass : impl::SpecializeDimsPassBase<SpecializeDimsPass> {
  using SpecializeDimsPassBase::SpecializeDimsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (dims.empty())
      return;
    for (KernelOp kernel : module.getOps<KernelOp>()) {
      module.emitError() << "vx-specialize-dims expects a module without kernels, whose symbols have names of their "
                            "own, got '"
                         << kernel.getSymName() << "'; run it before the kernels are made";
      return signalPassFailure();
    }
    llvm::DenseMap<StringAttr, DimAttr> values;
    SmallVector<SymbolOp> declarations;
    for (const std::string &text : dims) {
      SymbolOp symbol = parse(module, text, values);
      if (!symbol)
        return signalPassFailure();
      declarations.push_back(symbol);
    }
    if (failed(substitute(module, values)))
      return signalPassFailure();
    for (SymbolOp symbol : declarations)
      symbol.erase();
  }

  /// The declaration that "name=value" is for, null after a diagnostic.
  SymbolOp parse(ModuleOp module, StringRef text, llvm::DenseMap<StringAttr, DimAttr> &values) {
    auto [name, number] = text.split('=');
    int64_t value;
    if (name.empty() || number.getAsInteger(10, value)) {
      module.emitError() << "vx-specialize-dims expects name=value, got '" << text << "'";
      return {};
    }
    SmallVector<StringRef> known;
    SymbolOp symbol;
    for (auto other : module.getOps<SymbolOp>()) {
      known.push_back(other.getName());
      if (other.getName() == name)
        symbol = other;
    }
    if (!symbol) {
      module.emitError() << "expected the name of a dimension symbol, got '" << name << "'; the module has "
                         << (known.empty() ? "none" : llvm::join(known, ", "));
      return {};
    }
    if (symbol.getDataDependent()) {
      symbol.emitError() << "symbol '" << name << "': expected no value, since the program computes it, got " << value;
      return {};
    }
    auto min = static_cast<int64_t>(symbol.getMin()), max = static_cast<int64_t>(symbol.getMax());
    auto multiple = static_cast<int64_t>(symbol.getMultiple());
    if (value < min || value > max) {
      symbol.emitError() << "symbol '" << name << "': expected a value from " << min << " to " << max << ", got "
                         << value;
      return {};
    }
    if (value % multiple != 0) {
      symbol.emitError() << "symbol '" << name << "': expected a multiple of " << multiple << ", got " << value;
      return {};
    }
    if (!values.try_emplace(symbol.getNameAttr(), DimAttr::constant(module.getContext(), value)).second) {
      module.emitError() << "symbol '" << name << "': expected one value, got two";
      return {};
    }
    return symbol;
  }

  LogicalResult substitute(ModuleOp module, const llvm::DenseMap<StringAttr, DimAttr> &values) {
    auto replace = [&](DimAttr dim) { return dim.substitute([&](StringAttr name) { return values.lookup(name); }); };
    // What an op wants of these sizes is said before types that contradict each other come of them.
    SymbolRanges ranges(module);
    WalkResult wanted = module.walk([&](ConstraintOp op) {
      Constraint constraint{op.getKind(), replace(op.getLhs()), replace(op.getRhs())};
      if (!isa<func::FuncOp>(op->getParentOp()) || decide(constraint, ranges) != false)
        return WalkResult::advance();
      op->emitError() << "needs " << op.getWant() << ", got " << constraint.lhs.str() << " and "
                      << constraint.rhs.str();
      return WalkResult::interrupt();
    });
    if (wanted.wasInterrupted())
      return failure();
    DimAttr negative, cause;
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](DimAttr dim) { return std::pair<Attribute, WalkResult>(replace(dim), WalkResult::skip()); });
    replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
      auto encoding = dyn_cast_or_null<EncodingAttr>(type.getEncoding());
      if (!encoding)
        return std::nullopt;
      SmallVector<DimAttr> sizes;
      for (DimAttr dim : encoding.getDims()) {
        sizes.push_back(replace(dim));
        if (sizes.back().asConstant() && *sizes.back().asConstant() < 0) {
          negative = sizes.back();
          cause = dim;
        }
      }
      return std::pair<Type, WalkResult>(getTensorType(sizes, type.getElementType()), WalkResult::skip());
    });
    WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
      if (!negative)
        return WalkResult::advance();
      op->emitError() << "dimension '" << cause.str() << "': expected a size of at least 0, got " << negative.str();
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
} // namespace vx
