#include "vx/Dialect/VX/IR/Constraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

SymbolRanges::SymbolRanges(ModuleOp module) {
  for (auto symbol : module.getOps<SymbolOp>()) {
    ranges[symbol.getName()] = {symbol.getMinAttr().getInt(), symbol.getMaxAttr().getInt(),
                                symbol.getMultipleAttr().getInt()};
    if (symbol.getDataDependent())
      dataDependent[symbol.getName()] = true;
  }
}

bool holds(ConstraintKind kind, int64_t lhs, int64_t rhs) {
  switch (kind) {
  case ConstraintKind::equal:
    return lhs == rhs;
  case ConstraintKind::at_least:
    return lhs >= rhs;
  case ConstraintKind::multiple:
    return rhs == 0 ? lhs == 0 : rhs == -1 || lhs % rhs == 0;
  case ConstraintKind::broadcast:
    return lhs == rhs || lhs == 1 || rhs == 1;
  case ConstraintKind::repeat:
    return lhs == rhs || lhs == 1;
  case ConstraintKind::differ:
    return lhs != rhs;
  }
  llvm_unreachable("all kinds are handled");
}

std::string describeWant(const Constraint &constraint) {
  // A name by itself needs no quotes of its own.
  auto describe = [](DimAttr dim) { return dim.asSymbol() ? dim.asSymbol().getValue().str() : dim.str(); };
  std::string lhs = describe(constraint.lhs), rhs = describe(constraint.rhs);
  switch (constraint.kind) {
  case ConstraintKind::equal:
    return "sizes '" + lhs + "' and '" + rhs + "' equal";
  case ConstraintKind::at_least:
    return "size '" + lhs + "' to be at least '" + rhs + "'";
  case ConstraintKind::multiple:
    return "size '" + lhs + "' to be a multiple of '" + rhs + "'";
  case ConstraintKind::broadcast:
    return "sizes '" + lhs + "' and '" + rhs + "' equal or one of them 1";
  case ConstraintKind::repeat:
    return "size '" + lhs + "' to be 1 or '" + rhs + "'";
  case ConstraintKind::differ:
    return "size '" + lhs + "' not to be '" + rhs + "'";
  }
  llvm_unreachable("all kinds are handled");
}

//===-- Proofs --------------------------------------------------------------------------------===//

namespace {

/// The least and greatest value of an expression; nothing where there is no bound.
struct Bounds {
  std::optional<int64_t> low, high;
};

std::optional<int64_t> addBounds(std::optional<int64_t> lhs, std::optional<int64_t> rhs) {
  int64_t sum;
  return lhs && rhs && !llvm::AddOverflow(*lhs, *rhs, sum) ? std::optional(sum) : std::nullopt;
}
std::optional<int64_t> multiplyBounds(std::optional<int64_t> lhs, std::optional<int64_t> rhs) {
  int64_t product;
  return lhs && rhs && !llvm::MulOverflow(*lhs, *rhs, product) ? std::optional(product) : std::nullopt;
}

class Prover {
public:
  explicit Prover(const SymbolRanges &ranges) : ranges(ranges) {}

  Bounds getBounds(DimAttr dim);

  /// By intervals, and where these do not tell, by cases of a max or min and by bounds of a quotient.
  bool isNotNegative(DimAttr dim) {
    steps = 0;
    return proveNotNegative(dim, 0);
  }

private:
  Bounds computeBounds(DimAttr dim);
  Bounds getQuotientBounds(DimAttr dim);
  bool proveNotNegative(DimAttr dim, unsigned depth);
  bool proveByTerm(DimAttr dim, DimAttr term, unsigned depth, bool allowsChoice);

  static constexpr unsigned maxDepth = 6, maxSteps = 400;
  const SymbolRanges &ranges;
  llvm::DenseMap<DimAttr, Bounds> known; // expressions share their parts
  unsigned steps = 0;
};

Bounds Prover::getQuotientBounds(DimAttr dim) {
  std::optional<int64_t> divisor = dim.getOperands()[1].asConstant();
  Bounds dividend = getBounds(dim.getOperands()[0]);
  if (!divisor || *divisor < 1) {
    // Of two numbers that are not negative.
    Bounds other = getBounds(dim.getOperands()[1]);
    bool isPositive = dividend.low && *dividend.low >= 0 && other.low && *other.low >= 0;
    return isPositive ? Bounds{0, std::nullopt} : Bounds();
  }
  if (dim.getKind() == DimKind::Mod)
    return {0, *divisor - 1};
  auto divide = [&](std::optional<int64_t> bound) -> std::optional<int64_t> {
    if (!bound)
      return std::nullopt;
    return dim.getKind() == DimKind::FloorDiv ? llvm::divideFloorSigned(*bound, *divisor)
                                              : llvm::divideCeilSigned(*bound, *divisor);
  };
  return {divide(dividend.low), divide(dividend.high)};
}

Bounds Prover::getBounds(DimAttr dim) {
  if (auto it = known.find(dim); it != known.end())
    return it->second;
  const Bounds bounds = computeBounds(dim);
  known.try_emplace(dim, bounds);
  return bounds;
}

Bounds Prover::computeBounds(DimAttr dim) {
  switch (dim.getKind()) {
  case DimKind::Constant:
    return {dim.getValue(), dim.getValue()};
  case DimKind::Symbol: {
    SymbolRange range = ranges.lookup(dim.getSymbol());
    return {range.min, range.max == INT64_MAX ? std::nullopt : std::optional(range.max)};
  }
  case DimKind::Sum: {
    Bounds sum{0, 0};
    for (DimAttr term : dim.getOperands()) {
      Bounds bounds = getBounds(term);
      sum = {addBounds(sum.low, bounds.low), addBounds(sum.high, bounds.high)};
    }
    return sum;
  }
  case DimKind::Product: {
    Bounds product{1, 1};
    for (DimAttr factor : dim.getOperands()) {
      Bounds bounds = getBounds(factor);
      if (!bounds.low || *bounds.low < 0)
        return {};
      product = {multiplyBounds(product.low, bounds.low), multiplyBounds(product.high, bounds.high)};
    }
    product = {multiplyBounds(product.low, dim.getValue()), multiplyBounds(product.high, dim.getValue())};
    if (dim.getValue() < 0)
      std::swap(product.low, product.high);
    return product;
  }
  case DimKind::Max:
  case DimKind::Min: {
    Bounds lhs = getBounds(dim.getOperands()[0]), rhs = getBounds(dim.getOperands()[1]);
    bool isMax = dim.getKind() == DimKind::Max;
    // One bound needs both operands', the other one that is there.
    auto either = [&](std::optional<int64_t> l, std::optional<int64_t> r) {
      return !l ? r : !r ? l : std::optional(isMax ? std::max(*l, *r) : std::min(*l, *r));
    };
    auto both = [&](std::optional<int64_t> l, std::optional<int64_t> r) {
      return l && r ? either(l, r) : std::nullopt;
    };
    return isMax ? Bounds{either(lhs.low, rhs.low), both(lhs.high, rhs.high)}
                 : Bounds{both(lhs.low, rhs.low), either(lhs.high, rhs.high)};
  }
  case DimKind::Broadcast: { // one of both
    Bounds lhs = getBounds(dim.getOperands()[0]), rhs = getBounds(dim.getOperands()[1]);
    return {lhs.low && rhs.low ? std::optional(std::min(*lhs.low, *rhs.low)) : std::nullopt,
            lhs.high && rhs.high ? std::optional(std::max(*lhs.high, *rhs.high)) : std::nullopt};
  }
  case DimKind::FloorDiv:
  case DimKind::CeilDiv:
  case DimKind::Mod:
    return getQuotientBounds(dim);
  }
  llvm_unreachable("all kinds are handled");
}

/// Proves `dim` >= 0 through `term` of it: c * atom * rest, with an atom that stands between simpler expressions.
bool Prover::proveByTerm(DimAttr dim, DimAttr term, unsigned depth, bool allowsChoice) {
  int64_t coefficient = term.getKind() == DimKind::Product ? term.getValue() : 1;
  ArrayRef<DimAttr> factors = term.getKind() == DimKind::Product ? term.getOperands() : ArrayRef<DimAttr>(term);
  for (auto [index, atom] : llvm::enumerate(factors)) {
    DimKind kind = atom.getKind();
    bool isExtremum = kind == DimKind::Max || kind == DimKind::Min || kind == DimKind::Broadcast;
    bool isQuotient = kind == DimKind::FloorDiv || kind == DimKind::CeilDiv;
    if (!isExtremum && !isQuotient)
      continue;
    DimAttr scale = DimAttr::constant(dim.getContext(), coefficient);
    bool othersCount = true;
    for (auto [other, factor] : llvm::enumerate(factors))
      if (other != index) {
        std::optional<int64_t> low = getBounds(factor).low;
        othersCount &= low && *low >= 0;
        scale = scale * factor;
      }
    if (!othersCount)
      continue;
    DimAttr rest = dim - term;
    if (isExtremum) {
      // A max that is added is at least each of its operands: one will do. One that is subtracted needs both.
      // A broadcast is one of both, so that both must do.
      bool needsAll = kind == DimKind::Broadcast || (kind == DimKind::Max) == (coefficient < 0);
      auto holdsWith = [&](DimAttr operand) { return proveNotNegative(rest + scale * operand, depth + 1); };
      if (needsAll && llvm::all_of(atom.getOperands(), holdsWith))
        return true;
      if (!needsAll && allowsChoice && llvm::any_of(atom.getOperands(), holdsWith))
        return true;
      continue;
    }
    std::optional<int64_t> divisor = atom.getOperands()[1].asConstant();
    if (!allowsChoice || !divisor || *divisor < 1)
      continue;
    // x - (k - 1) <= k * floordiv(x, k) <= x <= k * ceildiv(x, k) <= x + (k - 1)
    DimAttr bound = atom.getOperands()[0];
    if (kind == DimKind::FloorDiv && coefficient > 0)
      bound = bound + (1 - *divisor);
    if (kind == DimKind::CeilDiv && coefficient < 0)
      bound = bound + (*divisor - 1);
    if (proveNotNegative(rest * *divisor + scale * bound, depth + 1))
      return true;
  }
  return false;
}

bool Prover::proveNotNegative(DimAttr dim, unsigned depth) {
  Bounds bounds = getBounds(dim);
  if (bounds.low && *bounds.low >= 0)
    return true;
  if ((bounds.high && *bounds.high < 0) || depth > maxDepth || ++steps > maxSteps)
    return false;
  if (dim.getKind() != DimKind::Sum && dim.getKind() != DimKind::Product && dim.getOperands().empty())
    return false;
  ArrayRef<DimAttr> terms = dim.getKind() == DimKind::Sum ? dim.getOperands() : ArrayRef<DimAttr>(dim);
  for (bool allowsChoice : {false, true})
    for (DimAttr term : terms)
      if (proveByTerm(dim, term, depth, allowsChoice))
        return true;
  return false;
}

/// Multiples of k are written as k times another symbol, so that divisions by factors of k come out even.
DimAttr exposeMultiples(DimAttr dim, const SymbolRanges &ranges) {
  return dim.substitute([&](StringAttr symbol) -> DimAttr {
    int64_t multiple = ranges.lookup(symbol).multiple;
    if (multiple == 1)
      return {};
    return DimAttr::symbolNamed(dim.getContext(), (symbol.getValue() + "/" + Twine(multiple)).str()) * multiple;
  });
}

/// Of lhs and rhs, whichever order they are in: true when they are equal, false when they are never.
std::optional<bool> decideEqual(DimAttr lhs, DimAttr rhs, const SymbolRanges &ranges, Prover &prover) {
  if (lhs == rhs || exposeMultiples(lhs, ranges) == exposeMultiples(rhs, ranges))
    return true;
  DimAttr difference = lhs - rhs, opposite = rhs - lhs;
  if (std::optional<int64_t> constant = difference.asConstant())
    return *constant == 0;
  bool isLess = prover.isNotNegative(opposite + (-1)), isGreater = prover.isNotNegative(difference + (-1));
  if (isLess || isGreater)
    return false;
  if (prover.isNotNegative(difference) && prover.isNotNegative(opposite))
    return true;
  return std::nullopt;
}

} // namespace

bool isNeverNegative(DimAttr dim, const SymbolRanges &ranges) { return Prover(ranges).isNotNegative(dim); }

std::optional<bool> decide(const Constraint &constraint, const SymbolRanges &ranges) {
  DimAttr lhs = constraint.lhs, rhs = constraint.rhs;
  std::optional<int64_t> left = lhs.asConstant(), right = rhs.asConstant();
  if (left && right)
    return holds(constraint.kind, *left, *right);
  Prover prover(ranges);
  switch (constraint.kind) {
  case ConstraintKind::equal:
    return decideEqual(lhs, rhs, ranges, prover);
  case ConstraintKind::at_least:
    if (prover.isNotNegative(lhs - rhs))
      return true;
    return prover.isNotNegative(rhs - lhs + (-1)) ? std::optional(false) : std::nullopt;
  case ConstraintKind::multiple:
    if (lhs == rhs || (right && *right != 0 && DimAttr::mod(exposeMultiples(lhs, ranges), rhs).asConstant() == 0))
      return true;
    return std::nullopt;
  case ConstraintKind::broadcast:
  case ConstraintKind::repeat: {
    if (left == 1 || (right == 1 && constraint.kind == ConstraintKind::broadcast))
      return true;
    std::optional<bool> equal = decideEqual(lhs, rhs, ranges, prover);
    if (equal == true)
      return true;
    DimAttr one = DimAttr::constant(lhs.getContext(), 1);
    bool isNeverOne = decideEqual(lhs, one, ranges, prover) == false &&
                      (constraint.kind == ConstraintKind::repeat || decideEqual(rhs, one, ranges, prover) == false);
    return equal == false && isNeverOne ? std::optional(false) : std::nullopt;
  }
  case ConstraintKind::differ: {
    std::optional<bool> equal = decideEqual(lhs, rhs, ranges, prover);
    return equal ? std::optional(!*equal) : std::nullopt;
  }
  }
  llvm_unreachable("all kinds are handled");
}

//===-- What ops rely on ----------------------------------------------------------------------===//

static void collectPlainSymbols(Type type, SetVector<StringAttr> &names) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (DimAttr dim : getDims(tensor))
      if (dim && dim.asSymbol())
        names.insert(dim.asSymbol());
}

/// Symbols that stand alone as a size in what the op may bind sizes of.
static SetVector<StringAttr> collectBindable(Operation *op) {
  SetVector<StringAttr> names;
  if (!op->hasTrait<OpTrait::BindsResultSizes>())
    return names;
  for (Type type : op->getResultTypes())
    collectPlainSymbols(type, names);
  if (auto loop = dyn_cast<LoopOp>(op))
    for (Type type : loop.getBody().getArgumentTypes())
      collectPlainSymbols(type, names);
  return names;
}

bool mayBindSizes(Operation *op, const SymbolRanges &ranges) {
  return llvm::any_of(collectBindable(op), [&](StringAttr name) { return ranges.isDataDependent(name); });
}

bool onlyComputes(Operation *op, const SymbolRanges &ranges) {
  if (mayBindSizes(op, ranges))
    return false;
  if (!isa<IfOp, LoopOp>(op))
    return isMemoryEffectFree(op);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      if (!onlyComputes(&inner, ranges))
        return false;
  return true;
}

llvm::StringMap<Operation *> findSymbolBinders(func::FuncOp function, const SymbolRanges &ranges) {
  llvm::StringMap<Operation *> binders;
  function.walk([&](Operation *op) {
    if (auto bind = dyn_cast<BindSymbolOp>(op))
      binders[bind.getSymbol()] = op;
    else if (auto loop = dyn_cast<LoopOp>(op))
      binders[loop.getIteration()] = op;
  });
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (StringAttr name : collectBindable(op))
      if (ranges.isDataDependent(name))
        binders.try_emplace(name.getValue(), op);
  });
  return binders;
}

void ConstraintCollector::wantRepeat(DimAttr lhs, DimAttr rhs) {
  if (!lhs || !rhs || lhs == rhs || lhs.asConstant() == 1)
    return;
  SmallVector<DimAttr> parts;
  for (DimAttr rest = rhs; rest;) {
    bool isPair = rest.getKind() == DimKind::Broadcast;
    parts.push_back(isPair ? rest.getOperands()[0] : rest);
    rest = isPair ? rest.getOperands()[1] : DimAttr();
  }
  if (parts.size() == 1 || !llvm::is_contained(parts, lhs))
    return want(ConstraintKind::repeat, lhs, rhs);
  for (auto [index, part] : llvm::enumerate(parts))
    for (DimAttr other : llvm::drop_begin(parts, index + 1))
      want(ConstraintKind::broadcast, part, other);
}

void ConstraintCollector::wantWindow(DimAttr size, DimAttr window, int64_t dilation, int64_t low, int64_t high) {
  if (size && window && window.asConstant() != 1)
    want(ConstraintKind::at_least, size + low + high, (window + (-1)) * dilation + 1);
}

void ConstraintCollector::wantEqualShapes(Type lhs, Type rhs) {
  auto left = dyn_cast<RankedTensorType>(lhs), right = dyn_cast<RankedTensorType>(rhs);
  if (left && right && left.getRank() == right.getRank())
    for (auto [l, r] : llvm::zip(getDims(left), getDims(right)))
      wantEqual(l, r);
}

void ConstraintCollector::wantKnownShape(Type pattern, Operation *binder, Type incoming) {
  auto have = dyn_cast<RankedTensorType>(pattern), got = dyn_cast<RankedTensorType>(incoming);
  if (!have || !got || have.getRank() != got.getRank())
    return;
  for (auto [dim, size] : llvm::zip(getDims(have), getDims(got)))
    if (dim && !(dim.asSymbol() && binders.lookup(dim.asSymbol().getValue()) == binder))
      wantEqual(size, dim);
}

/// The results are to have the sizes that follow from the operands.
static void wantInferred(Operation *op, ConstraintCollector &collector) {
  auto infer = dyn_cast<InferTypeOpInterface>(op);
  SmallVector<Type> inferred;
  if (!infer ||
      failed(infer.inferReturnTypes(op->getContext(), std::nullopt, op->getOperands(), op->getAttrDictionary(),
                                    op->getPropertiesStorage(), op->getRegions(), inferred)))
    return;
  for (auto [type, result] : llvm::zip(inferred, op->getResultTypes()))
    collector.wantEqualShapes(type, result);
}

/// What a size is divided by is above 0.
static void wantDivisors(DimAttr dim, ConstraintCollector &collector, llvm::SmallDenseSet<DimAttr, 16> &seen) {
  if (!dim || dim.getOperands().empty() || !seen.insert(dim).second)
    return;
  for (DimAttr operand : dim.getOperands())
    wantDivisors(operand, collector, seen);
  if (llvm::is_contained({DimKind::FloorDiv, DimKind::CeilDiv, DimKind::Mod}, dim.getKind()))
    collector.want(ConstraintKind::at_least, dim.getOperands()[1], 1);
}

void collectConstraints(Operation *op, const llvm::StringMap<Operation *> &binders,
                        llvm::function_ref<void(const Constraint &)> record) {
  ConstraintCollector collector(binders, record);
  llvm::SmallDenseSet<DimAttr, 16> divided;
  for (NamedAttribute attribute : op->getAttrDictionary()) {
    if (auto dim = dyn_cast<DimAttr>(attribute.getValue()))
      wantDivisors(dim, collector, divided);
    else if (auto list = dyn_cast<ArrayAttr>(attribute.getValue()))
      for (Attribute dim : list)
        wantDivisors(dyn_cast<DimAttr>(dim), collector, divided);
  }
  // No size is below 0, whatever it is computed from.
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(tensor)) {
        wantDivisors(dim, collector, divided);
        collector.want(ConstraintKind::at_least, dim, 0);
      }
  if (!op->hasTrait<OpTrait::Elementwise>()) // these want more: all shapes are equal
    wantInferred(op, collector);
  if (auto constrained = dyn_cast<ConstrainedOpInterface>(op))
    constrained.collectConstraints(collector);
}

} // namespace vx
