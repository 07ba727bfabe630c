#include "ViewChain.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace vx {

DimAttr divideExactly(DimAttr lhs, DimAttr rhs) {
  if (rhs.asConstant() == 0)
    return {};
  DimAttr quotient = DimAttr::floorDiv(lhs, rhs);
  return quotient * rhs == lhs ? quotient : DimAttr();
}

static bool isOne(DimAttr dim) { return dim.asConstant() == 1; }

ViewChain::ViewChain(Value value) : source(value) {
  auto type = cast<RankedTensorType>(value.getType());
  DimAttr zero = DimAttr::constant(type.getContext(), 0);
  for (DimAttr dim : vx::getDims(type)) {
    groups.emplace_back();
    if (isOne(dim))
      continue;
    groups.back().push_back(factors.size());
    factors.push_back({dim, zero, dim});
  }
}

ViewChain ViewChain::trace(Value value) {
  // The ops, from the value back.
  SmallVector<Operation *> ops;
  for (Value at = value;;) {
    Operation *op = at.getDefiningOp();
    auto type = cast<RankedTensorType>(at.getType());
    if (!op || !op->hasTrait<OpTrait::View>() || llvm::is_contained(vx::getDims(type), DimAttr()))
      break;
    at = op->getOperand(0);
    if (llvm::is_contained(vx::getDims(cast<RankedTensorType>(at.getType())), DimAttr()))
      break;
    ops.push_back(op);
  }
  // The longest chain that can be expressed: it begins behind the last op that cannot.
  for (size_t length = ops.size(); length > 0; --length) {
    ViewChain chain(ops[length - 1]->getOperand(0));
    size_t done = length;
    while (done > 0 && chain.prepend(ops[done - 1]))
      --done;
    if (done == 0)
      return chain;
    length = done; // The op that failed; what reads its result may still be a chain.
  }
  return ViewChain(value);
}

bool ViewChain::prepend(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return applyReshape(vx::getDims(reshape.getResult().getType()));
  ++moves;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    permute(transpose.getPermutation());
    return true;
  }
  return applySlice(cast<SliceOp>(op));
}

void ViewChain::permute(ArrayRef<int64_t> permutation) {
  SmallVector<SmallVector<unsigned>> permuted;
  for (int64_t dim : permutation)
    permuted.push_back(groups[dim]);
  groups = std::move(permuted);
}

SmallVector<unsigned> ViewChain::getOrder() const {
  SmallVector<unsigned> order;
  for (ArrayRef<unsigned> group : groups)
    llvm::append_range(order, group);
  return order;
}

bool ViewChain::applyReshape(ArrayRef<DimAttr> dims) {
  // What is left of the value's factors, outermost first. A factor is split by putting a new one behind it.
  SmallVector<Factor> newFactors(factors);
  SmallVector<SmallVector<unsigned>> parts(factors.size()); // of each old factor, in the source's order
  for (unsigned i = 0; i < factors.size(); ++i)
    parts[i] = {i};
  SmallVector<unsigned> order = getOrder();
  size_t next = 0;
  SmallVector<SmallVector<unsigned>> newGroups;
  for (DimAttr dim : dims) {
    newGroups.emplace_back();
    DimAttr rest = dim;
    while (!isOne(rest)) {
      if (next == order.size())
        return false;
      Factor &factor = newFactors[order[next]];
      if (isOne(factor.length)) {
        ++next; // A single place: it is in no group.
        continue;
      }
      if (DimAttr quotient = divideExactly(rest, factor.length)) {
        newGroups.back().push_back(order[next++]);
        rest = quotient;
        continue;
      }
      DimAttr inner = divideExactly(factor.length, rest);
      DimAttr size = inner ? divideExactly(factor.size, inner) : DimAttr(),
              start = inner ? divideExactly(factor.start, inner) : DimAttr();
      if (!size || !start)
        return false;
      // The outer part keeps the number; the inner part follows it.
      unsigned number = newFactors.size(), outer = order[next];
      factor = {size, start, rest};
      newFactors.push_back({inner, DimAttr::constant(inner.getContext(), 0), inner});
      for (SmallVector<unsigned> &list : parts)
        if (auto *place = llvm::find(list, outer); place != list.end())
          list.insert(place + 1, number);
      newGroups.back().push_back(outer);
      order[next] = number;
      rest = DimAttr::constant(inner.getContext(), 1);
    }
  }
  for (; next < order.size(); ++next)
    if (!isOne(newFactors[order[next]].length))
      return false;
  // Factors back into the source's order.
  SmallVector<unsigned> newNumber(newFactors.size());
  factors.clear();
  for (ArrayRef<unsigned> list : parts)
    for (unsigned number : list) {
      newNumber[number] = factors.size();
      factors.push_back(newFactors[number]);
    }
  groups = std::move(newGroups);
  for (SmallVector<unsigned> &group : groups)
    for (unsigned &number : group)
      number = newNumber[number];
  return true;
}

bool ViewChain::applySlice(SliceOp op) {
  SmallVector<DimAttr> input = vx::getDims(op.getInput().getType()), result = vx::getDims(op.getResult().getType());
  for (auto [d, group] : llvm::enumerate(groups)) {
    auto start = cast<DimAttr>(op.getStarts()[d]);
    if (input[d] == result[d] && start.asConstant() == 0 && op.getStrides()[d] == 1)
      continue;
    if (op.getStrides()[d] != 1 || group.size() != 1)
      return false;
    Factor &factor = factors[group.front()];
    factor.start = factor.start + start;
    factor.length = result[d];
    if (isOne(factor.length))
      group.clear();
  }
  return true;
}

bool ViewChain::hasSlice() const {
  return llvm::any_of(factors, [](const Factor &factor) { return !factor.isWhole(); });
}

unsigned ViewChain::getNumMovesToBuild() const {
  SmallVector<unsigned> order = getOrder();
  return hasSlice() + !llvm::is_sorted(order);
}

void ViewChain::joinFactors() {
  for (unsigned i = 0; i + 1 < factors.size();) {
    Factor &outer = factors[i], &inner = factors[i + 1];
    bool outerIsSingle = isOne(outer.length);
    bool canJoin = inner.isWhole();
    if (!outerIsSingle)
      canJoin &= llvm::any_of(groups, [&](ArrayRef<unsigned> group) {
        const unsigned *place = llvm::find(group, i);
        return place != group.end() && place + 1 != group.end() && place[1] == i + 1;
      });
    if (!canJoin) {
      ++i;
      continue;
    }
    inner = {outer.size * inner.size, outer.start * inner.size, outer.length * inner.length};
    factors.erase(factors.begin() + i);
    for (SmallVector<unsigned> &group : groups) {
      llvm::erase(group, i);
      for (unsigned &number : group)
        number -= number > i;
    }
  }
}

bool ViewChain::skipRepeats(unsigned group) {
  auto broadcast = source.getDefiningOp<BroadcastOp>();
  if (!broadcast || hasSlice() || !llvm::is_sorted(broadcast.getDimensions()))
    return false;
  // Which factors are of dimensions that the broadcast repeats.
  SmallVector<DimAttr> input = vx::getDims(broadcast.getInput().getType());
  llvm::SmallBitVector repeated(factors.size());
  unsigned next = 0;
  for (auto [d, size] : llvm::enumerate(vx::getDims(broadcast.getResult().getType()))) {
    const int64_t *place = llvm::find(broadcast.getDimensions(), static_cast<int64_t>(d));
    bool repeats = place == broadcast.getDimensions().end() || isOne(input[place - broadcast.getDimensions().begin()]);
    for (DimAttr done = DimAttr::constant(source.getContext(), 1); done != size; ++next) {
      if (next == factors.size())
        return false;
      done = done * factors[next].size;
      repeated[next] = repeats;
    }
  }
  SmallVector<unsigned> kept = groups[group];
  while (!kept.empty() && repeated[kept.back()])
    kept.pop_back();
  if (next != factors.size() || repeated.none() || groups[group].size() - kept.size() != repeated.count())
    return false;

  SmallVector<Factor> left;
  SmallVector<unsigned> newNumber(factors.size());
  for (unsigned number = 0; number < factors.size(); ++number) {
    newNumber[number] = left.size();
    if (!repeated[number])
      left.push_back(factors[number]);
  }
  factors = std::move(left);
  groups[group] = std::move(kept);
  for (SmallVector<unsigned> &numbers : groups)
    for (unsigned &number : numbers)
      number = newNumber[number];
  source = broadcast.getInput();
  return true;
}

SmallVector<DimAttr> ViewChain::getDims() const {
  SmallVector<DimAttr> dims;
  for (ArrayRef<unsigned> group : groups) {
    dims.push_back(DimAttr::constant(source.getContext(), 1));
    for (unsigned number : group)
      dims.back() = dims.back() * factors[number].length;
  }
  return dims;
}

Value ViewChain::buildFactors(OpBuilder &builder, Location location, unsigned leadingOnes) const {
  auto sourceType = cast<RankedTensorType>(source.getType());
  SmallVector<DimAttr> sizes(leadingOnes, DimAttr::constant(builder.getContext(), 1)), lengths = sizes;
  SmallVector<Attribute> starts(leadingOnes, DimAttr::constant(builder.getContext(), 0));
  for (const Factor &factor : factors) {
    sizes.push_back(factor.size);
    lengths.push_back(factor.length);
    starts.push_back(factor.start);
  }
  Value value = source;
  if (RankedTensorType type = getTensorType(sizes, sourceType.getElementType()); sizes != vx::getDims(sourceType))
    value = ReshapeOp::create(builder, location, type, value);
  if (hasSlice())
    value = SliceOp::create(builder, location, getTensorType(lengths, sourceType.getElementType()), value,
                            builder.getArrayAttr(starts), SmallVector<int64_t>(sizes.size(), 1));
  return value;
}

Value ViewChain::build(OpBuilder &builder, Location location, RankedTensorType type) const {
  Value value = buildFactors(builder, location);
  SmallVector<unsigned> order = getOrder();
  // Single places are in no group; they come last, where they change nothing.
  for (unsigned i = 0; i < factors.size(); ++i)
    if (!llvm::is_contained(order, i))
      order.push_back(i);
  SmallVector<int64_t> permutation(order.begin(), order.end());
  if (!llvm::is_sorted(getOrder())) {
    SmallVector<DimAttr> dims;
    for (unsigned number : order)
      dims.push_back(factors[number].length);
    value = TransposeOp::create(builder, location, getTensorType(dims, type.getElementType()), value, permutation);
  }
  if (value.getType() != type)
    value = ReshapeOp::create(builder, location, type, value);
  return value;
}

} // namespace vx
