#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"

#include "vx/Dialect/VX/IR/Constraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace vx {

void declareAnew(ModuleOp module, ArrayRef<StringAttr> names, SymbolMap &symbols) {
  llvm::StringMap<SymbolOp> declarations;
  for (auto symbol : module.getOps<SymbolOp>())
    declarations[symbol.getName()] = symbol;
  for (StringAttr name : names) {
    SymbolOp symbol = declarations.lookup(name.getValue());
    if (!symbol || symbols.contains(name))
      continue;
    std::string fresh;
    for (unsigned number = 1; fresh.empty() || declarations.contains(fresh); ++number)
      fresh = (name.getValue() + "_" + Twine(number)).str();
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(symbol);
    auto copy = cast<SymbolOp>(builder.clone(*symbol));
    copy.setName(fresh);
    declarations[fresh] = copy;
    symbols[name] = DimAttr::symbolNamed(module.getContext(), fresh);
  }
}

DimAttr declareDataDependent(ModuleOp module, StringRef name) {
  llvm::StringSet<> taken;
  for (auto symbol : module.getOps<SymbolOp>())
    taken.insert(symbol.getName());
  std::string fresh = name.str();
  for (unsigned number = 1; taken.contains(fresh); ++number)
    fresh = (name + "_" + Twine(number)).str();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SymbolOp::create(builder, module.getLoc(), fresh, 0, INT64_MAX, 1, /*data_dependent=*/true, /*instance=*/false);
  return DimAttr::symbolNamed(module.getContext(), fresh);
}

void replaceSymbols(Operation *root, const SymbolMap &symbols) {
  auto replace = [&](DimAttr dim) { return dim.substitute([&](StringAttr name) { return symbols.lookup(name); }); };
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](DimAttr dim) { return std::pair<Attribute, WalkResult>(replace(dim), WalkResult::skip()); });
  // A size that becomes a number is one of the type's shape.
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    auto encoding = dyn_cast_or_null<EncodingAttr>(type.getEncoding());
    if (!encoding)
      return std::nullopt;
    SmallVector<DimAttr> sizes;
    for (DimAttr dim : getDims(type))
      sizes.push_back(dim ? replace(dim) : dim);
    return std::pair<Type, WalkResult>(getTensorType(sizes, type.getElementType()), WalkResult::skip());
  });
  auto rename = [&](StringAttr name) {
    DimAttr fresh = symbols.lookup(name);
    return fresh && fresh.asSymbol() ? fresh.asSymbol() : name;
  };
  root->walk([&](Operation *op) {
    // What a constraint wants is told of the sizes that it is about now.
    auto constraint = dyn_cast<ConstraintOp>(op);
    bool isTold = constraint && constraint.getWant() ==
                                    describeWant({constraint.getKind(), constraint.getLhs(), constraint.getRhs()});
    replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    if (isTold)
      constraint.setWant(describeWant({constraint.getKind(), constraint.getLhs(), constraint.getRhs()}));
    if (auto bind = dyn_cast<BindSymbolOp>(op))
      bind.setSymbolAttr(rename(bind.getSymbolAttr()));
    if (auto loop = dyn_cast<LoopOp>(op))
      loop.setIterationAttr(rename(loop.getIterationAttr()));
  });
}

void cloneWithFreshSymbols(Region &source, OpBuilder &builder, Location location, IRMapping &mapping,
                           SymbolMap &symbols) {
  auto module = source.getParentOfType<ModuleOp>();
  auto function = dyn_cast<func::FuncOp>(source.getParentOp());
  if (!function)
    function = source.getParentOfType<func::FuncOp>();
  SetVector<StringAttr> bound;
  for (auto &[name, op] : findSymbolBinders(function, SymbolRanges(module)))
    if (source.isAncestor(op->getParentRegion()))
      bound.insert(StringAttr::get(module.getContext(), name));
  SmallVector<StringAttr> names(bound.begin(), bound.end());
  llvm::sort(names, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  declareAnew(module, names, symbols);
  for (Operation &op : source.front().without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    replaceSymbols(copy, symbols);
    copy->walk([&](Operation *inner) { inner->setLoc(CallSiteLoc::get(inner->getLoc(), location)); });
  }
}

} // namespace vx
