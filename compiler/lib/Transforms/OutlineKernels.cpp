// Outlines fusion regions into kernels, equal ones once.

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// Symbols in the order in which the region names them: arguments first, then op by op.
SetVector<StringAttr> collectSymbols(Region &region) {
  SetVector<StringAttr> symbols;
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    dim.collectSymbols(symbols);
    return WalkResult::skip();
  });
  // The walker remembers what it has seen; symbols are a set, so nothing is lost by that.
  for (BlockArgument argument : region.front().getArguments())
    walker.walk(argument.getType());
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrDictionary())
      walker.walk(attribute.getValue());
    for (Type type : op->getResultTypes())
      walker.walk(type);
  });
  return symbols;
}

/// A name a person recognises: the first ops in order, e.g. conv_add_max.
std::string getReadableName(Block &body) {
  SmallVector<StringRef> names;
  for (Operation &op : body.without_terminator()) {
    StringRef name = op.getName().stripDialect();
    if (getRole(&op) == Role::Host || isa<BroadcastOp>(op) || (!names.empty() && names.back() == name))
      continue;
    names.push_back(name);
    if (names.size() == 4)
      break;
  }
  if (names.empty())
    return body.without_terminator().empty() ? "copy" : body.front().getName().stripDialect().str();
  return llvm::join(names, "_");
}

/// Operands whose elements meet those of all results one to one, on every path from operand to result.
SmallVector<InPlacePair> findInPlacePairs(Block &body) {
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<InPlacePair> pairs;
  llvm::DenseSet<Operation *> identity; // ops that lead to the results element for element
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (op.hasTrait<OpTrait::Elementwise>() &&
        llvm::all_of(op.getUsers(), [&](Operation *user) { return user == yield || identity.contains(user); }))
      identity.insert(&op);
  for (BlockArgument argument : body.getArguments()) {
    if (argument.use_empty() ||
        !llvm::all_of(argument.getUsers(), [&](Operation *user) { return identity.contains(user); }))
      continue;
    for (auto [number, result] : llvm::enumerate(yield.getValues()))
      if (result.getType() == argument.getType())
        pairs.push_back({argument.getArgNumber(), static_cast<int64_t>(number)});
  }
  return pairs;
}

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    llvm::StringMap<KernelOp> kernels;
    llvm::StringMap<unsigned> nameCounts;
    SmallVector<FusionOp> fusions;
    module.walk([&](FusionOp fusion) { fusions.push_back(fusion); });
    OpBuilder builder(context);
    SymbolRanges declared(module);
    for (FusionOp fusion : fusions) {
      SetVector<StringAttr> symbols = collectSymbols(fusion.getBody());
      SmallVector<Attribute> names, values;
      llvm::DenseMap<StringAttr, DimAttr> renamed;
      SmallVector<int64_t> ranges;
      bool isRangeKnown = false;
      for (auto [index, symbol] : llvm::enumerate(symbols)) {
        SymbolRange range = declared.lookup(symbol);
        ranges.append({range.min, range.max, range.multiple});
        isRangeKnown |= range.max != INT64_MAX || range.multiple > 1;
        auto name = builder.getStringAttr("s" + Twine(index));
        names.push_back(name);
        values.push_back(DimAttr::symbolNamed(symbol));
        renamed[symbol] = DimAttr::symbolNamed(name);
      }

      Block &source = fusion.getBody().front();
      RankedTensorType visited = getVisitedType(source);
      DimAttr workgroups = fusion.getStrategy().getGrid(/*result=*/0, getDims(visited));
      if (!workgroups) {
        fusion.emitOpError() << "of " << describeSource(fusion.getLoc())
                             << " has a result of unknown size, so its number of workgroups is not known: " << visited;
        return signalPassFailure();
      }
      builder.setInsertionPointToStart(module.getBody());
      auto kernel = KernelOp::create(builder, fusion.getLoc(), "k", "", builder.getArrayAttr(names), workgroups,
                                     fusion.getStrategy(), builder.getStringAttr("private"));
      IRMapping mapping;
      fusion.getBody().cloneInto(&kernel.getBody(), mapping);
      kernel.walk([](Operation *op) { op->removeAttr(kCopyAttr); }); // a copy's kernel is the other one's
      if (isRangeKnown)
        kernel->setAttr(kSymbolRangesAttr, builder.getDenseI64ArrayAttr(ranges));
      setInPlacePairs(kernel, findInPlacePairs(kernel.getBody().front()));

      AttrTypeReplacer replacer;
      replacer.addReplacement([&](DimAttr dim) -> std::pair<Attribute, WalkResult> {
        return {dim.substitute([&](StringAttr symbol) { return renamed.lookup(symbol); }), WalkResult::skip()};
      });
      replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                            /*replaceTypes=*/true);

      // The text is the same wherever the kernel came from: no locations, a fixed name, symbols in order.
      std::string text = target + "\n";
      llvm::raw_string_ostream os(text);
      kernel->print(os, OpPrintingFlags().useLocalScope());
      std::string key =
          llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, 32);

      KernelOp &known = kernels[key];
      if (known) {
        known->setLoc(builder.getFusedLoc({known.getLoc(), fusion.getLoc()}));
        kernel.erase();
      } else {
        std::string name = getReadableName(source);
        std::string unique = name;
        do {
          if (unsigned number = nameCounts[name]++)
            unique = name + "_" + std::to_string(number);
        } while (SymbolTable::lookupSymbolIn(module, unique));
        kernel.setSymName(unique);
        kernel.setKey(key);
        kernel->moveBefore(module.getBody(), module.getBody()->end());
        known = kernel;
      }
      builder.setInsertionPoint(fusion);
      auto dispatch = DispatchOp::create(builder, fusion.getLoc(), fusion.getResultTypes(),
                                         FlatSymbolRefAttr::get(known.getSymNameAttr()), fusion.getInputs(),
                                         builder.getArrayAttr(values));
      // Equal kernels share code but not names: each dispatch knows its own nodes.
      SmallVector<Attribute> sites;
      fusion.getBody().walk([&](Operation *op) {
        if (mayFault(op))
          sites.push_back(builder.getStringAttr(describeSource(op->getLoc())));
      });
      if (!sites.empty())
        dispatch->setAttr(kFaultSitesAttr, builder.getArrayAttr(sites));
      fusion.replaceAllUsesWith(dispatch.getResults());
      fusion.erase();
    }
  }
};

} // namespace
} // namespace vx
