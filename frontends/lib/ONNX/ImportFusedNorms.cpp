// Normalisations as ONNX Runtime fuses them: of sums, of sums of embeddings, and of mean squares.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// Throws unless input `index` is floats of one value for each place of the last of `dims`.
static void checkLastDim(NodeImporter &n, unsigned index, ArrayRef<DimAttr> dims) {
  if (n.hasInput(index))
    n.requireShape(index, {dims.back()}); // one value would be repeated
}

/// The input at `index` in the type that sums have, repeated to `dims`.
static Value widenTo(NodeImporter &n, unsigned index, ArrayRef<DimAttr> dims) {
  return n.broadcast(n.widen(n.getTensor(index)), dims);
}

/// Input 0 plus input 1, which may be the same for all of the batch, plus a bias of the last dimension where there is
/// one; as wide as sums are.
static Value addSkip(NodeImporter &n, unsigned bias) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input)), skip = n.getDims(1);
  if (dims.size() != 2 && dims.size() != 3)
    throwInvalid("expects an input of 2 or 3 dimensions, got " + describe(input.getType()));
  Dims expected = dims;
  if (skip.size() + 1 == dims.size())
    expected.erase(expected.begin());
  else if (dims.size() == 3 && !skip.empty() && skip[0].asConstant() == 1)
    expected[0] = n.dim(1);
  n.requireShape(1, expected);
  Value sum = n.emit<AddOp>(n.widen(input), widenTo(n, 1, dims));
  checkLastDim(n, bias, dims);
  return n.hasInput(bias) ? n.emit<AddOp>(sum, widenTo(n, bias, dims)) : sum;
}

/// Outputs 1 and 2, the mean and the inverse deviation of each row of `wide`, where the node has them. Without
/// `centers` the mean counts as 0.
static void setStatistics(NodeImporter &n, Value wide, bool centers, APFloat epsilon) {
  if (!n.wantsOutput(1) && !n.wantsOutput(2))
    return;
  Dims dims = vx::getDims(typeOf(wide)), kept = dims;
  const int64_t last = dims.size() - 1;
  kept[last] = n.dim(1);
  Value mean = n.mean(wide, last), centred = wide;
  if (centers)
    centred = n.emit<SubOp>(wide, n.broadcastAlong(mean, dims, last));
  else
    mean = n.splatLike(0, mean);
  n.setOutput(1, n.reshape(mean, kept));
  Value square = n.mean(n.emit<MulOp>(centred, centred), last);
  n.setOutput(2, n.reshape(emitInverseRoot(n, square, epsilon), kept));
}

/// Rows of `wide` to mean 0 and variance 1, by a scale and a bias at these inputs, rounded to `type`.
static Value normalizeRows(NodeImporter &n, Value wide, unsigned scale, unsigned bias, APFloat epsilon, Type type) {
  Dims dims = vx::getDims(typeOf(wide));
  checkLastDim(n, scale, dims);
  checkLastDim(n, bias, dims);
  Value factor = n.widen(n.getTensor(scale));
  Value shift = n.hasInput(bias) ? n.widen(n.getTensor(bias)) : n.splatLike(0, factor);
  return n.cast(n.emit<LayerNormOp>(wide, factor, shift, int64_t(dims.size()) - 1, epsilon), type);
}

static void importSkipLayerNormalization(NodeImporter &n) {
  Value sum = addSkip(n, 4);
  Type type = n.getTensorType(0).getElementType();
  APFloat epsilon = getEpsilon(n, 1e-12f);
  n.setOutput(0, normalizeRows(n, sum, 2, 3, epsilon, type));
  setStatistics(n, sum, /*centers=*/true, epsilon);
  n.setOutput(3, n.cast(sum, type));
}

static void importSkipSimplifiedLayerNormalization(NodeImporter &n) {
  Value sum = addSkip(n, 3);
  Type type = n.getTensorType(0).getElementType();
  Dims dims = vx::getDims(typeOf(sum));
  APFloat epsilon = getEpsilon(n, 1e-12f);
  checkLastDim(n, 2, dims);
  n.setOutput(0, n.cast(emitRmsNorm(n, sum, n.widen(n.getTensor(2)), int64_t(dims.size()) - 1, epsilon), type));
  setStatistics(n, sum, /*centers=*/false, epsilon);
  n.setOutput(3, n.cast(sum, type));
}

static void importSimplifiedLayerNormalization(NodeImporter &n) {
  Value input = n.getTensor(0), scale = n.getTensor(1);
  Dims dims = vx::getDims(typeOf(input));
  if (!isa<FloatType>(elementOf(input)) || !isa<FloatType>(elementOf(scale)))
    throwInvalid("expects floats, got " + describe(input.getType()) + " and " + describe(scale.getType()));
  int64_t axis = n.getAxis("axis", -1, dims.size());
  APFloat epsilon = getEpsilon(n);
  if (int64_t stash = n.getInt("stash_type", TensorProto::FLOAT); stash != TensorProto::FLOAT)
    throwUnsupported(Advice::ReplaceOp, "expects 'stash_type' to be 1, as f32 is kept, got " + Twine(stash));
  n.setOutput(0, emitRmsNorm(n, input, scale, axis, epsilon));
  if (!n.wantsOutput(1))
    return;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(axis, dims.size()));
  Value wide = n.widen(input);
  std::fill(dims.begin() + axis, dims.end(), n.dim(1));
  Value inverse = emitInverseRoot(n, n.mean(n.emit<MulOp>(wide, wide), axes), epsilon);
  n.setOutput(1, n.reshape(n.cast(inverse, n.builder.getF32Type()), dims));
}

namespace {
struct EmbeddingInput {
  enum : unsigned { words, segments, ofWords, ofPlaces, ofSegments, scale, bias, mask, places };
};
} // namespace

/// The rows of a table that `ids` name, which count from 0; another one fails the call.
static Value takeRows(NodeImporter &n, unsigned table, Value ids) {
  Value checked = n.emit<CheckIndicesOp>(ids, n.toArray(n.getDims(table)[0]), /*from_start=*/true);
  return n.widen(n.emit<GatherOp>(n.getTensor(table), checked, 0, IntegerAttr(), /*in_range=*/true));
}

static void importEmbedLayerNormalization(NodeImporter &n) {
  using In = EmbeddingInput;
  Dims dims = n.getDims(In::words);
  if (dims.size() != 2)
    throwInvalid("expects ids of 2 dimensions, got " + describe(n.getTensorType(In::words)));
  if (n.hasInput(In::segments) != n.hasInput(In::ofSegments))
    throwInvalid(Twine("expects 'segment_ids' and 'segment_embedding' together, got only input ") +
                 Twine(n.hasInput(In::segments) ? In::segments : In::ofSegments));
  for (unsigned table : {In::ofWords, In::ofPlaces, In::ofSegments})
    if (n.hasInput(table) && n.getTensorType(table).getRank() != 2)
      throwInvalid("expects a table of 2 dimensions as input " + Twine(table) + ", got " +
                   describe(n.getTensorType(table)));
  Value sum = takeRows(n, In::ofWords, n.getTensor(In::words));
  Dims whole = vx::getDims(typeOf(sum));
  auto add = [&](Value rows) { sum = n.emit<AddOp>(sum, n.broadcast(rows, whole)); };
  for (unsigned table : {In::ofPlaces, In::ofSegments})
    if (n.hasInput(table))
      n.requireShape(table, {n.getDims(table)[0], whole[2]}); // one column would be repeated
  // Segments are added before positions, as in ONNX Runtime, since sums of floats depend on the order.
  if (n.hasInput(In::places)) {
    Dims places = n.getDims(In::places), expected = dims;
    if (!places.empty() && places[0].asConstant() == 1)
      expected[0] = n.dim(1);
    n.requireShape(In::places, expected);
    add(takeRows(n, In::ofPlaces, n.getTensor(In::places)));
  } else {
    add(takeRows(n, In::ofPlaces, n.emitAs<IotaOp>(makeTensorType({dims[1]}, n.builder.getI32Type()), 0)));
  }
  if (n.hasInput(In::segments)) {
    n.requireShape(In::segments, dims);
    add(takeRows(n, In::ofSegments, n.getTensor(In::segments)));
  }
  Type type = n.getTensorType(In::ofWords).getElementType();
  n.setOutput(0, normalizeRows(n, sum, In::scale, In::bias, getEpsilon(n, 1e-12f), type));
  if (n.wantsOutput(1)) {
    Type i32 = n.builder.getI32Type();
    Value counts = n.splat(0, makeTensorType({dims[0]}, i32));
    if (n.hasInput(In::mask)) {
      n.requireShape(In::mask, dims);
      Value mask = n.getTensor(In::mask);
      Value isWord = n.emit<CompareOp>(ComparePredicate::eq, mask, n.splatLike(1, mask));
      counts = n.reduce(ReduceKind::sum, n.cast(isWord, i32), 1);
    }
    n.setOutput(1, counts);
  }
  n.setOutput(2, n.cast(sum, type));
}

static constexpr OpTableEntry fusedNormsTable[] = {
    {"EmbedLayerNormalization", 1, newestMicrosoftOpset, importEmbedLayerNormalization},
    {"SimplifiedLayerNormalization", 1, newestMicrosoftOpset, importSimplifiedLayerNormalization},
    {"SkipLayerNormalization", 1, newestMicrosoftOpset, importSkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", 1, newestMicrosoftOpset, importSkipSimplifiedLayerNormalization},
};
const llvm::ArrayRef<OpTableEntry> fusedNormsOps = fusedNormsTable;

static constexpr OpTableEntry simplifiedNormsTable[] = {
    {"SimplifiedLayerNormalization", 1, newestOpset, importSimplifiedLayerNormalization},
};
const llvm::ArrayRef<OpTableEntry> simplifiedNormsOps = simplifiedNormsTable;

} // namespace vx::onnx
