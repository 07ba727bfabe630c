// Fourier transforms, whole and of windows of a signal, and the matrix that gathers their frequencies on the mel scale.
// Cosines and sines are those of an eighth of a turn, reached by integers: at quarter turns they are exact.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include <cmath>

using namespace mlir;

namespace vx::onnx {

/// Longer transforms are built of shorter ones if their length has factors.
static constexpr int64_t longestDirect = 64;
/// The longest transform with its matrix as a constant of the program.
static constexpr int64_t longestConstant = 256;

/// cos(2 pi count / length).
static double getCosine(int64_t count, int64_t length) {
  // In eighths of a turn by the length: `length` of these are an eighth.
  int64_t place = 8 * (((count % length) + length) % length);
  place = std::min(place, 8 * length - place);
  bool isNegative = place > 2 * length;
  if (isNegative)
    place = 4 * length - place;
  double step = M_PI / 4 / double(length);
  double value = place > length ? std::sin(double(2 * length - place) * step) : std::cos(double(place) * step);
  return isNegative ? -value : value;
}
static double getSine(int64_t count, int64_t length) {
  // A quarter of a turn back: four times as many parts, of four times the length.
  return getCosine(4 * (count % length) - length, 4 * length);
}

namespace {

class Fourier {
public:
  Fourier(NodeImporter &n, Type type, bool isInverse) : n(n), type(type), isInverse(isInverse) {}

  /// Returns the first `kept` frequencies along dimension 1 of x [before, length, after, 1 or 2]: [before, kept, after,
  /// 2].
  Value transform(Value x, DimAttr kept) {
    Dims dims = vx::getDims(typeOf(x));
    std::optional<int64_t> length = dims[1].asConstant();
    int64_t factor = length ? getFactor(*length) : 0;
    if (factor == 0)
      return multiply(x, kept);
    // Of each `rest`-th place, then of those that lie together: frequency k is frequency k mod `factor` of the former.
    int64_t rest = *length / factor;
    Value inner = n.reshape(x, {dims[0], n.dim(factor), mulDims(n.dim(rest), dims[2]), dims[3]});
    Dims parts = {dims[0], n.dim(factor), n.dim(rest), dims[2], n.dim(2)};
    inner = turn(n.reshape(transform(inner, n.dim(factor)), parts), *length);
    inner = n.reshape(n.transpose(inner, {0, 2, 1, 3, 4}),
                      {dims[0], n.dim(rest), mulDims(n.dim(factor), dims[2]), n.dim(2)});
    Dims whole = {dims[0], dims[1], dims[2], n.dim(2)};
    Value all = n.reshape(transform(inner, n.dim(rest)), whole);
    whole[1] = kept;
    return n.slice(all, Dims(4, n.dim(0)), whole, {1, 1, 1, 1});
  }

  /// The real signal of `length` places whose first frequencies are x [before, length / 2 + 1, behind, 2], by `length`.
  Value transformHermitian(Value x, DimAttr length) {
    Type i64 = n.builder.getI64Type();
    RankedTensorType places = makeTensorType(length, i64);
    Value place = n.emitAs<IotaOp>(places, 0), last = n.broadcastInDim(n.emitDim(length, i64), length, {});
    Value mirrored = n.emit<SubOp>(last, place);
    Value index = n.emit<MinOp>(place, mirrored);
    // The others are conjugates of these; those that are their own conjugates are real.
    Value sign = n.cast(n.emit<SignOp>(n.emit<SubOp>(mirrored, place)), type);
    sign = n.emit<SelectOp>(n.emit<CompareOp>(ComparePredicate::eq, place, n.splatLike(0, place)), n.splatLike(0, sign),
                            sign);
    Value all = n.emit<GatherOp>(x, index, 1, IntegerAttr(), /*in_range=*/true);
    Dims dims = vx::getDims(typeOf(all)), part = dims;
    part[3] = n.dim(1);
    Value imaginary = n.emit<MulOp>(takePart(all, 1), n.broadcastInDim(sign, part, 1));
    all = n.emit<ConcatOp>(ValueRange{takePart(all, 0), imaginary}, 3);
    return takePart(transform(all, length), 0);
  }

private:
  /// Returns the greatest divisor of the length up to `longestDirect`; 0 if no factor is needed.
  static int64_t getFactor(int64_t length) {
    if (length <= longestDirect)
      return 0;
    for (int64_t factor = longestDirect; factor > 1; --factor)
      if (length % factor == 0)
        return factor;
    return 0;
  }

  Value takePart(Value x, int64_t part) {
    Dims starts(4, n.dim(0)), sizes = vx::getDims(typeOf(x));
    starts[3] = n.dim(part);
    sizes[3] = n.dim(1);
    return n.slice(x, starts, sizes, {1, 1, 1, 1});
  }

  Value emitNumbers(ArrayRef<DimAttr> dims, ArrayRef<double> numbers) {
    RankedTensorType tensorType = makeTensorType(dims, type);
    if (type.isF64())
      return n.emitConstant(DenseElementsAttr::get(tensorType, numbers));
    SmallVector<float> rounded(numbers.begin(), numbers.end());
    return n.emitConstant(DenseElementsAttr::get(tensorType, ArrayRef<float>(rounded)));
  }

  /// Each place (k, n) of dimensions 1 and 2 by e^(-2 pi i k n / length).
  Value turn(Value x, int64_t length) {
    Dims dims = vx::getDims(typeOf(x)), part = dims;
    part[4] = n.dim(1);
    SmallVector<double> cosines, sines;
    for (int64_t k = 0; k < *dims[1].asConstant(); ++k)
      for (int64_t place = 0; place < *dims[2].asConstant(); ++place) {
        cosines.push_back(getCosine(k * place, length));
        sines.push_back(isInverse ? getSine(k * place, length) : 0 - getSine(k * place, length));
      }
    auto spread = [&](ArrayRef<double> numbers) {
      return n.broadcastInDim(emitNumbers({dims[1], dims[2]}, numbers), part, {1, 2});
    };
    auto take = [&](int64_t which) {
      Dims starts(5, n.dim(0));
      starts[4] = n.dim(which);
      return n.slice(x, starts, part, {1, 1, 1, 1, 1});
    };
    Value real = take(0), imaginary = take(1), cosine = spread(cosines), sine = spread(sines);
    Value parts[] = {
        n.emit<SubOp>(n.emit<MulOp>(real, cosine), n.emit<MulOp>(imaginary, sine)),
        n.emit<AddOp>(n.emit<MulOp>(real, sine), n.emit<MulOp>(imaginary, cosine)),
    };
    return n.emit<ConcatOp>(ValueRange(parts), 4);
  }

  /// By the matrix of the whole transform.
  Value multiply(Value x, DimAttr kept) {
    Dims dims = vx::getDims(typeOf(x));
    Value matrix = makeMatrix(dims[1], dims[3], kept);
    int64_t summed[] = {1, 3}, rows[] = {0, 1};
    Value product =
        n.emit<ContractOp>(x, matrix, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef(summed), ArrayRef(rows));
    return n.transpose(product, {0, 2, 1, 3});
  }

  /// [length, parts, kept, 2]
  Value makeMatrix(DimAttr length, DimAttr parts, DimAttr kept) {
    std::optional<int64_t> rows = length.asConstant(), columns = kept.asConstant();
    Dims dims = {length, parts, kept, n.dim(2)};
    if (!rows || !columns || *rows > longestConstant)
      return computeMatrix(dims);
    SmallVector<double> numbers;
    for (int64_t row = 0; row < *rows; ++row)
      for (int64_t part = 0; part < *parts.asConstant(); ++part)
        for (int64_t column = 0; column < *columns; ++column) {
          double cosine = getCosine(row * column, *rows), sine = getSine(row * column, *rows);
          if (!isInverse)
            sine = 0 - sine; // no negative zero
          numbers.append(part == 0 ? std::initializer_list<double>{cosine, sine}
                                   : std::initializer_list<double>{-sine, cosine});
        }
    return emitNumbers(dims, numbers);
  }

  /// The same, computed where the program runs.
  Value computeMatrix(ArrayRef<DimAttr> dims) {
    Type i64 = n.builder.getI64Type();
    RankedTensorType placesType = makeTensorType({dims[0], dims[2]}, i64);
    auto spread = [&](Value scalar) { return n.broadcastInDim(scalar, {dims[0], dims[2]}, {}); };
    Value length = spread(n.emitDim(dims[0], i64));
    auto scaled = [&](Value value, int64_t factor) { return n.emit<MulOp>(value, n.splatLike(double(factor), value)); };
    Value product = n.emit<MulOp>(n.emitAs<IotaOp>(placesType, 0), n.emitAs<IotaOp>(placesType, 1));
    Value count = scaled(n.emit<RemOp>(product, length), 8);
    Value step = spread(n.emit<DivOp>(n.emitScalar(M_PI / 4, type), n.emitDim(dims[0], type)));
    // As getCosine, of `place` from 0 to 8 times the length.
    auto getCosines = [&](Value place) {
      place = n.emit<MinOp>(place, n.emit<SubOp>(scaled(length, 8), place));
      Value isNegative = n.emit<CompareOp>(ComparePredicate::gt, place, scaled(length, 2));
      place = n.emit<SelectOp>(isNegative, n.emit<SubOp>(scaled(length, 4), place), place);
      Value isSine = n.emit<CompareOp>(ComparePredicate::gt, place, length);
      place = n.emit<SelectOp>(isSine, n.emit<SubOp>(scaled(length, 2), place), place);
      Value angle = n.emit<MulOp>(n.cast(place, type), step);
      Value value = n.emit<SelectOp>(isSine, n.emit<SinOp>(angle), n.emit<CosOp>(angle));
      return n.emit<SelectOp>(isNegative, n.emit<NegOp>(value), value);
    };
    Value back = n.emit<AddOp>(count, scaled(length, isInverse ? 6 : 2)); // cos(x - pi / 2), or cos(x + pi / 2)
    Value cosine = getCosines(count), sine = getCosines(n.emit<RemOp>(back, scaled(length, 8)));
    Dims single = {dims[0], n.dim(1), dims[2], n.dim(1)};
    cosine = n.reshape(cosine, single);
    sine = n.reshape(sine, single);
    auto pair = [&](Value first, Value second) { return n.emit<ConcatOp>(ValueRange{first, second}, 3); };
    Value rows = pair(cosine, sine);
    if (dims[1].asConstant() == 1)
      return rows;
    return n.emit<ConcatOp>(ValueRange{rows, pair(n.emit<NegOp>(sine), cosine)}, 1);
  }

  NodeImporter &n;
  const Type type;
  const bool isInverse;
};

} // namespace

/// One length in an input, of at least 1.
static DimAttr getLength(NodeImporter &n, unsigned input) {
  DimAttr length = n.getInteger(input);
  if (std::optional<int64_t> known = length.asConstant(); known && *known < 1)
    throwInvalid("expects a length of at least 1 as input " + Twine(input) + ", got " + Twine(*known));
  n.require(ConstraintKind::at_least, length, n.dim(1));
  return length;
}

/// Reads a signal with the parts of its values as the last dimension: 1 if they are real, 2 if they are complex. If the
/// number of parts is known at run time only, the signal becomes complex.
static Value readSignal(NodeImporter &n, std::optional<int64_t> wanted) {
  Value signal = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(signal));
  if (!isa<FloatType>(elementOf(signal)) || dims.size() < 2)
    throwInvalid("expects floats of 2 or more dimensions as input 0, got " + describe(signal.getType()));
  std::optional<int64_t> parts = dims.back().asConstant();
  if (parts && (wanted ? *parts != *wanted : *parts != 1 && *parts != 2))
    throwInvalid("expects " + (wanted ? Twine(*wanted).str() : std::string("1 or 2")) +
                 " places in the last dimension of input 0, got " + describe(signal.getType()));
  if (parts)
    return signal;
  if (wanted) {
    n.require(ConstraintKind::equal, dims.back(), n.dim(*wanted));
  } else {
    n.require(ConstraintKind::at_least, n.dim(2), dims.back());
    Dims none(dims.size(), n.dim(0)), high = none;
    high.back() = subDims(n.dim(2), dims.back());
    signal = n.pad(signal, none, high);
  }
  dims.back() = n.dim(wanted.value_or(2));
  return n.reshape(signal, dims);
}

/// Cuts dimension 1 to `length`, or appends zeros.
static Value fitLength(NodeImporter &n, Value x, DimAttr length) {
  Dims dims = vx::getDims(typeOf(x));
  if (dims[1] == length)
    return x;
  DimAttr shared = minDims(dims[1], length);
  Dims sizes = dims, high(dims.size(), n.dim(0));
  sizes[1] = shared;
  x = n.slice(x, Dims(dims.size(), n.dim(0)), sizes, SmallVector<int64_t>(dims.size(), 1));
  high[1] = subDims(length, shared);
  x = n.pad(x, Dims(dims.size(), n.dim(0)), high);
  sizes[1] = length;
  return n.reshape(x, sizes);
}

static void importDFT(NodeImporter &n) {
  bool isInverse = n.getFlag("inverse", false), isOneSided = n.getFlag("onesided", false);
  Value input = readSignal(n, isOneSided ? std::optional<int64_t>(isInverse ? 2 : 1) : std::nullopt);
  Dims dims = vx::getDims(typeOf(input));
  int64_t rank = dims.size();

  Dims result = dims;
  DimAttr size, before, behind;
  std::optional<int64_t> axis;
  AroundAxis bound;
  if (n.version < 20)
    axis = n.getInt("axis", 1);
  else if (!n.hasInput(2))
    axis = -2;
  else if (std::optional<Dims> contents = n.getContents(2); contents && contents->size() == 1)
    axis = contents->front().asConstant();
  if (axis) {
    int64_t place = n.normalizeAxis(*axis, rank, "axis");
    if (place == rank - 1)
      throwInvalid("expects 'axis' to be no dimension of the parts of numbers, got " + Twine(*axis));
    axis = place;
    size = dims[place];
    before = productOf(n.context, ArrayRef<DimAttr>(dims).take_front(place));
    behind = productOf(n.context, ArrayRef<DimAttr>(dims).drop_back().drop_front(place + 1));
  } else {
    Dims signal = dims;
    signal.back() = n.dim(1);
    bound = bindAroundAxis(n, 2, signal);
    n.require(ConstraintKind::at_least, n.dim(rank - 2), bound.axis);
    size = bound.along;
    before = bound.before;
    behind = bound.behind;
  }
  DimAttr length = size;
  if (n.hasInput(1))
    length = getLength(n, 1);
  else if (isInverse && isOneSided)
    length = mulDims(subDims(size, n.dim(1)), n.dim(2));
  DimAttr half = addDims(floorDivDims(length, n.dim(2)), n.dim(1)), kept = isOneSided && !isInverse ? half : length;

  Value x = n.widen(input);
  x = fitLength(n, n.reshape(x, {before, size, behind, dims.back()}), isOneSided && isInverse ? half : length);
  Fourier fourier(n, elementOf(x), isInverse);
  x = isOneSided && isInverse ? fourier.transformHermitian(x, length) : fourier.transform(x, kept);
  if (isInverse)
    x = n.emit<DivOp>(x, n.broadcastInDim(n.emitDim(length, elementOf(x)), vx::getDims(typeOf(x)), {}));
  result.back() = n.dim(isOneSided && isInverse ? 1 : 2);
  if (axis) {
    result[*axis] = kept;
  } else if (kept != size) {
    // Read back: as expressions each would be one of two sizes, and their product one of all choices.
    Type i64 = n.builder.getI64Type();
    Value sizes = n.emitList(ArrayRef<DimAttr>(dims).drop_back());
    auto spread = [&](DimAttr number) {
      return n.broadcastInDim(n.emitDim(number, i64), vx::getDims(typeOf(sizes)), {});
    };
    Value isAxis = n.emit<CompareOp>(ComparePredicate::eq, n.emitAs<IotaOp>(typeOf(sizes), 0), spread(bound.axis));
    Dims bindings = n.bindElements(n.emit<SelectOp>(isAxis, spread(kept), sizes), n.proto.output(0) + ".shape");
    llvm::copy(bindings, result.begin());
  }
  n.setOutput(0, n.cast(n.reshape(x, result), elementOf(input)));
}

static void importSTFT(NodeImporter &n) {
  bool isOneSided = n.getFlag("onesided", true);
  // PyTorch's exporter leaves the last dimension, of one real part, out.
  Value input, window;
  if (n.getTensorType(0).getRank() == 2) {
    input = n.getTensor(0);
    Dims all = vx::getDims(typeOf(input));
    all.push_back(n.dim(1));
    input = n.reshape(input, all);
  } else {
    input = readSignal(n, isOneSided ? std::optional<int64_t>(1) : std::nullopt);
  }
  Dims dims = vx::getDims(typeOf(input));
  if (dims.size() != 3)
    throwInvalid("expects a signal of 2 or 3 dimensions, got " + describe(input.getType()));
  DimAttr step = getLength(n, 1), length = dims[1];
  if (n.hasInput(2)) {
    window = n.getTensor(2);
    if (typeOf(window).getRank() != 1 || elementOf(window) != elementOf(input))
      throwInvalid("expects a window of 1 dimension and of the signal's elements, got " + describe(window.getType()) +
                   " for " + describe(input.getType()));
    length = n.getDims(2)[0];
  }
  if (n.hasInput(3)) {
    length = getLength(n, 3);
    if (window)
      n.requireShape(2, length);
  }
  n.require(ConstraintKind::at_least, dims[1], length);
  DimAttr frames = addDims(floorDivDims(subDims(dims[1], length), step), n.dim(1));

  Type i64 = n.builder.getI64Type();
  Dims grid = {frames, length};
  RankedTensorType places = makeTensorType(grid, i64);
  Value first = n.emit<MulOp>(n.emitAs<IotaOp>(places, 0), n.broadcastInDim(n.emitDim(step, i64), grid, {}));
  Value place = n.emit<AddOp>(first, n.emitAs<IotaOp>(places, 1));
  Value x = n.widen(n.emit<GatherOp>(input, place, 1, IntegerAttr(), /*in_range=*/true));
  if (window)
    x = n.emit<MulOp>(x, n.broadcastInDim(n.widen(window), vx::getDims(typeOf(x)), 2));
  x = n.reshape(x, {mulDims(dims[0], frames), length, n.dim(1), dims[2]});
  DimAttr kept = isOneSided ? addDims(floorDivDims(length, n.dim(2)), n.dim(1)) : length;
  x = Fourier(n, elementOf(x), /*isInverse=*/false).transform(x, kept);
  n.setOutput(0, n.cast(n.reshape(x, {dims[0], frames, kept, n.dim(2)}), elementOf(input)));
}

static void importMelWeightMatrix(NodeImporter &n) {
  Type type = getElementType(n.context, n.getInt("output_datatype", 1), "the result");
  if (!isa<FloatType, IntegerType>(type) || type.isInteger(1))
    throwInvalid("expects 'output_datatype' to be a type of numbers, got " + describe(type));
  DimAttr bands = getLength(n, 0), length = getLength(n, 1), rate = getLength(n, 2);
  // Rounding down to an index needs full precision.
  Type f64 = n.builder.getF64Type(), i64 = n.builder.getI64Type();
  auto readLog = [&](unsigned input) { // ln(1 + f / 700): the mel scale up to a factor
    RankedTensorType edgeType = n.getTensorType(input);
    if (!isa<FloatType>(edgeType.getElementType()) || edgeType.getRank() > 1)
      throwInvalid("expects one float as input " + Twine(input) + ", got " + describe(edgeType));
    Value edge = n.cast(n.reshape(n.getTensor(input), {}), f64);
    return n.emit<LogOp>(emitShifted(n, n.emit<DivOp>(edge, n.emitScalar(700, f64)), 1));
  };
  Value low = readLog(3), high = readLog(4);
  Value step = n.emit<DivOp>(n.emit<SubOp>(high, low), n.emitDim(addDims(bands, n.dim(2)), f64));
  DimAttr half = addDims(floorDivDims(length, n.dim(2)), n.dim(1));
  Dims dims = {half, bands};
  auto spread = [&](Value scalar) { return n.broadcastInDim(scalar, bands, {}); };
  // The positions of the edges of a band's triangle.
  auto getEdge = [&](int64_t number) {
    Value band = emitShifted(n, n.emitAs<IotaOp>(makeTensorType(bands, f64), 0), double(number));
    Value power = n.emit<ExpOp>(n.emit<AddOp>(n.emit<MulOp>(band, spread(step)), spread(low)));
    Value hertz = emitScaled(n, emitShifted(n, power, -1), 700);
    Value place = n.emit<DivOp>(n.emit<MulOp>(hertz, spread(n.emitDim(addDims(length, n.dim(1)), f64))),
                                spread(n.emitDim(rate, f64)));
    return n.broadcastInDim(n.cast(n.emit<FloorOp>(place), i64), dims, 1);
  };
  Value left = getEdge(0), center = getEdge(1), right = getEdge(2);
  Value place = n.emitAs<IotaOp>(makeTensorType(dims, i64), 0);
  auto share = [&](Value part, Value whole) { return n.emit<DivOp>(n.cast(part, f64), n.cast(whole, f64)); };
  Value rise = share(n.emit<SubOp>(place, left), n.emit<SubOp>(center, left));
  Value fall = share(n.emit<SubOp>(right, place), n.emit<SubOp>(right, center));
  auto is = [&](ComparePredicate predicate, Value edge) { return n.emit<CompareOp>(predicate, place, edge); };
  Value isRising = n.emit<AndOp>(is(ComparePredicate::ge, left), is(ComparePredicate::lt, center));
  Value isFalling = n.emit<AndOp>(is(ComparePredicate::gt, center), is(ComparePredicate::lt, right));
  Value weight = n.emit<SelectOp>(isFalling, fall, n.splatLike(0, fall));
  weight = n.emit<SelectOp>(isRising, rise, weight);
  weight = n.emit<SelectOp>(is(ComparePredicate::eq, center), n.splatLike(1, weight), weight);
  n.setOutput(0, n.cast(weight, type));
}

static constexpr OpTableEntry fourierTable[] = {
    {"DFT", 17, newestOpset, importDFT},
    {"MelWeightMatrix", 17, newestOpset, importMelWeightMatrix},
    {"STFT", 17, newestOpset, importSTFT},
};
const llvm::ArrayRef<OpTableEntry> fourierOps = fourierTable;

} // namespace vx::onnx
