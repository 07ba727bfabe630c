// Random numbers, from bits that depend on a key and a position alone, so they are the same on every device. A node
// with a seed draws the same numbers in each call. The other nodes of an instance get keys from a counter, so each draw
// differs.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;

namespace vx::onnx {

static Value emitKey(NodeImporter &n) {
  auto type = RankedTensorType::get({}, n.builder.getI64Type());
  if (n.hasAttribute("seed"))
    return n.emitConstant(DenseElementsAttr::get(type, int64_t(llvm::bit_cast<int32_t>(n.getFloat("seed")))));
  StringRef counter = n.model.declareCounter();
  Value key = n.emitAs<VariableLoadOp>(type, counter);
  VariableStoreOp::create(n.builder, n.location, emitShifted(n, key, 1), FlatSymbolRefAttr::get(n.context, counter));
  return key;
}

/// Random f32 or f64, uniform in [0, 1): multiples of 2^-24 or 2^-53.
static Value drawUniform(NodeImporter &n, Value key, int64_t stream, ArrayRef<DimAttr> dims, Type type) {
  Type word = IntegerType::get(n.context, 32, IntegerType::Unsigned);
  auto draw = [&](int64_t number, unsigned drops) {
    Value bits = n.emitAs<RandomBitsOp>(makeTensorType(dims, word), key, number);
    return n.cast(n.emit<DivOp>(bits, n.splatLike(std::ldexp(1, drops), bits)), type);
  };
  if (!type.isF64())
    return emitScaled(n, draw(2 * stream, 8), std::ldexp(1, -24));
  Value high = emitScaled(n, draw(2 * stream, 5), std::ldexp(1, 26));
  return emitScaled(n, n.emit<AddOp>(high, draw(2 * stream + 1, 6)), std::ldexp(1, -53));
}

/// Box and Muller: a radius from the logarithm of one number, and a direction from the other.
static Value drawNormal(NodeImporter &n, Value key, ArrayRef<DimAttr> dims, Type type) {
  Value first = drawUniform(n, key, 0, dims, type), second = drawUniform(n, key, 1, dims, type);
  Value left = n.emit<SubOp>(n.splatLike(1, first), first); // above 0
  Value radius = n.emit<SqrtOp>(emitScaled(n, n.emit<LogOp>(left), -2));
  return n.emit<MulOp>(radius, n.emit<CosOp>(emitScaled(n, second, 2 * M_PI)));
}

static Type getUniformType(NodeImporter &n, Type type) { return type.isF64() ? type : Type(n.builder.getF32Type()); }

/// The type of attribute `dtype`, or `otherwise`.
static Type getDrawnType(NodeImporter &n, Type otherwise) {
  if (n.hasAttribute("dtype"))
    return getElementType(n.context, n.getInt("dtype"), "the result");
  return otherwise;
}

static Type checkFloats(Type type) {
  if (!isa<FloatType>(type))
    throwInvalid("expects 'dtype' to be a type of floats, got " + describe(type));
  return type;
}

static void setUniform(NodeImporter &n, ArrayRef<DimAttr> dims, Type type) {
  double low = n.getFloat("low", 0.0f), high = n.getFloat("high", 1.0f);
  if (!(low <= high) || !std::isfinite(high - low))
    throwInvalid("expects finite numbers 'low' and 'high' in this order, got " + std::to_string(low) + " and " +
                 std::to_string(high));
  Value draws = drawUniform(n, emitKey(n), 0, dims, getUniformType(n, checkFloats(type)));
  n.setOutput(0, n.cast(emitShifted(n, emitScaled(n, draws, high - low), low), type));
}

static void setNormal(NodeImporter &n, ArrayRef<DimAttr> dims, Type type) {
  Value draws = drawNormal(n, emitKey(n), dims, getUniformType(n, checkFloats(type)));
  draws = emitShifted(n, emitScaled(n, draws, n.getFloat("scale", 1.0f)), n.getFloat("mean", 0.0f));
  n.setOutput(0, n.cast(draws, type));
}

static Dims getShape(NodeImporter &n) {
  std::optional<SmallVector<int64_t>> shape = n.getInts("shape");
  if (!shape)
    throwInvalid("expects attribute 'shape', got none");
  Dims dims = llvm::map_to_vector<6>(*shape, [&](int64_t size) { return n.dim(size); });
  checkTensorSizes(dims);
  return dims;
}

static void importRandomNormal(NodeImporter &n) { setNormal(n, getShape(n), getDrawnType(n, n.builder.getF32Type())); }
static void importRandomUniform(NodeImporter &n) {
  setUniform(n, getShape(n), getDrawnType(n, n.builder.getF32Type()));
}
static void importRandomNormalLike(NodeImporter &n) {
  setNormal(n, n.getDims(0), getDrawnType(n, n.getTensorType(0).getElementType()));
}
static void importRandomUniformLike(NodeImporter &n) {
  setUniform(n, n.getDims(0), getDrawnType(n, n.getTensorType(0).getElementType()));
}

static void importBernoulli(NodeImporter &n) {
  Value share = n.getTensor(0);
  if (!isa<FloatType>(elementOf(share)))
    throwInvalid("expects floats as input 0, got " + describe(share.getType()));
  Type type = getDrawnType(n, elementOf(share));
  Value wide = n.widen(share);
  Value draws = drawUniform(n, emitKey(n), 0, n.getDims(0), elementOf(wide));
  n.setOutput(0, n.cast(n.emit<CompareOp>(ComparePredicate::lt, draws, wide), type));
}

/// Gumbel's method: add a random number to each class's logarithm and take the greatest. Each class wins with its
/// probability.
static void importMultinomial(NodeImporter &n) {
  Value scores = n.getTensor(0);
  if (typeOf(scores).getRank() != 2 || !isa<FloatType>(elementOf(scores)))
    throwInvalid("expects floats of 2 dimensions as input 0, got " + describe(scores.getType()));
  Type type = getDrawnType(n, n.builder.getI32Type());
  if (!type.isSignlessInteger(32) && !type.isSignlessInteger(64))
    throwInvalid("expects 'dtype' to be i32 or i64, got " + describe(type));
  int64_t samples = n.getInt("sample_size", 1);
  if (samples < 1)
    throwInvalid("expects 'sample_size' to be at least 1, got " + Twine(samples));
  Dims dims = {n.getDims(0)[0], n.dim(samples), n.getDims(0)[1]};
  Value wide = n.widen(scores);
  Value draws = drawUniform(n, emitKey(n), 0, dims, elementOf(wide));
  Value inner = n.emit<NegOp>(n.emit<LogOp>(n.emit<SubOp>(n.splatLike(1, draws), draws)));
  inner = n.emit<MaxOp>(inner, n.splatLike(std::ldexp(1, -54), inner)); // no draw is infinite
  Value noise = n.emit<NegOp>(n.emit<LogOp>(inner));
  Value sum = n.emit<AddOp>(n.broadcastInDim(wide, dims, {0, 2}), noise);
  Value drawn = n.emit<ArgReduceOp>(ReduceKind::max, sum, 2, /*last=*/false);
  n.setOutput(0, n.cast(drawn, type));
}

static constexpr OpTableEntry randomsTable[] = {
    {"Bernoulli", 15, newestOpset, importBernoulli},
    {"Multinomial", 7, newestOpset, importMultinomial},
    {"RandomNormal", 1, newestOpset, importRandomNormal},
    {"RandomNormalLike", 1, newestOpset, importRandomNormalLike},
    {"RandomUniform", 1, newestOpset, importRandomUniform},
    {"RandomUniformLike", 1, newestOpset, importRandomUniformLike},
};
const llvm::ArrayRef<OpTableEntry> randomsOps = randomsTable;

} // namespace vx::onnx
