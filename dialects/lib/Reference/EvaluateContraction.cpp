#include "OpEvaluators.h"

using namespace mlir;

namespace vx::reference {

/// The offsets of all places of some dimensions of a tensor, in row-major order of those dimensions.
static std::vector<int64_t> getOffsets(const HostTensor &tensor, llvm::ArrayRef<int64_t> dims) {
  Shape strides = getStrides(tensor.getShape()), sizes;
  for (int64_t dim : dims)
    sizes.push_back(tensor.getShape()[dim]);
  std::vector<int64_t> offsets;
  IndexSpace(sizes).forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    int64_t offset = 0;
    for (auto [position, dim] : llvm::zip(index, dims))
      offset += position * strides[dim];
    offsets.push_back(offset);
  });
  return offsets;
}

static Shape getFreeDims(const HostTensor &tensor, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contracting) {
  Shape free;
  for (int64_t d = 0; d < tensor.getRank(); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      free.push_back(d);
  return free;
}

/// sum of lhs[a + la[k]] * rhs[b + rb[k]]. The products of narrow floats are exact in f64; those of f64 are summed in
/// the widest type.
static void setDot(HostTensor &result, int64_t at, llvm::ArrayRef<double> lhs, llvm::ArrayRef<double> rhs,
                   llvm::ArrayRef<int64_t> lhsOffsets, llvm::ArrayRef<int64_t> rhsOffsets, int64_t lhsBase,
                   int64_t rhsBase) {
  using Sum = long double;
  Sum sum = 0;
  for (auto [l, r] : llvm::zip(lhsOffsets, rhsOffsets))
    sum += static_cast<Sum>(lhs[lhsBase + l]) * static_cast<Sum>(rhs[rhsBase + r]);
  result.setFloat(at, static_cast<double>(sum));
}

/// The same of integers, of which the low bits are kept.
static void setIntDot(HostTensor &result, int64_t at, const HostTensor &lhs, const HostTensor &rhs,
                      llvm::ArrayRef<int64_t> lhsOffsets, llvm::ArrayRef<int64_t> rhsOffsets, int64_t lhsBase,
                      int64_t rhsBase) {
  uint64_t sum = 0;
  for (auto [l, r] : llvm::zip(lhsOffsets, rhsOffsets))
    sum += static_cast<uint64_t>(lhs.getInt(lhsBase + l)) * static_cast<uint64_t>(rhs.getInt(rhsBase + r));
  result.setInt(at, static_cast<int64_t>(sum));
}

/// The element type of sums of products, by the attribute `sums`.
static ElementType getSumType(std::optional<mlir::Type> sums, ElementType operand) {
  return !sums ? operand : sums->isF32() ? ElementType::F32 : ElementType::I32;
}

static Result evaluateContract(ContractOp op, const HostTensor &lhs, const HostTensor &rhs) {
  auto checkPairs = [&](llvm::ArrayRef<int64_t> lhsDims, llvm::ArrayRef<int64_t> rhsDims) -> llvm::Error {
    for (auto [l, r] : llvm::zip(lhsDims, rhsDims))
      if (lhs.getShape()[l] != rhs.getShape()[r])
        return callError(op, "dimension " + llvm::Twine(l) + " of " + describeShape(lhs.getShape()) + " and " +
                                 llvm::Twine(r) + " of " + describeShape(rhs.getShape()) + " differ");
    return llvm::Error::success();
  };
  if (llvm::Error error = checkPairs(op.getLhsBatch(), op.getRhsBatch()))
    return error;
  if (llvm::Error error = checkPairs(op.getLhsContracting(), op.getRhsContracting()))
    return error;

  Shape lhsFree = getFreeDims(lhs, op.getLhsBatch(), op.getLhsContracting());
  Shape rhsFree = getFreeDims(rhs, op.getRhsBatch(), op.getRhsContracting());
  Shape shape;
  for (int64_t dim : op.getLhsBatch())
    shape.push_back(lhs.getShape()[dim]);
  for (int64_t dim : lhsFree)
    shape.push_back(lhs.getShape()[dim]);
  for (int64_t dim : rhsFree)
    shape.push_back(rhs.getShape()[dim]);

  HostTensor result(getSumType(op.getSums(), lhs.getElementType()), shape);
  std::vector<int64_t> lhsRows = getOffsets(lhs, lhsFree), rhsColumns = getOffsets(rhs, rhsFree);
  std::vector<int64_t> lhsBatches = getOffsets(lhs, op.getLhsBatch()), rhsBatches = getOffsets(rhs, op.getRhsBatch());
  std::vector<int64_t> lhsSteps = getOffsets(lhs, op.getLhsContracting());
  std::vector<int64_t> rhsSteps = getOffsets(rhs, op.getRhsContracting());
  bool asFloat = isFloat(lhs.getElementType());
  std::vector<double> lhsFloats, rhsFloats;
  if (asFloat) {
    lhsFloats = toFloats(lhs);
    rhsFloats = toFloats(rhs);
  }
  int64_t at = 0;
  for (size_t batch = 0; batch < lhsBatches.size(); ++batch)
    for (int64_t row : lhsRows)
      for (int64_t column : rhsColumns) {
        int64_t lhsBase = lhsBatches[batch] + row, rhsBase = rhsBatches[batch] + column;
        if (asFloat)
          setDot(result, at++, lhsFloats, rhsFloats, lhsSteps, rhsSteps, lhsBase, rhsBase);
        else
          setIntDot(result, at++, lhs, rhs, lhsSteps, rhsSteps, lhsBase, rhsBase);
      }
  return result;
}

static Result evaluateConv(ConvOp op, const HostTensor &input, const HostTensor &filter) {
  llvm::ArrayRef<int64_t> inputShape = input.getShape(), filterShape = filter.getShape();
  int64_t groups = op.getGroups(), channels = filterShape[1], filters = filterShape[0];
  size_t rank = inputShape.size(), spatial = rank - 2;
  bool isLast = op.getChannelsLast();
  size_t channelDim = isLast ? rank - 1 : 1, firstSpatial = isLast ? 1 : 2;
  if (inputShape[channelDim] != channels * groups || filters % groups != 0)
    return callError(op, "a filter of shape " + describeShape(filterShape) + " in " + llvm::Twine(groups) +
                             " groups does not fit an input of shape " + describeShape(inputShape));
  Shape shape(rank);
  shape[0] = inputShape[0];
  shape[channelDim] = filters;
  for (size_t d = 0; d < spatial; ++d)
    shape[firstSpatial + d] = getWindowCount(inputShape[firstSpatial + d], filterShape[d + 2], op.getStrides()[d],
                                             op.getDilations()[d], op.getPadsLow()[d], op.getPadsHigh()[d]);
  HostTensor result(getSumType(op.getSums(), input.getElementType()), shape);
  bool asFloat = isFloat(input.getElementType());
  std::vector<double> inputs, weights;
  if (asFloat) {
    inputs = toFloats(input);
    weights = toFloats(filter);
  }
  Shape inputStrides = getStrides(inputShape), filterStrides = getStrides(filterShape);
  IndexSpace kernel(filterShape.drop_front(2));

  IndexSpace(shape).forEach([&](llvm::ArrayRef<int64_t> out, int64_t linear) {
    int64_t group = out[channelDim] / (filters / groups);
    std::vector<int64_t> inputOffsets, filterOffsets;
    kernel.forEach([&](llvm::ArrayRef<int64_t> k, int64_t place) {
      int64_t offset = 0;
      for (size_t d = 0; d < spatial; ++d) {
        int64_t position =
            out[firstSpatial + d] * op.getStrides()[d] + k[d] * op.getDilations()[d] - op.getPadsLow()[d];
        if (position < 0 || position >= inputShape[firstSpatial + d])
          return;
        offset += position * inputStrides[firstSpatial + d];
      }
      for (int64_t c = 0; c < channels; ++c) {
        inputOffsets.push_back(offset + c * inputStrides[channelDim]);
        filterOffsets.push_back(place + c * filterStrides[1]);
      }
    });
    int64_t inputBase = out[0] * inputStrides[0] + group * channels * inputStrides[channelDim],
            filterBase = out[channelDim] * filterStrides[0];
    if (asFloat)
      setDot(result, linear, inputs, weights, inputOffsets, filterOffsets, inputBase, filterBase);
    else
      setIntDot(result, linear, input, filter, inputOffsets, filterOffsets, inputBase, filterBase);
  });
  return result;
}

static Result evaluateConvFilter(ConvFilterOp op, const HostTensor &input, const HostTensor &gradient,
                                 const SymbolValues &symbols) {
  llvm::Expected<Shape> kernel = evaluateDimsOf(op, op.getKernel(), symbols);
  if (!kernel)
    return kernel.takeError();
  llvm::ArrayRef<int64_t> inputShape = input.getShape(), gradientShape = gradient.getShape();
  int64_t groups = op.getGroups(), channelDim = op.getChannelDim(), spatial = inputShape.size() - 2;
  if (inputShape[0] != gradientShape[0] || inputShape[channelDim] % groups != 0 ||
      gradientShape[channelDim] % groups != 0)
    return callError(op, "an input of shape " + describeShape(inputShape) + " in " + llvm::Twine(groups) +
                             " groups does not fit a gradient of shape " + describeShape(gradientShape));
  int64_t channels = inputShape[channelDim] / groups, filtersOfGroup = gradientShape[channelDim] / groups;
  Shape shape(inputShape.size()), places;
  shape[op.getFilterDim()] = gradientShape[channelDim];
  shape[op.getFilterChannelDim()] = channels;
  for (int64_t d = 0; d < spatial; ++d) {
    if ((*kernel)[d] < 0)
      return callError(op, "size " + llvm::Twine(d) + " of the kernel is " + llvm::Twine((*kernel)[d]));
    shape[op.getKernelDim(d)] = (*kernel)[d];
    places.push_back(gradientShape[op.getSpatialDim(d)]);
  }
  HostTensor result(getSumType(op.getSums(), input.getElementType()), shape);
  std::vector<double> inputs = toFloats(input), gradients = toFloats(gradient);
  Shape inputStrides = getStrides(inputShape), gradientStrides = getStrides(gradientShape);
  IndexSpace windows(places);

  IndexSpace(shape).forEach([&](llvm::ArrayRef<int64_t> out, int64_t linear) {
    int64_t filter = out[op.getFilterDim()],
            channel = filter / filtersOfGroup * channels + out[op.getFilterChannelDim()];
    std::vector<int64_t> inputOffsets, gradientOffsets;
    windows.forEach([&](llvm::ArrayRef<int64_t> place, int64_t) {
      int64_t inputOffset = 0, gradientOffset = 0;
      for (int64_t d = 0; d < spatial; ++d) {
        int64_t position =
            place[d] * op.getStrides()[d] + out[op.getKernelDim(d)] * op.getDilations()[d] - op.getPadsLow()[d];
        if (position < 0 || position >= inputShape[op.getSpatialDim(d)])
          return;
        inputOffset += position * inputStrides[op.getSpatialDim(d)];
        gradientOffset += place[d] * gradientStrides[op.getSpatialDim(d)];
      }
      for (int64_t n = 0; n < inputShape[0]; ++n) {
        inputOffsets.push_back(inputOffset + n * inputStrides[0]);
        gradientOffsets.push_back(gradientOffset + n * gradientStrides[0]);
      }
    });
    setDot(result, linear, inputs, gradients, inputOffsets, gradientOffsets, channel * inputStrides[channelDim],
           filter * gradientStrides[channelDim]);
  });
  return result;
}

void addContractionEvaluators(EvaluatorTable &table) {
  table.add<evaluateContract>();
  table.add<evaluateConv>();
  table.add<evaluateConvFilter>();
}

} // namespace vx::reference
