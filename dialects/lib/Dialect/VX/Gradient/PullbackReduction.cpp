// Gradients of reductions.
#include "vx/Dialect/VX/Gradient/Expression.h"
#include "vx/Dialect/VX/Gradient/Pullback.h"

using namespace mlir;

namespace vx {

/// g * the product of all other elements of each row; without a division, so that it is right where one is 0, and its
/// own gradient too. Rows become one dimension, which meets itself.
static Value makeOtherProducts(GraphBuilder &g, ReduceOp op, Value gradient) {
  SmallVector<DimAttr> dims = getDims(op.getInput().getType()), rowsFirst;
  SmallVector<int64_t> permutation, axes(op.getAxes());
  DimAttr count = g.dim(1);
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (!llvm::is_contained(axes, d)) {
      permutation.push_back(d);
      rowsFirst.push_back(dims[d]);
    }
  for (int64_t axis : axes) {
    permutation.push_back(axis);
    count = count * dims[axis];
  }
  int64_t outer = rowsFirst.size();
  SmallVector<DimAttr> shape = rowsFirst, square = rowsFirst;
  shape.push_back(count);
  square.append({count, count});
  Value rows = g.reshape(g.transpose(op.getInput(), permutation), shape);
  // Of each row one for each element that is left out.
  Value all = g.broadcastAlong(rows, square, outer);
  RankedTensorType places = g.makeType(square, g.builder.getI64Type());
  Value isItself =
      g.emit<CompareOp>(ComparePredicate::eq, g.emitAs<IotaOp>(places, outer), g.emitAs<IotaOp>(places, outer + 1));
  Value others = g.emit<SelectOp>(isItself, g.splatLike(1, all), all);
  Value product = g.reduce(ReduceKind::prod, others, outer + 1);
  Value scaled = g.emit<MulOp>(product, g.broadcastAlong(gradient, shape, outer));
  // Back to the order of the dimensions.
  SmallVector<DimAttr> split = rowsFirst;
  SmallVector<int64_t> inverse(dims.size());
  for (int64_t axis : axes)
    split.push_back(dims[axis]);
  for (auto [place, dim] : llvm::enumerate(permutation))
    inverse[dim] = place;
  return g.transpose(g.reshape(scaled, split), inverse);
}

void CumulativeSumOp::buildPullback(Pullback &p) {
  p.give(0u, p.g.emit<CumulativeSumOp>(p.of(), getExclusive(), !getReverse()));
}

void ReduceOp::buildPullback(Pullback &p) {
  GraphBuilder &g = p.g;
  SmallVector<DimAttr> dims = getDims(getInput().getType());
  auto spread = [&](Value value) { return Expression{&g, g.broadcastAlong(value, dims, getAxes())}; };
  switch (getKind()) {
  case ReduceKind::sum:
    return p.give(0u, spread(p.of()));
  case ReduceKind::prod:
    return p.give(0u, makeOtherProducts(g, *this, p.of()));
  case ReduceKind::max:
  case ReduceKind::min: {
    // Equal ones share.
    Expression isChosen = compare(ComparePredicate::eq, {&g, getInput()}, spread(getResult()));
    Value count = g.reduce(ReduceKind::sum, g.cast(isChosen, g.typeOf(getInput()).getElementType()), getAxes());
    return p.give(0u, selectOrZero(isChosen, spread(p.of()) / spread(count)));
  }
  case ReduceKind::and_:
  case ReduceKind::or_:
    llvm_unreachable("floats are not combined by bits");
  }
}

namespace {

/// A window as the elements of its input that each of its places reads, one tensor for each place.
class WindowPlaces {
public:
  WindowPlaces(GraphBuilder &g, ReduceWindowOp op) : g(g), op(op), places(1) {
    for (int64_t size : op.getWindow())
      places *= size;
  }

  int64_t size() { return places; }

  /// What the place reads of a tensor of the input's shape; `outside` where that is no element.
  Value read(Value input, int64_t place, double outside) {
    SmallVector<DimAttr> starts, sizes = getDims(op.getResult().getType());
    for (int64_t offset : getOffsets(place))
      starts.push_back(g.dim(offset));
    SmallVector<DimAttr> low, high;
    getPads(low, high);
    Value padded =
        g.emit<PadOp>(input, g.emitScalar(outside, g.typeOf(input).getElementType()), g.toArray(low), g.toArray(high));
    return g.slice(padded, starts, sizes, op.getStrides());
  }

  /// The inverse: each element of `values`, which has the result's shape, at the element that the place reads for it.
  Value write(Value values, int64_t place) {
    SmallVector<DimAttr> input = getDims(op.getInput().getType()), sizes = getDims(op.getResult().getType()), low, high;
    for (auto [d, offset] : llvm::enumerate(getOffsets(place))) {
      low.push_back(g.dim(offset - op.getPadsLow()[d]));
      high.push_back(input[d] - low.back() - sizes[d] * op.getStrides()[d]);
    }
    return g.pad(g.spreadPlaces(values, op.getStrides()), low, high);
  }

private:
  SmallVector<int64_t> getOffsets(int64_t place) {
    SmallVector<int64_t> offsets(op.getWindow().size());
    for (int64_t d = offsets.size() - 1; d >= 0; --d) {
      offsets[d] = place % op.getWindow()[d] * op.getDilations()[d];
      place /= op.getWindow()[d];
    }
    return offsets;
  }

  void getPads(SmallVector<DimAttr> &low, SmallVector<DimAttr> &high) {
    for (auto [before, after] : llvm::zip(op.getPadsLow(), op.getPadsHigh())) {
      low.push_back(g.dim(before));
      high.push_back(g.dim(after));
    }
  }

  GraphBuilder &g;
  ReduceWindowOp op;
  int64_t places;
};

} // namespace

/// Each element has the gradients of all windows that it is in: a sum over windows again, mirrored, of the gradients
/// that stand apart by the strides.
static Value sumOverWindows(GraphBuilder &g, ReduceWindowOp op, Value gradient) {
  SmallVector<DimAttr> input = getDims(op.getInput().getType()), sizes = getDims(op.getResult().getType()), low, high;
  for (auto [d, size] : llvm::enumerate(input)) {
    int64_t reach = (op.getWindow()[d] - 1) * op.getDilations()[d];
    low.push_back(g.dim(reach - op.getPadsLow()[d]));
    high.push_back(size + reach - low.back() - sizes[d] * op.getStrides()[d]);
  }
  Value spread = g.pad(g.spreadPlaces(gradient, op.getStrides()), low, high);
  SmallVector<int64_t> ones(input.size(), 1), zeros(input.size(), 0);
  return g.emit<ReduceWindowOp>(ReduceKind::sum, spread, op.getWindow(), ones, op.getDilations(), zeros, zeros);
}

/// The first of the greatest (or least) elements of a window has the gradient.
static Value giveToFirst(GraphBuilder &g, ReduceWindowOp op, Value gradient) {
  WindowPlaces places(g, op);
  const double outside = std::numeric_limits<double>::quiet_NaN(); // equal to nothing
  Value sum, isTaken;
  for (int64_t place = 0; place < places.size(); ++place) {
    Value isChosen =
        g.emit<CompareOp>(ComparePredicate::eq, places.read(op.getInput(), place, outside), op.getResult());
    Value isFirst = isTaken ? g.emit<AndOp>(isChosen, g.emit<NotOp>(isTaken)) : isChosen;
    isTaken = isTaken ? g.emit<OrOp>(isTaken, isChosen) : isChosen;
    Value share = places.write(g.emit<SelectOp>(isFirst, gradient, g.splatLike(0, gradient)), place);
    sum = sum ? g.emit<AddOp>(sum, share) : share;
  }
  return sum;
}

/// g * the product of all other elements of the window.
static Value giveOtherProducts(GraphBuilder &g, ReduceWindowOp op, Value gradient) {
  WindowPlaces places(g, op);
  Value sum;
  // Products of what stands before each place, and behind it.
  SmallVector<Value> elements, behind(places.size());
  for (int64_t place = 0; place < places.size(); ++place)
    elements.push_back(places.read(op.getInput(), place, 1));
  for (int64_t place = places.size() - 2; place >= 0; --place)
    behind[place] = behind[place + 1] ? g.emit<MulOp>(elements[place + 1], behind[place + 1]) : elements[place + 1];
  Value before = gradient;
  for (int64_t place = 0; place < places.size(); ++place) {
    Value share = places.write(behind[place] ? g.emit<MulOp>(before, behind[place]) : before, place);
    before = g.emit<MulOp>(before, elements[place]);
    sum = sum ? g.emit<AddOp>(sum, share) : share;
  }
  return sum;
}

void ReduceWindowOp::buildPullback(Pullback &p) {
  switch (getKind()) {
  case ReduceKind::sum:
    return p.give(0u, sumOverWindows(p.g, *this, p.of()));
  case ReduceKind::max:
  case ReduceKind::min:
    return p.give(0u, giveToFirst(p.g, *this, p.of()));
  case ReduceKind::prod:
    return p.give(0u, giveOtherProducts(p.g, *this, p.of()));
  case ReduceKind::and_:
  case ReduceKind::or_:
    llvm_unreachable("windows are combined by numbers");
  }
}

} // namespace vx
