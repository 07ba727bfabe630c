// Outlines fusion regions into kernels, equal ones once.

#include "SharedStarts.h"
#include "vx/Analysis/ProductCandidates.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/DimParts.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"
#include <numeric>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// Calls `visit` with the expressions of the region, whole, in the order in which it names them: those of its arguments
/// first, then op by op. `isSize` tells those that are a tensor's.
void visitDims(Region &region, function_ref<void(DimAttr, bool isSize)> visit) {
  AttrTypeWalker walker;
  bool isSize = true;
  walker.addWalk([&](DimAttr dim) {
    visit(dim, isSize);
    return WalkResult::skip();
  });
  // The walker remembers what it has seen: an attribute that is met again is not visited again.
  for (BlockArgument argument : region.front().getArguments())
    walker.walk<WalkOrder::PreOrder>(argument.getType());
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    isSize = false;
    for (NamedAttribute attribute : op->getAttrDictionary())
      walker.walk<WalkOrder::PreOrder>(attribute.getValue());
    isSize = true;
    for (Type type : op->getResultTypes())
      walker.walk<WalkOrder::PreOrder>(type);
  });
}

/// Parts of a region's sizes that stand for what their symbols are in no other form, as kernels see them: a kernel need
/// not know that the height of its input is min(floordiv(h, 4) + 5, floordiv(h + 2, 4) + 4). Each has a symbol, so that
/// kernels of sizes that came about in other ways are one.
class Parts {
public:
  Parts(Region &region, DimAttr workgroups, const SymbolRanges &ranges) {
    SetVector<DimAttr> roots, inner;
    visitDims(region, [&](DimAttr dim, bool) { roots.insert(dim); });
    roots.insert(workgroups);
    for (DimAttr root : roots)
      collect(root, inner);
    for (DimAttr part : inner) {
      SetVector<StringAttr> symbols;
      part.collectSymbols(symbols);
      if (symbols.empty() || llvm::any_of(symbols, [&](StringAttr symbol) { return hidden.contains(symbol); }) ||
          !isNeverNegative(part, ranges))
        continue;
      llvm::DenseSet<DimAttr> seen;
      if (llvm::any_of(roots, [&](DimAttr root) { return hasOutside(root, part, symbols, seen); }))
        continue;
      hidden.insert(symbols.begin(), symbols.end());
      auto name = StringAttr::get(part.getContext(), "\n" + part.str()); // no other symbol's
      parts.push_back({part, DimAttr::symbolNamed(name)});
      ofName[name] = part;
    }
  }

  /// The expression with the symbols of parts in their places.
  DimAttr shorten(DimAttr dim) const { return parts.empty() ? dim : replaceParts(dim, parts); }
  /// What a symbol stands for: a part, or itself.
  DimAttr lookup(StringAttr symbol) const {
    DimAttr part = ofName.lookup(symbol);
    return part ? part : DimAttr::symbolNamed(symbol);
  }

private:
  /// Shorter ones stay: what a kernel knows of a size (that it is even, half of another one) is worth more.
  static constexpr unsigned kLeastTerms = 8;

  static unsigned countTerms(DimAttr dim, unsigned limit) {
    unsigned count = 1;
    for (DimAttr operand : dim.getOperands())
      if (count <= limit)
        count += countTerms(operand, limit - count);
    return count;
  }

  /// Long operations, the outer ones first.
  static void collect(DimAttr dim, SetVector<DimAttr> &inner) {
    if (countTerms(dim, kLeastTerms) <= kLeastTerms || inner.contains(dim))
      return;
    if (dim.getKind() != DimKind::Sum && dim.getKind() != DimKind::Product)
      inner.insert(dim);
    for (DimAttr operand : dim.getOperands())
      collect(operand, inner);
  }

  static bool hasOutside(DimAttr dim, DimAttr part, const SetVector<StringAttr> &symbols,
                         llvm::DenseSet<DimAttr> &seen) {
    if (dim == part || !seen.insert(dim).second)
      return false;
    if (dim.getKind() == DimKind::Symbol)
      return symbols.contains(dim.getSymbol());
    return llvm::any_of(dim.getOperands(), [&](DimAttr operand) { return hasOutside(operand, part, symbols, seen); });
  }

  SmallVector<std::pair<DimAttr, DimAttr>> parts;
  llvm::DenseMap<StringAttr, DimAttr> ofName;
  llvm::DenseSet<StringAttr> hidden;
};

/// The least c of all `symbol + c` where a region has `symbol` in no other form, and a size is the least. Kernels of
/// sizes that are all so much greater than another one's are that one: they count from there.
class Shifts {
public:
  Shifts(Region &region, const Parts &parts) {
    visitDims(region, [&](DimAttr dim, bool isSize) { add(parts.shorten(dim), isSize); });
  }

  int64_t lookup(StringAttr symbol) const {
    auto it = least.find(symbol);
    return it == least.end() || it->second == kNone ? 0 : it->second;
  }

private:
  static constexpr int64_t kNone = INT64_MIN;

  void add(DimAttr dim, bool isSize) {
    SetVector<StringAttr> symbols;
    dim.collectSymbols(symbols);
    if (symbols.empty())
      return;
    std::optional<int64_t> shift =
        symbols.size() == 1 ? (dim - DimAttr::symbolNamed(symbols[0])).asConstant() : std::nullopt;
    for (StringAttr symbol : symbols) {
      auto [it, isNew] = least.try_emplace(symbol, shift.value_or(kNone));
      if (!shift || (!isSize && *shift < it->second) || (isNew && !isSize))
        it->second = kNone;
      else
        it->second = std::min(it->second, *shift); // kNone stays
    }
  }

  llvm::DenseMap<StringAttr, int64_t> least;
};

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

/// The text is the same wherever the kernel came from: no locations, a fixed name, symbols in order.
std::string getKey(KernelOp kernel, StringRef target) {
  std::string text = target.str() + "\n";
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, 32);
}

/// Makes kernels of regions, at the start of the module and without a name.
class KernelMaker {
public:
  explicit KernelMaker(ModuleOp module) : module(module), builder(module.getContext()), declared(module) {}

  /// Null with a message. `values` are what the kernel's symbols stand for where it is called.
  KernelOp make(FusionOp fusion, const SharedStarts *starts, SmallVectorImpl<Attribute> &values) {
    Block &source = fusion.getBody().front();
    RankedTensorType visited = getVisitedType(source);
    DimAttr workgroups = fusion.getStrategy().getGrid(/*result=*/0, getDims(visited));
    if (!workgroups) {
      fusion.emitOpError() << "of " << describeSource(fusion.getLoc())
                           << " expects a result of known size, which gives its number of workgroups, got " << visited;
      return {};
    }
    SetVector<StringAttr> symbols;
    Parts parts(fusion.getBody(), workgroups, declared);
    visitDims(fusion.getBody(), [&](DimAttr dim, bool) { parts.shorten(dim).collectSymbols(symbols); });
    Shifts shifts(fusion.getBody(), parts);
    SmallVector<Attribute> names;
    llvm::DenseMap<StringAttr, DimAttr> renamed;
    SmallVector<int64_t> ranges;
    bool isRangeKnown = false;
    for (auto [index, symbol] : llvm::enumerate(symbols)) {
      DimAttr start = starts ? starts->lookup(fusion, symbol) : DimAttr();
      int64_t shift = start ? 0 : shifts.lookup(symbol);
      SymbolRange range = start ? starts->getRange(symbol) : shiftRange(declared.lookup(symbol), shift);
      ranges.append({range.min, range.max, range.multiple});
      isRangeKnown |= range.max != INT64_MAX || range.multiple > 1;
      auto name = builder.getStringAttr("s" + Twine(index));
      names.push_back(name);
      values.push_back(start ? start : parts.lookup(symbol) + shift);
      renamed[symbol] = DimAttr::symbolNamed(name) + -shift;
    }

    builder.setInsertionPointToStart(module.getBody());
    auto kernel = KernelOp::create(builder, fusion.getLoc(), "k", "", builder.getArrayAttr(names), workgroups,
                                   fusion.getStrategy(), builder.getStringAttr("private"));
    IRMapping mapping;
    fusion.getBody().cloneInto(&kernel.getBody(), mapping);
    // A copy's kernel is the other one's, and the strategy says how a product is computed.
    kernel.walk([](Operation *op) {
      op->removeAttr(kCopyAttr);
      op->removeAttr(kProductAttr);
    });
    if (isRangeKnown)
      kernel->setAttr(kSymbolRangesAttr, builder.getDenseI64ArrayAttr(ranges));
    if (Attribute reason = fusion->getAttr(kLoopsReasonAttr))
      kernel->setAttr(kLoopsReasonAttr, reason);
    setInPlacePairs(kernel, findInPlacePairs(kernel.getBody().front()));

    AttrTypeReplacer replacer;
    replacer.addReplacement([&](DimAttr dim) -> std::pair<Attribute, WalkResult> {
      DimAttr shortened = parts.shorten(dim);
      return {shortened.substitute([&](StringAttr symbol) { return renamed.lookup(symbol); }), WalkResult::skip()};
    });
    replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    return kernel;
  }

private:
  static SymbolRange shiftRange(SymbolRange range, int64_t shift) {
    if (shift == 0)
      return range;
    int64_t max;
    if (range.max == INT64_MAX || llvm::AddOverflow(range.max, shift, max))
      max = INT64_MAX;
    // A size is never negative.
    return {std::max<int64_t>(range.min + shift, 0), max, std::gcd(range.multiple, shift)};
  }

  ModuleOp module;
  OpBuilder builder;
  SymbolRanges declared;
};

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringMap<KernelOp> kernels;
    llvm::StringMap<unsigned> nameCounts;
    SmallVector<FusionOp> fusions;
    module.walk([&](FusionOp fusion) { fusions.push_back(fusion); });
    OpBuilder builder(&getContext());
    KernelMaker maker(module);
    bool hasFailed = false;
    SharedStarts starts(module, fusions, [&](FusionOp fusion) -> std::string {
      SmallVector<Attribute> values;
      KernelOp kernel = hasFailed ? KernelOp() : maker.make(fusion, nullptr, values);
      hasFailed = !kernel;
      if (hasFailed)
        return "";
      std::string key = getKey(kernel, target);
      kernel.erase();
      return key;
    });
    if (hasFailed)
      return signalPassFailure();
    for (FusionOp fusion : fusions) {
      SmallVector<Attribute> values;
      KernelOp kernel = maker.make(fusion, &starts, values);
      if (!kernel)
        return signalPassFailure();
      std::string key = getKey(kernel, target);
      KernelOp &known = kernels[key];
      if (known) {
        known->setLoc(builder.getFusedLoc({known.getLoc(), fusion.getLoc()}));
        kernel.erase();
      } else {
        std::string name = getReadableName(fusion.getBody().front());
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
