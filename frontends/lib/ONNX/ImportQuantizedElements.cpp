// Ops of ONNX Runtime with inputs and outputs that are quantised to 8 bits. Each dequantises its inputs, computes, and
// rounds the result once.
#include "IntegerParts.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

/// The one number of input `index`, as a tensor of no dimension.
static Value getSingle(NodeImporter &n, unsigned index, StringRef what) {
  n.checkIsSingle(index, what);
  return n.reshape(n.getTensor(index), {});
}

/// The scale at `index` as f32 of no dimension.
static Value getScale(NodeImporter &n, unsigned index) {
  return n.cast(getSingle(n, index, "scale"), n.builder.getF32Type());
}

/// `number` in each place of `like`; null for null.
static Value spreadTo(NodeImporter &n, Value number, Value like) {
  return number ? n.broadcastInDim(number, vx::getDims(typeOf(like)), {}) : Value();
}

/// The zero point at `index`, where there is one, of the type of `elements`; else null.
static Value getSingleZero(NodeImporter &n, unsigned index, Type elements) {
  if (!n.hasInput(index))
    return {};
  if (n.getElementType(index) != elements)
    throwInvalid("expects a zero point of the elements' type: " + describe(elements) + ", got " +
                 describe(n.getTensorType(index)));
  return getSingle(n, index, "zero point");
}

static IntegerType checkByte(Type type) {
  if (!type.isInteger(8))
    throwInvalid("expects integers of 8 bits, got " + describe(type));
  return cast<IntegerType>(type);
}

/// The bytes of input `index` less the zero point at `zeroIndex`, times `scale`, in f32.
static Value takeNumbers(NodeImporter &n, unsigned index, unsigned zeroIndex, Value scale) {
  Value bytes = n.getTensor(index);
  Type type = checkByte(elementOf(bytes));
  return emitDequantized(n, bytes, spreadTo(n, scale, bytes), spreadTo(n, getSingleZero(n, zeroIndex, type), bytes));
}

/// Dequantises input `index`. Its scale and its zero point are the next inputs.
static Value takeNumbers(NodeImporter &n, unsigned index) {
  return takeNumbers(n, index, index + 2, getScale(n, index + 1));
}

/// Quantises values to bytes of `type` by a scale and the zero point at `zeroIndex`.
static Value roundToBytes(NodeImporter &n, Value numbers, Value scale, unsigned zeroIndex, Type type) {
  Value zero = getSingleZero(n, zeroIndex, checkByte(type));
  return emitQuantized(n, numbers, spreadTo(n, scale, numbers), spreadTo(n, zero, numbers), type);
}

/// The same by the scale at `scaleIndex`.
static Value quantizeNumbers(NodeImporter &n, Value numbers, unsigned scaleIndex, unsigned zeroIndex, Type type) {
  return roundToBytes(n, numbers, getScale(n, scaleIndex), zeroIndex, type);
}

//===-- Elementwise ---------------------------------------------------------------------------===//

static void importQLinearAdd(NodeImporter &n) {
  Value both[] = {takeNumbers(n, 0), takeNumbers(n, 3)};
  n.broadcastTogether(both);
  n.setOutput(0, quantizeNumbers(n, n.emit<AddOp>(both[0], both[1]), 6, 7, n.getElementType(0)));
}

static void importQLinearMul(NodeImporter &n) {
  // The product of the bytes is a whole number, so that there is one factor.
  Value one = n.emitScalar(1, n.builder.getF32Type());
  Value both[] = {takeNumbers(n, 0, 2, one), takeNumbers(n, 3, 5, one)};
  n.broadcastTogether(both);
  Value product = n.emit<MulOp>(both[0], both[1]);
  Value factor = n.emit<DivOp>(n.emit<MulOp>(getScale(n, 1), getScale(n, 4)), getScale(n, 6));
  Value quotient = n.emit<MulOp>(product, spreadTo(n, factor, product));
  n.setOutput(0, roundToBytes(n, quotient, one, 7, n.getElementType(0)));
}

static void importQLinearSigmoid(NodeImporter &n) {
  n.setOutput(0, quantizeNumbers(n, emitSigmoid(n, takeNumbers(n, 0)), 3, 4, n.getElementType(0)));
}

static void importQLinearConcat(NodeImporter &n) {
  const unsigned count = n.getNumInputs();
  if (count < 5 || (count - 2) % 3 != 0)
    throwInvalid("expects 2 inputs and 3 for each tensor, its scale and zero point among them, got " + Twine(count));
  Type type = n.getElementType(1);
  SmallVector<Value> parts;
  for (unsigned index = 2; index < count; index += 3) {
    if (n.getElementType(index) != type)
      throwInvalid("expects inputs 1 and " + Twine(index) + " of one type, got " + describe(n.getTensorType(1)) +
                   " and " + describe(n.getTensorType(index)));
    parts.push_back(quantizeNumbers(n, takeNumbers(n, index), 0, 1, type));
  }
  int64_t axis = n.getAxis("axis", std::nullopt, typeOf(parts.front()).getRank());
  n.setOutput(0, parts.size() == 1 ? parts.front() : n.emit<ConcatOp>(ValueRange(parts), axis));
}

//===-- Pools ---------------------------------------------------------------------------------===//

/// Sets the output to the result of `pool` for the dequantised input 0, with its channels as the second dimension.
static void importQuantizedPool(NodeImporter &n, llvm::function_ref<Value(Value)> pool) {
  const int64_t rank = n.getTensorType(0).getRank();
  if (rank < 3)
    throwInvalid("expects an input of 3 or more dimensions, got " + describe(n.getTensorType(0)));
  Value numbers = takeNumbers(n, 0);
  SmallVector<int64_t> inward = {0, rank - 1}, outward = {0};
  for (int64_t d = 1; d < rank - 1; ++d)
    inward.push_back(d);
  for (int64_t d = 2; d < rank; ++d)
    outward.push_back(d);
  outward.push_back(1);
  const bool isLast = n.getFlag("channels_last", false);
  Value result = pool(isLast ? n.transpose(numbers, inward) : numbers);
  n.setOutput(0, quantizeNumbers(n, isLast ? n.transpose(result, outward) : result, 3, 4, n.getElementType(0)));
}

static void importQLinearAveragePool(NodeImporter &n) {
  importQuantizedPool(n, [&](Value numbers) { return emitAveragePool(n, numbers); });
}

static void importQLinearGlobalAveragePool(NodeImporter &n) {
  importQuantizedPool(n, [&](Value numbers) {
    Dims dims = vx::getDims(typeOf(numbers));
    Value mean = n.mean(numbers, llvm::to_vector(llvm::seq<int64_t>(2, dims.size())));
    std::fill(dims.begin() + 2, dims.end(), n.dim(1));
    return n.reshape(mean, dims);
  });
}

//===-- Products ------------------------------------------------------------------------------===//

/// A factor of QGemm with the dimensions of its side, and its zero point.
static Bytes takeFactor(NodeImporter &n, unsigned index, bool isLeft) {
  Value elements = n.getTensor(index);
  checkByte(elementOf(elements));
  if (typeOf(elements).getRank() != 2)
    throwInvalid("expects a matrix as input " + Twine(index) + ", got " + describe(elements.getType()));
  if (n.getFlag(isLeft ? "transA" : "transB", false))
    elements = n.transpose(elements, {1, 0});
  if (isLeft)
    (void)getSingleZero(n, index + 2, elementOf(elements)); // one for all
  else if (n.getElementType(index + 2) != elementOf(elements))
    throwInvalid("expects a zero point of the elements' type: " + describe(elementOf(elements)) + ", got " +
                 describe(n.getTensorType(index + 2)));
  Value zero = alignWithMatrix(n, n.getTensor(index + 2), elements, isLeft, "a zero point");
  std::optional<SmallVector<int64_t>> known = n.getConstantIntegers(index + 2);
  if (known && llvm::all_of(*known, [](int64_t value) { return value == 0; }))
    zero = {};
  return {elements, zero};
}

static void importQGemm(NodeImporter &n) {
  Bytes lhs = takeFactor(n, 0, /*isLeft=*/true), rhs = takeFactor(n, 3, /*isLeft=*/false);
  Value sums = emitBytesMatMul(n, lhs, rhs);
  Dims dims = vx::getDims(typeOf(sums));
  if (n.hasInput(6)) {
    if (elementOf(n.getTensor(6)) != elementOf(sums))
      throwInvalid("expects i32 as input 6, got " + describe(n.getTensorType(6)));
    sums = n.emit<AddOp>(sums, n.broadcast(n.getTensor(6), dims));
  }
  Value scales[] = {getScale(n, 1), alignWithMatrix(n, n.getTensor(4), rhs.elements, false, "a scale")};
  n.broadcastTogether(scales);
  Value factor = n.emit<MulOp>(scales[0], scales[1]);
  factor = n.emit<MulOp>(factor, n.splatLike(n.getFloat("alpha", 1.0f), factor));
  Value result = n.emit<MulOp>(n.cast(sums, n.builder.getF32Type()), n.broadcast(factor, dims));
  // The zero point decides, as in ONNX Runtime: without it the result is floats.
  if (!n.hasInput(8))
    return n.setOutput(0, result);
  if (!n.hasInput(7))
    throwInvalid("expects 'y_scale' with 'y_zero_point', got input 8 alone");
  n.setOutput(0, quantizeNumbers(n, result, 7, 8, n.getElementType(8)));
}

//===-- To integers and back ------------------------------------------------------------------===//

static void importMicrosoftQuantizeLinear(NodeImporter &n) { importAs(n, "QuantizeLinear", 19); }
static void importMicrosoftDequantizeLinear(NodeImporter &n) { importAs(n, "DequantizeLinear", 19); }

static constexpr OpTableEntry quantizedElementsTable[] = {
    {"DequantizeLinear", 1, newestMicrosoftOpset, importMicrosoftDequantizeLinear},
    {"QGemm", 1, newestMicrosoftOpset, importQGemm},
    {"QLinearAdd", 1, newestMicrosoftOpset, importQLinearAdd},
    {"QLinearAveragePool", 1, newestMicrosoftOpset, importQLinearAveragePool},
    {"QLinearConcat", 1, newestMicrosoftOpset, importQLinearConcat},
    {"QLinearGlobalAveragePool", 1, newestMicrosoftOpset, importQLinearGlobalAveragePool},
    {"QLinearMul", 1, newestMicrosoftOpset, importQLinearMul},
    {"QLinearSigmoid", 1, newestMicrosoftOpset, importQLinearSigmoid},
    {"QuantizeLinear", 1, newestMicrosoftOpset, importMicrosoftQuantizeLinear},
};
const llvm::ArrayRef<OpTableEntry> quantizedElementsOps = quantizedElementsTable;

} // namespace vx::onnx
