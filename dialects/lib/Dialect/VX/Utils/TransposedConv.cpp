#include "vx/Dialect/VX/Utils/TransposedConv.h"

using namespace mlir;

namespace vx {

/// [M, C / groups, k...] as the filter of the convolution that goes the other way: [C, M / groups, k...], mirrored.
static Value mirrorFilter(GraphBuilder &g, Value filter, int64_t groups) {
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

Value emitTransposedConv(GraphBuilder &g, Value input, Value filter, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> strides,
                         ArrayRef<int64_t> dilations, ArrayRef<DimAttr> pads, int64_t groups) {
  RankedTensorType inputType = g.typeOf(input), filterType = g.typeOf(filter);
  if (!inputType || !filterType)
    return {};
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

} // namespace vx
