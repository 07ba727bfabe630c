#include "OpEvaluators.h"
#include "vx/base/philox.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx::reference {

static Result evaluateIota(IotaOp op, llvm::ArrayRef<int64_t> resultShape) {
  HostTensor result(elementTypeOf(op.getResult()), resultShape);
  bool asFloat = isFloat(result.getElementType());
  IndexSpace(resultShape).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    int64_t value = index[op.getAxis()];
    if (asFloat)
      result.setFloat(linear, static_cast<double>(value));
    else
      result.setInt(linear, value);
  });
  return result;
}

static Result evaluateRandomBits(RandomBitsOp op, const HostTensor &key, llvm::ArrayRef<int64_t> resultShape) {
  HostTensor result(elementTypeOf(op.getResult()), resultShape);
  std::array<uint32_t, 4> block;
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    if (i % 4 == 0)
      block = philoxBlock(key.getInt(0), op.getNumber(), i / 4);
    result.setInt(i, block[i % 4]);
  }
  return result;
}

static Result evaluateReshape(ReshapeOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape) {
  if (IndexSpace(resultShape).getCount() != input.getNumElements())
    return callError(op, "the shapes " + describeShape(input.getShape()) + " and " + describeShape(resultShape) +
                             " have different numbers of elements");
  return input.reshaped(resultShape);
}

static Result evaluateTranspose(TransposeOp op, const HostTensor &input) {
  Shape shape, steps, strides = getStrides(input.getShape());
  for (int64_t dim : op.getPermutation()) {
    shape.push_back(input.getShape()[dim]);
    steps.push_back(strides[dim]);
  }
  HostTensor result(input.getElementType(), shape);
  IndexSpace(shape).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (auto [position, step] : llvm::zip(index, steps))
      from += position * step;
    copyElement(result, linear, input, from);
  });
  return result;
}

namespace {

/// How `vx.pack` and `vx.unpack` lay a tensor out.
struct Packing {
  int64_t dim, tile;
  llvm::ArrayRef<int64_t> permutation;
  int64_t inner;

  /// How many neighbours along dimension `from` lie together.
  int64_t togetherAlong(int64_t from) const { return from == dim ? tile : from == permutation.back() ? inner : 1; }

  Shape packedShape(llvm::ArrayRef<int64_t> shape) const {
    Shape packed;
    for (int64_t from : permutation)
      packed.push_back(llvm::divideCeil(shape[from], togetherAlong(from)));
    packed.push_back(tile);
    if (inner > 1)
      packed.push_back(inner);
    return packed;
  }

  /// Calls back with the linear places of each element in the tensor and in the packed form of it.
  void forEach(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(int64_t linear, int64_t packed)> callback) const {
    Shape packedStrides = getStrides(packedShape(shape)), strides(shape.size());
    for (auto [place, from] : llvm::enumerate(permutation))
      strides[from] = packedStrides[place];
    IndexSpace(shape).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
      int64_t packed = index[dim] % tile * inner;
      if (inner > 1)
        packed += index[permutation.back()] % inner;
      for (size_t d = 0; d < shape.size(); ++d)
        packed += index[d] / togetherAlong(d) * strides[d];
      callback(linear, packed);
    });
  }
};

} // namespace

static Result evaluatePack(PackOp op, const HostTensor &input) {
  const Packing packing = {static_cast<int64_t>(op.getDim()), static_cast<int64_t>(op.getTile()), op.getPermutation(),
                           static_cast<int64_t>(op.getInner())};
  HostTensor result(input.getElementType(), packing.packedShape(input.getShape())); // zeros
  packing.forEach(input.getShape(),
                  [&](int64_t linear, int64_t packed) { copyElement(result, packed, input, linear); });
  return result;
}

static Result evaluateUnpack(UnpackOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape) {
  const Packing packing = {static_cast<int64_t>(op.getDim()), input.getShape()[resultShape.size()], op.getPermutation(),
                           static_cast<int64_t>(op.getInner())};
  if (packing.packedShape(resultShape) != input.getShape())
    return callError(op, "the shape " + describeShape(input.getShape()) + " does not unpack to " +
                             describeShape(resultShape));
  HostTensor result(input.getElementType(), resultShape);
  packing.forEach(resultShape, [&](int64_t linear, int64_t packed) { copyElement(result, linear, input, packed); });
  return result;
}

static Result evaluateBroadcast(BroadcastOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape) {
  Shape strides = getStrides(input.getShape());
  for (auto [index, dim] : llvm::enumerate(op.getDimensions()))
    if (input.getShape()[index] != 1 && input.getShape()[index] != resultShape[dim])
      return callError(op, "the shape " + describeShape(input.getShape()) + " does not broadcast to " +
                               describeShape(resultShape));
  HostTensor result(input.getElementType(), resultShape);
  IndexSpace(resultShape).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (auto [d, dim] : llvm::enumerate(op.getDimensions()))
      if (input.getShape()[d] != 1)
        from += index[dim] * strides[d];
    copyElement(result, linear, input, from);
  });
  return result;
}

static Result evaluateSlice(SliceOp op, const HostTensor &input, const SymbolValues &symbols,
                            llvm::ArrayRef<int64_t> resultShape) {
  llvm::Expected<Shape> starts = evaluateDimsOf(op, op.getStarts(), symbols);
  if (!starts)
    return starts.takeError();
  HostTensor result(input.getElementType(), resultShape);
  for (auto [d, size] : llvm::enumerate(resultShape)) {
    if (result.getNumElements() == 0)
      break;
    int64_t stride = op.getStrides()[d], last;
    if (llvm::MulOverflow(size - 1, stride, last) || llvm::AddOverflow((*starts)[d], last, last))
      last = stride < 0 ? INT64_MIN : INT64_MAX;
    if (std::min((*starts)[d], last) < 0 || std::max((*starts)[d], last) >= input.getShape()[d])
      return callError(op, "the indices " + llvm::Twine((*starts)[d]) + " to " + llvm::Twine(last) +
                               " are out of range [0, " + llvm::Twine(input.getShape()[d]) + ")");
  }
  Shape strides = getStrides(input.getShape());
  IndexSpace(resultShape).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    for (auto [d, position] : llvm::enumerate(index))
      from += ((*starts)[d] + position * op.getStrides()[d]) * strides[d];
    copyElement(result, linear, input, from);
  });
  return result;
}

static Result evaluateConcat(ConcatOp op, llvm::ArrayRef<HostTensor> inputs) {
  int64_t axis = op.getAxis();
  Shape shape(inputs[0].getShape());
  for (const HostTensor &input : inputs.drop_front()) {
    for (int64_t d = 0; d < input.getRank(); ++d)
      if (d != axis && input.getShape()[d] != shape[d])
        return callError(op, "the shapes " + describeShape(inputs[0].getShape()) + " and " +
                                 describeShape(input.getShape()) + " differ in dimension " + llvm::Twine(d));
    shape[axis] += input.getShape()[axis];
  }
  HostTensor result(inputs[0].getElementType(), shape);
  Shape strides = getStrides(shape);
  int64_t begin = 0;
  for (const HostTensor &input : inputs) {
    IndexSpace(input.getShape()).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
      int64_t to = begin * strides[axis];
      for (auto [position, stride] : llvm::zip(index, strides))
        to += position * stride;
      copyElement(result, to, input, linear);
    });
    begin += input.getShape()[axis];
  }
  return result;
}

static Result evaluatePad(PadOp op, const HostTensor &input, const HostTensor &value, const SymbolValues &symbols) {
  llvm::Expected<Shape> low = evaluateDimsOf(op, op.getLow(), symbols);
  if (!low)
    return low.takeError();
  llvm::Expected<Shape> high = evaluateDimsOf(op, op.getHigh(), symbols);
  if (!high)
    return high.takeError();
  Shape shape;
  for (auto [d, size] : llvm::enumerate(input.getShape())) {
    int64_t padded;
    if (llvm::AddOverflow(size, (*low)[d], padded) || llvm::AddOverflow(padded, (*high)[d], padded) || padded < 0)
      return callError(op, "the padded size of dimension " + llvm::Twine(d) + " is below 0 or does not fit 64 bits: " +
                               llvm::Twine((*low)[d]) + " + " + llvm::Twine(size) + " + " + llvm::Twine((*high)[d]));
    shape.push_back(padded);
  }
  HostTensor result(input.getElementType(), shape);
  Shape strides = getStrides(input.getShape());
  IndexSpace(shape).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    int64_t from = 0;
    bool inside = true;
    for (auto [d, position] : llvm::enumerate(index)) {
      int64_t source = position - (*low)[d];
      inside = inside && source >= 0 && source < input.getShape()[d];
      from += source * strides[d];
    }
    if (inside)
      copyElement(result, linear, input, from);
    else
      copyElement(result, linear, value, 0);
  });
  return result;
}

static Result evaluateConstant(ConstantOp op) {
  Result value = getHostTensor(op.getValue());
  if (!value)
    return callError(op, llvm::toString(value.takeError()));
  return value;
}

static Result evaluateDimValue(DimValueOp op, const SymbolValues &symbols) {
  llvm::Expected<int64_t> value = evaluateDimOf(op, op.getValue(), symbols);
  if (!value)
    return value.takeError();
  return HostTensor::scalar(*value);
}

void addShapeEvaluators(EvaluatorTable &table) {
  table.add<evaluateConstant>();
  table.add<evaluateDimValue>();
  table.add<evaluateIota>();
  table.add<evaluateRandomBits>();
  table.add<evaluateReshape>();
  table.add<evaluateTranspose>();
  table.add<evaluatePack>();
  table.add<evaluateUnpack>();
  table.add<evaluateBroadcast>();
  table.add<evaluateSlice>();
  table.add<evaluateConcat>();
  table.add<evaluatePad>();
}

} // namespace vx::reference
