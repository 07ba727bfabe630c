#include "vx/Dialect/VX/Utils/TransposedConv.h"

#include <numeric>

using namespace mlir;

namespace vx {

namespace {

/// Neighbouring remainders of places of the result, divided by the stride, along one dimension: those that sum over as
/// many taps of the filter. Place q*stride + r sums over the taps `firstTap` + t*`tapStep`, for t below `taps`, and
/// over the places q - `delay` - t*`dilation` of the input.
struct Phases {
  int64_t first = 0, count = 1; // remainders
  int64_t taps = 0, firstTap = 0, tapStep = 1, delay = 0, dilation = 1;
};

SmallVector<Phases> listPhases(int64_t kernel, int64_t stride, int64_t dilation) {
  if (stride == 1)
    return {{.taps = kernel, .dilation = dilation}};
  SmallVector<Phases> all;
  if (dilation == 1) {
    // The first remainders have one tap more than the others.
    int64_t less = kernel / stride, more = kernel % stride;
    if (more > 0)
      all.push_back({.count = more, .taps = less + 1, .tapStep = stride});
    all.push_back({.first = more, .count = stride - more, .taps = less, .firstTap = more, .tapStep = stride});
    return all;
  }
  int64_t common = std::gcd(stride, dilation);
  for (int64_t remainder = 0; remainder < stride; ++remainder) {
    Phases one = {.first = remainder, .tapStep = stride / common, .dilation = dilation / common};
    while (one.firstTap < one.tapStep && one.firstTap * dilation % stride != remainder)
      ++one.firstTap;
    if (one.firstTap < std::min(one.tapStep, kernel)) {
      one.taps = llvm::divideCeil(kernel - one.firstTap, one.tapStep);
      one.delay = (one.firstTap * dilation - remainder) / stride;
    }
    all.push_back(one);
  }
  return all;
}

class TransposedConv {
public:
  TransposedConv(GraphBuilder &g, Value input, Value filter, int64_t groups)
      : g(g), input(input), filter(filter), groups(groups), spatial(g.typeOf(filter).getRank() - 2) {}

  ArrayRef<DimAttr> sizes, pads;
  ArrayRef<int64_t> strides, dilations;

  Value emit();

private:
  DimAttr channels() { return getDim(g.typeOf(filter), 1) * g.dim(groups); }
  /// [N, C, phases..., q...] of the chosen phases of the first dimensions and all of the others.
  Value emitPhases();
  Value emitConv();
  Value takeTaps();
  /// As `value`, with the dims of `dim` in place of that dimension.
  Value split(Value value, int64_t dim, ArrayRef<DimAttr> dims);

  GraphBuilder &g;
  Value input, filter;
  int64_t groups, spatial;
  SmallVector<SmallVector<Phases>> phases; // by dimension
  SmallVector<DimAttr> firsts, counts;     // of q, by dimension
  SmallVector<Phases> chosen;
};

Value TransposedConv::split(Value value, int64_t dim, ArrayRef<DimAttr> dims) {
  SmallVector<DimAttr> all = getDims(g.typeOf(value));
  all.erase(all.begin() + dim);
  all.insert(all.begin() + dim, dims.begin(), dims.end());
  return g.reshape(value, all);
}

/// [groups * C / groups * phases..., M / groups, taps...], mirrored.
Value TransposedConv::takeTaps() {
  Value taken = filter; // [M, C / groups, k...], later [M, C / groups, taps, phases...]
  for (int64_t d = spatial - 1; d >= 0; --d) {
    const Phases &one = chosen[d];
    SmallVector<DimAttr> dims = getDims(g.typeOf(taken)), starts(dims.size(), g.dim(0)), low = starts, high = starts;
    SmallVector<int64_t> steps(dims.size(), 1);
    const int64_t at = d + 2;
    if (one.count == 1) {
      starts[at] = g.dim(one.firstTap + (one.taps - 1) * one.tapStep);
      dims[at] = g.dim(one.taps);
      steps[at] = -one.tapStep;
      taken = split(g.slice(taken, starts, dims, steps), at, {g.dim(one.taps), g.dim(1)});
      continue;
    }
    // Of [taps, stride] the columns from `first` on.
    const DimAttr whole = g.dim(one.taps * one.tapStep);
    if (DimAttr missing = whole - dims[at]; *missing.asConstant() > 0) {
      high[at] = missing;
      taken = g.pad(taken, low, high);
    } else {
      dims[at] = whole;
      taken = g.slice(taken, starts, dims, steps);
    }
    taken = split(taken, at, {g.dim(one.taps), g.dim(one.tapStep)});
    dims = getDims(g.typeOf(taken));
    starts.assign(dims.size(), g.dim(0));
    steps.assign(dims.size(), 1);
    starts[at] = g.dim(one.taps - 1);
    steps[at] = -1;
    starts[at + 1] = g.dim(one.first);
    dims[at + 1] = g.dim(one.count);
    taken = g.slice(taken, starts, dims, steps);
  }
  DimAttr inside = DimAttr::floorDiv(getDim(g.typeOf(filter), 0), g.dim(groups));
  taken = split(taken, 0, {g.dim(groups), inside});
  SmallVector<int64_t> permutation = {0, 2};
  SmallVector<DimAttr> joined = {channels(), inside};
  for (int64_t d = 0; d < spatial; ++d)
    permutation.push_back(4 + 2 * d);
  permutation.push_back(1);
  for (int64_t d = 0; d < spatial; ++d) {
    permutation.push_back(3 + 2 * d);
    joined[0] = joined[0] * g.dim(chosen[d].count);
    joined.push_back(g.dim(chosen[d].taps));
  }
  return g.reshape(g.transpose(taken, permutation), joined);
}

Value TransposedConv::emitConv() {
  RankedTensorType inputType = g.typeOf(input);
  SmallVector<DimAttr> dims = {getDim(inputType, 0), channels()};
  for (const Phases &one : chosen)
    dims.push_back(g.dim(one.count));
  llvm::append_range(dims, counts);
  if (llvm::any_of(chosen, [](const Phases &one) { return one.taps == 0; }))
    return g.broadcast(g.emitScalar(0, inputType.getElementType()), dims);
  SmallVector<DimAttr> low = {g.dim(0), g.dim(0)}, high = low;
  SmallVector<int64_t> steps, staticLow, staticHigh;
  for (auto [d, one] : llvm::enumerate(chosen)) {
    int64_t reach = (one.taps - 1) * one.dilation;
    low.push_back(g.dim(one.delay + reach) - firsts[d]);
    high.push_back(counts[d] + reach - low.back() - getDim(inputType, d + 2));
    steps.push_back(one.dilation);
    staticLow.push_back(low.back().asConstant().value_or(0));
    staticHigh.push_back(high.back().asConstant().value_or(0));
  }
  Value padded = input;
  if (!llvm::all_of(llvm::concat<DimAttr>(low, high), [](DimAttr pad) { return pad.asConstant().has_value(); })) {
    padded = g.pad(input, low, high);
    staticLow.assign(spatial, 0);
    staticHigh.assign(spatial, 0);
  }
  Value conv =
      g.emit<ConvOp>(padded, takeTaps(), SmallVector<int64_t>(spatial, 1), steps, staticLow, staticHigh, groups);
  return conv ? g.reshape(conv, dims) : Value();
}

Value TransposedConv::emitPhases() {
  size_t dim = chosen.size();
  if (dim == phases.size())
    return emitConv();
  SmallVector<Value> parts;
  for (const Phases &one : phases[dim]) {
    chosen.push_back(one);
    parts.push_back(emitPhases());
    chosen.pop_back();
    if (!parts.back())
      return {};
  }
  return parts.size() == 1 ? parts.front() : g.emit<ConcatOp>(ValueRange(parts), static_cast<int64_t>(dim) + 2);
}

Value TransposedConv::emit() {
  SmallVector<DimAttr> joined = getDims(g.typeOf(input)), starts = {g.dim(0), g.dim(0)}, all;
  joined.resize(2);
  joined[1] = channels();
  all = joined;
  SmallVector<int64_t> permutation = {0, 1};
  for (auto [d, size] : llvm::enumerate(sizes)) {
    DimAttr stride = g.dim(strides[d]);
    phases.push_back(listPhases(*getDim(g.typeOf(filter), d + 2).asConstant(), strides[d], dilations[d]));
    firsts.push_back(DimAttr::floorDiv(pads[d], stride));
    counts.push_back(DimAttr::ceilDiv(pads[d] + size, stride) - firsts[d]);
    joined.push_back(counts[d] * strides[d]);
    starts.push_back(pads[d] - firsts[d] * strides[d]);
    all.push_back(size);
    permutation.append({static_cast<int64_t>(2 + spatial + d), static_cast<int64_t>(2 + d)});
  }
  Value places = emitPhases();
  if (!places)
    return {};
  return g.slice(g.reshape(g.transpose(places, permutation), joined), starts, all, SmallVector<int64_t>(all.size(), 1));
}

/// Whether the products of all taps of a sample are few enough to be stored, for a filter of few channels in the
/// result: vectors run along the places of the products, where those of a convolution run along these channels.
bool hasFewProducts(RankedTensorType inputType, RankedTensorType filterType) {
  constexpr int64_t mostFilters = 12, mostProducts = 1 << 20, mostOfInput = 8;
  Type element = inputType.getElementType();
  // Parts of a sum of fewer bits would be rounded.
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() < 32 || !filterType.hasStaticShape() ||
      filterType.getDimSize(1) > mostFilters)
    return false;
  int64_t products = filterType.getNumElements() / std::max<int64_t>(filterType.getDimSize(0), 1);
  if (llvm::any_of(inputType.getShape().drop_front(2), ShapedType::isDynamic))
    return products <= mostOfInput * filterType.getDimSize(0);
  for (int64_t size : inputType.getShape().drop_front(2))
    products *= size;
  return products <= mostProducts;
}

/// The products of all taps with all places, [N, C, k..., o...].
Value multiplyTaps(GraphBuilder &g, Value input, Value filter) {
  SmallVector<DimAttr> inputDims = getDims(g.typeOf(input)), filterDims = getDims(g.typeOf(filter));
  SmallVector<DimAttr> dims = {inputDims[0], filterDims[1]};
  SmallVector<int64_t> permutation = {1}; // C, k..., M
  DimAttr rows = filterDims[1], places = g.dim(1);
  for (size_t d = 2; d < filterDims.size(); ++d) {
    permutation.push_back(d);
    dims.push_back(filterDims[d]);
    rows = rows * filterDims[d];
    places = places * inputDims[d];
  }
  permutation.push_back(0);
  dims.append(inputDims.begin() + 2, inputDims.end());
  Value taps = g.reshape(g.transpose(filter, permutation), {rows, filterDims[0]});
  if (inputDims[0].asConstant() == 1)
    return g.reshape(g.emit<ContractOp>(taps, g.reshape(input, {inputDims[1], places}), ArrayRef<int64_t>(),
                                        ArrayRef<int64_t>(), ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0}),
                     dims);
  Value ofSample = g.broadcast(taps, {inputDims[0], rows, filterDims[0]});
  return g.reshape(g.emit<ContractOp>(ofSample, g.reshape(input, {inputDims[0], inputDims[1], places}),
                                      ArrayRef<int64_t>{0}, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{2},
                                      ArrayRef<int64_t>{1}),
                   dims);
}

/// Sums over the taps of spatial dimension d of [N, C, k..., o...]. The remainder r takes the dimension of the taps,
/// and q that of the places, where q * stride + r is the place in the result.
Value addTaps(GraphBuilder &g, Value products, int64_t d, int64_t stride, int64_t dilation) {
  SmallVector<DimAttr> dims = getDims(g.typeOf(products));
  const int64_t spatial = (static_cast<int64_t>(dims.size()) - 2) / 2, tapDim = 2 + d, placeDim = tapDim + spatial;
  const int64_t kernel = *dims[tapDim].asConstant(), mostDelay = (kernel - 1) * dilation / stride;
  SmallVector<Value> parts;
  for (int64_t remainder = 0; remainder < stride; ++remainder) {
    Value sum;
    for (int64_t tap = 0; tap < kernel; ++tap) {
      if (tap * dilation % stride != remainder)
        continue;
      SmallVector<DimAttr> starts(dims.size(), g.dim(0)), one = dims, low = starts, high = starts;
      starts[tapDim] = g.dim(tap);
      one[tapDim] = g.dim(1);
      low[placeDim] = g.dim(tap * dilation / stride);
      high[placeDim] = g.dim(mostDelay - tap * dilation / stride);
      Value moved = g.pad(g.slice(products, starts, one, SmallVector<int64_t>(dims.size(), 1)), low, high);
      sum = sum ? g.emit<AddOp>(sum, moved) : moved;
    }
    if (!sum) {
      SmallVector<DimAttr> all = dims;
      all[tapDim] = g.dim(1);
      all[placeDim] = all[placeDim] + mostDelay;
      sum = g.broadcast(g.emitScalar(0, g.typeOf(products).getElementType()), all);
    }
    parts.push_back(sum);
  }
  return parts.size() == 1 ? parts.front() : g.emit<ConcatOp>(ValueRange(parts), tapDim);
}

/// [M, C / groups, k...] as the filter of the convolution that goes the other way: [C, M / groups, k...], mirrored.
Value mirrorFilter(GraphBuilder &g, Value filter, int64_t groups) {
  SmallVector<DimAttr> dims = getDims(g.typeOf(filter)), starts = {g.dim(0), g.dim(0)};
  SmallVector<int64_t> strides = {1, 1}, permutation = {0, 2, 1};
  DimAttr channels = DimAttr::floorDiv(dims[0], g.dim(groups));
  SmallVector<DimAttr> split = {g.dim(groups), channels, dims[1]}, joined = {g.dim(groups) * dims[1], channels};
  for (size_t d = 2; d < dims.size(); ++d) {
    starts.push_back(dims[d] + (-1));
    strides.push_back(-1);
    split.push_back(dims[d]);
    joined.push_back(dims[d]);
    permutation.push_back(d + 1);
  }
  Value mirrored = g.slice(filter, starts, dims, strides);
  return g.reshape(g.transpose(g.reshape(mirrored, split), permutation), joined);
}

/// One convolution of the input with zeros between its places.
Value emitSpread(GraphBuilder &g, Value input, Value filter, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> strides,
                 ArrayRef<int64_t> dilations, ArrayRef<DimAttr> pads, int64_t groups) {
  RankedTensorType inputType = g.typeOf(input), filterType = g.typeOf(filter);
  SmallVector<int64_t> steps = {1, 1};
  llvm::append_range(steps, strides);
  SmallVector<DimAttr> low, high;
  bool isStatic = true;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    DimAttr reach = (getDim(filterType, d + 2) + (-1)) * dilations[d];
    low.push_back(reach - pads[d]);
    // The zeros behind the last place are no part of the result.
    high.push_back(size + reach - low.back() - getDim(inputType, d + 2) * strides[d]);
    isStatic &= low.back().asConstant() && high.back().asConstant();
  }
  input = g.spreadPlaces(input, steps);
  SmallVector<int64_t> staticLow(sizes.size()), staticHigh(sizes.size());
  if (isStatic) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      staticLow[d] = *low[d].asConstant();
      staticHigh[d] = *high[d].asConstant();
    }
  } else {
    SmallVector<DimAttr> allLow = {g.dim(0), g.dim(0)}, allHigh = allLow;
    llvm::append_range(allLow, low);
    llvm::append_range(allHigh, high);
    input = g.pad(input, allLow, allHigh);
  }
  return g.emit<ConvOp>(input, mirrorFilter(g, filter, groups), SmallVector<int64_t>(sizes.size(), 1), dilations,
                        staticLow, staticHigh, groups);
}

} // namespace

bool canSumTaps(ArrayRef<DimAttr> kernel, ArrayRef<int64_t> strides) {
  constexpr int64_t mostTaps = 16, mostStride = 8; // each is an op
  auto hasFewTaps = [](DimAttr size) {
    const int64_t taps = size.asConstant().value_or(0);
    return taps >= 1 && taps <= mostTaps;
  };
  return llvm::all_of(kernel, hasFewTaps) && llvm::all_of(strides, [](int64_t stride) { return stride <= mostStride; });
}

Value emitTapSums(GraphBuilder &g, Value products, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> strides,
                  ArrayRef<int64_t> dilations, ArrayRef<DimAttr> pads) {
  const auto spatial = static_cast<int64_t>(sizes.size());
  Value sums = products; // later [N, C, r..., q...]
  for (int64_t d = 0; d < spatial && sums; ++d)
    sums = addTaps(g, sums, d, strides[d], dilations[d]);
  if (!sums)
    return {};
  SmallVector<DimAttr> dims = getDims(g.typeOf(sums)), joined = {dims[0], dims[1]};
  SmallVector<DimAttr> low = {g.dim(0), g.dim(0)}, high = low;
  SmallVector<int64_t> permutation = {0, 1};
  for (int64_t d = 0; d < spatial; ++d) {
    permutation.append({2 + spatial + d, 2 + d});
    joined.push_back(dims[2 + spatial + d] * strides[d]);
    low.push_back(g.dim(0) - pads[d]);
    high.push_back(pads[d] + sizes[d] - joined.back());
  }
  return g.pad(g.reshape(g.transpose(sums, permutation), joined), low, high);
}

Value emitTransposedConv(GraphBuilder &g, Value input, Value filter, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> strides,
                         ArrayRef<int64_t> dilations, ArrayRef<DimAttr> pads, int64_t groups) {
  if (!g.typeOf(input) || !g.typeOf(filter))
    return {};
  if (groups == 1 && canSumTaps(ArrayRef(getDims(g.typeOf(filter))).drop_front(2), strides) &&
      hasFewProducts(g.typeOf(input), g.typeOf(filter)))
    return emitTapSums(g, multiplyTaps(g, input, filter), sizes, strides, dilations, pads);
  // Where nothing is skipped, or the taps are not known, one convolution does; so it does instead of very many.
  constexpr size_t mostConvs = 16;
  size_t convs = 1;
  for (auto [d, stride] : llvm::enumerate(strides)) {
    std::optional<int64_t> kernel = getDim(g.typeOf(filter), d + 2).asConstant();
    // With a dilation each remainder may have taps of its own.
    const bool hasMany = dilations[d] > 1 && stride > static_cast<int64_t>(mostConvs);
    convs = kernel && !hasMany ? convs * listPhases(*kernel, stride, dilations[d]).size() : mostConvs + 1;
    if (convs > mostConvs)
      break;
  }
  if (convs > mostConvs || llvm::all_of(strides, [](int64_t stride) { return stride == 1; }))
    return emitSpread(g, input, filter, sizes, strides, dilations, pads, groups);
  TransposedConv conv(g, input, filter, groups);
  conv.sizes = sizes;
  conv.strides = strides;
  conv.dilations = dilations;
  conv.pads = pads;
  return conv.emit();
}

} // namespace vx
