// Normalisations and softmax.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

static void importSoftmaxAs(NodeImporter &n, bool isLog) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t rank = dims.size();
  if (n.version >= 13 || n.getAxis("axis", 1, rank) == rank - 1) {
    int64_t axis = n.getAxis("axis", n.version >= 13 ? -1 : 1, rank);
    return n.setOutput(0, n.emit<SoftmaxOp>(input, axis, isLog));
  }
  // Before version 13 all dimensions from `axis` on are one.
  int64_t axis = n.getAxis("axis", 1, rank);
  ArrayRef<DimAttr> all = dims;
  Dims flat = {productOf(n.context, all.take_front(axis)), productOf(n.context, all.drop_front(axis))};
  n.setOutput(0, n.reshape(n.emit<SoftmaxOp>(n.reshape(input, flat), 1, isLog), dims));
}
static void importSoftmax(NodeImporter &n) { importSoftmaxAs(n, false); }
static void importLogSoftmax(NodeImporter &n) { importSoftmaxAs(n, true); }

APFloat getEpsilon(NodeImporter &n, float otherwise) {
  float epsilon = n.getFloat("epsilon", otherwise);
  if (!std::isfinite(epsilon) || epsilon < 0)
    throwUnsupported(Advice::ChangeSetting, "expects 'epsilon' to be at least 0, got " + std::to_string(epsilon));
  return APFloat(epsilon);
}

/// The element type of the statistics outputs of a normalisation. They are computed in f32 or wider in any case.
static Type getStatisticsType(NodeImporter &n) {
  int64_t type = n.getInt("stash_type", TensorProto::FLOAT);
  if (type == TensorProto::FLOAT)
    return n.builder.getF32Type();
  if (type == TensorProto::BFLOAT16)
    return n.builder.getBF16Type();
  throwInvalid("expects 'stash_type' to be the type of floats that the mean and the deviation have (1 or 16), got " +
               Twine(type));
}

Value emitInverseRoot(NodeImporter &n, Value meanSquare, APFloat epsilon) {
  Value root = n.emit<SqrtOp>(n.emit<AddOp>(meanSquare, n.splatLike(epsilon.convertToFloat(), meanSquare)));
  return n.emit<DivOp>(n.splatLike(1, root), root);
}

static void importLayerNormalization(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t axis = n.getAxis("axis", -1, dims.size());
  ArrayRef<DimAttr> trailing = ArrayRef<DimAttr>(dims).drop_front(axis);
  Value scale = n.broadcast(n.getTensor(1), trailing);
  Value bias = n.hasInput(2) ? n.broadcast(n.getTensor(2), trailing) : n.splatLike(0, scale);
  APFloat epsilon = getEpsilon(n);
  n.setOutput(0, n.emit<LayerNormOp>(input, scale, bias, axis, epsilon));
  if (!n.wantsOutput(1) && !n.wantsOutput(2))
    return;
  Type statistics = getStatisticsType(n);
  Dims kept = dims;
  std::fill(kept.begin() + axis, kept.end(), n.dim(1));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, dims.size()));
  Value wide = n.widen(input), mean = n.mean(wide, axes);
  if (n.wantsOutput(1))
    n.setOutput(1, n.reshape(n.cast(mean, statistics), kept));
  if (!n.wantsOutput(2))
    return;
  Value centred = n.emit<SubOp>(wide, n.broadcastAlong(mean, dims, axes));
  Value variance = n.mean(n.emit<MulOp>(centred, centred), axes);
  n.setOutput(2, n.reshape(n.cast(emitInverseRoot(n, variance, epsilon), statistics), kept));
}

Value emitRmsNorm(NodeImporter &n, Value input, Value scale, int64_t axis, APFloat epsilon) {
  Dims dims = vx::getDims(typeOf(input));
  ArrayRef<DimAttr> all = dims;
  scale = n.broadcast(scale, all.drop_front(axis));
  Type type = elementOf(input), resultType = elementOf(scale);
  if (epsilon.isZero()) { // vx.rms_norm needs one above 0
    auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, dims.size()));
    Value wide = n.widen(input);
    Value root = n.emit<SqrtOp>(n.mean(n.emit<MulOp>(wide, wide), axes));
    Value normalized = n.emit<DivOp>(wide, n.broadcastAlong(root, dims, axes));
    scale = n.broadcast(n.cast(scale, elementOf(wide)), dims);
    return n.cast(n.emit<MulOp>(normalized, scale), resultType);
  }
  // vx normalises the innermost dimension: those from `axis` on become one.
  DimAttr width = productOf(n.context, all.drop_front(axis));
  Dims flat(all.take_front(axis));
  flat.push_back(width);
  if (type != resultType) // both fit into the wider one
    type = type.isF64() || resultType.isF64() ? Type(n.builder.getF64Type()) : n.builder.getF32Type();
  Value result =
      n.emit<RmsNormOp>(n.reshape(n.cast(input, type), flat), n.reshape(n.cast(scale, type), width), epsilon);
  return n.cast(n.reshape(result, dims), resultType);
}

static void importRMSNormalization(NodeImporter &n) {
  Value input = n.getTensor(0);
  int64_t axis = n.getAxis("axis", -1, typeOf(input).getRank());
  Value scale = n.getTensor(1);
  if (!isa<FloatType>(elementOf(input)) || !isa<FloatType>(elementOf(scale)))
    throwInvalid("expects floats, got " + describe(input.getType()) + " and " + describe(n.getTensorType(1)));
  n.setOutput(0, emitRmsNorm(n, input, scale, axis, getEpsilon(n)));
}

/// A value for each channel, repeated over the other dimensions.
static Value spreadChannels(NodeImporter &n, Value channels, Value like) {
  assert(typeOf(channels).getRank() == 1 && "checkChannels comes first");
  return n.broadcastInDim(n.cast(channels, elementOf(like)), vx::getDims(typeOf(like)), 1);
}

static void checkChannels(NodeImporter &n, unsigned firstInput, unsigned lastInput) {
  Dims dims = n.getDims(0);
  if (dims.size() < 2)
    throwInvalid("expects an input of 2 or more dimensions, got " + describe(n.getTensorType(0)));
  for (unsigned i = firstInput; i <= lastInput; ++i) {
    Dims shape = n.getDims(i);
    if (shape.size() != 1 || !mayBeEqual(shape[0], dims[1]))
      throwInvalid("expects one value for each of " + dims[1].str() + " channels as input " + Twine(i) + ", got " +
                   describe(n.getTensorType(i)));
    n.require(ConstraintKind::equal, dims[1], shape[0]); // one value would be repeated
  }
}

static void importBatchNormalization(NodeImporter &n) {
  const ImportOptions &options = n.model.options;
  bool fileTrains = n.version >= 14 && n.getFlag("training_mode", false);
  if (n.version < 9 && !n.getFlag("spatial", true))
    throwUnsupported(Advice::ChangeSetting, "statistics for each element ('spatial' = 0) are not imported");
  checkChannels(n, 1, 4);
  Value input = n.getTensor(0), scale = n.getTensor(1), bias = n.getTensor(2);
  Value variance = n.getTensor(4), mean = n.getTensor(3);
  if (!fileTrains)
    n.refuseOutputs(1, "the statistics of training are not imported");
  OperationState state(n.location, BatchNormOp::getOperationName());
  BatchNormOp::build(n.builder, state, input, scale, bias, mean, variance,
                     n.builder.getF32FloatAttr(n.getFloat("epsilon", 1e-5f)),
                     n.builder.getF32FloatAttr(n.getFloat("momentum", 0.9f)),
                     fileTrains && !options.trains ? n.builder.getUnitAttr() : UnitAttr());
  auto norm = cast<BatchNormOp>(n.finish(state));
  SmallVector<Value> results(norm.getResults());
  bool isKept = options.trains && (options.batchNorm == ImportOptions::BatchNorm::Train ||
                                   (options.batchNorm == ImportOptions::BatchNorm::File && fileTrains));
  if (!isKept) {
    results = norm.decompose(n);
    norm.erase();
  }
  for (unsigned i = 0; i < (fileTrains ? 3 : 1); ++i)
    if (i == 0 || n.wantsOutput(i))
      n.setOutput(i, results[i]);
}

static void importInstanceNormalization(NodeImporter &n) {
  checkChannels(n, 1, 2);
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  if (dims.size() < 3)
    throwInvalid("expects an input of 3 or more dimensions, got " + describe(input.getType()));
  RankedTensorType rowType = makeTensorType(ArrayRef<DimAttr>(dims).drop_front(2), elementOf(input));
  Value normalized = n.emit<LayerNormOp>(input, n.splat(1, rowType), n.splat(0, rowType), 2, getEpsilon(n));
  Value scaled = n.emit<MulOp>(normalized, spreadChannels(n, n.getTensor(1), input));
  n.setOutput(0, n.emit<AddOp>(scaled, spreadChannels(n, n.getTensor(2), input)));
}

static void importGroupNormalization(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  if (dims.size() < 2)
    throwInvalid("expects an input of 2 or more dimensions, got " + describe(input.getType()));
  int64_t groups = n.getInt("num_groups");
  std::optional<int64_t> channels = dims[1].asConstant();
  if (groups < 1 || (channels && *channels % groups != 0))
    throwInvalid("expects 'num_groups' to divide the " + dims[1].str() + " channels, got " + Twine(groups));
  n.require(ConstraintKind::multiple, dims[1], n.dim(groups));
  DimAttr ofGroup = floorDivDims(dims[1], n.dim(groups));
  auto getChannels = [&](unsigned index) {
    if (n.version >= 21) {
      checkChannels(n, index, index);
      return n.getTensor(index);
    }
    // One value for each group.
    Dims shape = n.getDims(index);
    if (shape.size() != 1 || !mayBeEqual(shape[0], n.dim(groups)))
      throwInvalid("expects one value for each of " + Twine(groups) + " groups as input " + Twine(index) + ", got " +
                   describe(n.getTensorType(index)));
    Value values = n.reshape(n.getTensor(index), n.dim(groups));
    return n.reshape(n.broadcastInDim(values, {n.dim(groups), ofGroup}, {0}), dims[1]);
  };
  DimAttr width = mulDims(ofGroup, productOf(n.context, ArrayRef<DimAttr>(dims).drop_front(2)));
  RankedTensorType rowType = makeTensorType(width, elementOf(input));
  Value normalized = n.emit<LayerNormOp>(n.reshape(input, {dims[0], n.dim(groups), width}), n.splat(1, rowType),
                                         n.splat(0, rowType), 2, getEpsilon(n));
  normalized = n.reshape(normalized, dims);
  Value scaled = n.emit<MulOp>(normalized, spreadChannels(n, getChannels(1), input));
  n.setOutput(0, n.emit<AddOp>(scaled, spreadChannels(n, getChannels(2), input)));
}

static constexpr OpTableEntry normsTable[] = {
    {"BatchNormalization", 1, newestOpset, importBatchNormalization},
    {"GroupNormalization", 18, newestOpset, importGroupNormalization},
    {"InstanceNormalization", 6, newestOpset, importInstanceNormalization},
    {"LayerNormalization", 17, newestOpset, importLayerNormalization},
    {"LogSoftmax", 1, newestOpset, importLogSoftmax},
    {"RMSNormalization", 23, newestOpset, importRMSNormalization},
    {"Softmax", 1, newestOpset, importSoftmax},
};
const llvm::ArrayRef<OpTableEntry> normsOps = normsTable;

} // namespace vx::onnx
