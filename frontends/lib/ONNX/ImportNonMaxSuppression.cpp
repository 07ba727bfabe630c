// Boxes that overlap no better one: in each round every class of every image selects its best box that is left, and
// leaves out those that overlap it.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include <limits>

using namespace mlir;

namespace vx::onnx {

namespace {

class Suppression {
public:
  explicit Suppression(NodeImporter &n) : n(n), i64(n.builder.getI64Type()), f32(n.builder.getF32Type()) {}

  void import() {
    readInputs();
    DimAttr rows = mulDims(batch, classes);
    Dims dims = {rows, count};
    Value scores = n.reshape(n.getTensor(1), dims);
    Value isLeft = n.splat(1, makeTensorType(dims, n.builder.getI1Type()));
    if (n.hasInput(4))
      isLeft = n.emit<CompareOp>(ComparePredicate::ge, scores, n.broadcastInDim(readScalar(4), dims, {}));
    Value selected = n.splat(-1, makeTensorType({rows, rounds}, i64));
    Value places = emitCountedLoop(n, rounds, {isLeft, selected}, [&](DimAttr round, ValueRange values) {
      return select(round, scores, values[0], values[1]);
    })[1];

    // [rows, rounds], -1 where nothing was left, as a list of image, class and box.
    Value isSelected = n.emit<CompareOp>(ComparePredicate::ge, places, n.splatLike(0, places));
    DimAttr total = n.bindSymbol(n.emitAs<CountNonzeroOp>(RankedTensorType::get({}, i64), isSelected),
                                 n.proto.output(0) + ".shape[0]");
    Value tuples = n.emitAs<NonzeroOp>(makeTensorType({n.dim(2), total}, i64), isSelected);
    auto takeRow = [&](int64_t which) {
      return n.reshape(n.slice(tuples, {n.dim(which), n.dim(0)}, {n.dim(1), total}, {1, 1}), total);
    };
    auto spread = [&](DimAttr number) { return n.broadcastInDim(n.emitDim(number, i64), total, {}); };
    Value row = takeRow(0), flat = n.emit<AddOp>(n.emit<MulOp>(row, spread(rounds)), takeRow(1));
    Value box = n.emit<GatherOp>(n.reshape(places, mulDims(rows, rounds)), flat, 0, IntegerAttr(), /*in_range=*/true);
    Value image = n.emit<DivOp>(row, spread(classes));
    Value ofClass = n.emit<SubOp>(row, n.emit<MulOp>(image, spread(classes)));
    SmallVector<Value> columns;
    for (Value column : {image, ofClass, box})
      columns.push_back(n.reshape(column, {total, n.dim(1)}));
    n.setOutput(0, n.emit<ConcatOp>(ValueRange(columns), 1));
  }

private:
  void readInputs() {
    RankedTensorType boxType = n.getTensorType(0), scoreType = n.getTensorType(1);
    if (boxType.getRank() != 3 || scoreType.getRank() != 3 || boxType.getElementType() != f32 ||
        scoreType.getElementType() != f32)
      throwInvalid("expects boxes and scores of f32 in 3 dimensions, got " + describe(boxType) + " and " +
                   describe(scoreType));
    batch = getDim(scoreType, 0);
    classes = getDim(scoreType, 1);
    count = getDim(scoreType, 2);
    n.requireShape(0, {batch, count, n.dim(4)});
    int64_t isCentered = n.getInt("center_point_box", 0);
    if (isCentered != 0 && isCentered != 1)
      throwInvalid("expects 'center_point_box' to be 0 or 1, got " + Twine(isCentered));
    readCorners(isCentered == 1);
    DimAttr most = n.dim(0);
    if (std::optional<Dims> known = n.hasInput(2) ? n.getContents(2) : Dims{most}) {
      if (known->size() != 1)
        throwInvalid("expects one number as input 2, got " + describe(n.getTensorType(2)));
      most = maxDims(known->front(), n.dim(0));
    } else {
      Value limit = n.cast(n.reshape(n.getTensor(2), {}), i64);
      most = n.bindSymbol(n.emit<MaxOp>(limit, n.splatLike(0, limit)), n.proto.input(2));
    }
    rounds = minDims(most, count);
    threshold = n.hasInput(3) ? readScalar(3) : n.emitScalar(0, f32);
  }

  Value readScalar(unsigned input) {
    RankedTensorType type = n.getTensorType(input);
    if (type.getElementType() != f32 || type.getRank() > 1)
      throwInvalid("expects one f32 as input " + Twine(input) + ", got " + describe(type));
    return n.reshape(n.getTensor(input), {});
  }

  /// Of each box of each image the least and the greatest coordinates.
  void readCorners(bool isCentered) {
    Dims dims = {batch, count};
    auto column = [&](int64_t which) {
      return n.reshape(n.slice(n.getTensor(0), {n.dim(0), n.dim(0), n.dim(which)}, {batch, count, n.dim(1)}, {1, 1, 1}),
                       dims);
    };
    for (int64_t d : {0, 1}) {
      Value first = column(d), second = column(2 + d);
      if (isCentered) {
        Value half = emitScaled(n, second, 0.5);
        low.push_back(n.emit<SubOp>(first, half));
        high.push_back(n.emit<AddOp>(first, half));
      } else {
        low.push_back(n.emit<MinOp>(first, second));
        high.push_back(n.emit<MaxOp>(first, second));
      }
    }
  }

  SmallVector<Value> select(DimAttr round, Value scores, Value isLeft, Value selected) {
    Dims dims = vx::getDims(typeOf(scores));
    DimAttr rows = dims[0];
    double infinity = std::numeric_limits<double>::infinity();
    Value left = n.emit<SelectOp>(isLeft, scores, n.splatLike(-infinity, scores));
    Value best = n.emit<ArgReduceOp>(ReduceKind::max, left, 1, /*last=*/false);
    // Where no score is above the one of those that are left out, the first that is left.
    Value firstLeft = n.emit<ArgReduceOp>(ReduceKind::max, n.cast(isLeft, n.builder.getI32Type()), 1, /*last=*/false);
    Value isAny = n.reduce(ReduceKind::or_, isLeft, int64_t(1));
    Value row = n.emitAs<IotaOp>(makeTensorType(rows, i64), 0);
    auto spread = [&](DimAttr number) { return n.broadcastInDim(n.emitDim(number, i64), rows, {}); };
    Value start = n.emit<MulOp>(row, spread(count));
    Value isBestLeft = n.emit<GatherOp>(n.reshape(isLeft, mulDims(rows, count)), n.emit<AddOp>(start, best), 0,
                                        IntegerAttr(), /*in_range=*/true);
    best = n.emit<SelectOp>(isBestLeft, best, firstLeft);
    Value written = n.emit<SelectOp>(isAny, best, n.splatLike(-1, best));
    selected = n.emit<UpdateSliceOp>(selected, n.emitList({round}), n.reshape(written, {rows, n.dim(1)}),
                                     ArrayRef<int64_t>(1));

    Value image = n.emit<MulOp>(n.emit<DivOp>(row, spread(classes)), spread(count));
    Value place = n.emit<AddOp>(image, best);
    auto ofBest = [&](Value corners) {
      Value own =
          n.emit<GatherOp>(n.reshape(corners, mulDims(batch, count)), place, 0, IntegerAttr(), /*in_range=*/true);
      return n.broadcastInDim(own, dims, 0);
    };
    auto ofAll = [&](Value corners) {
      return n.reshape(n.broadcastInDim(corners, {batch, classes, count}, {0, 2}), dims);
    };
    Value shared, own, other;
    for (int64_t d : {0, 1}) {
      Value bestLow = ofBest(low[d]), bestHigh = ofBest(high[d]), allLow = ofAll(low[d]), allHigh = ofAll(high[d]);
      Value common = n.emit<SubOp>(n.emit<MinOp>(bestHigh, allHigh), n.emit<MaxOp>(bestLow, allLow));
      common = n.emit<MaxOp>(common, n.splatLike(0, common));
      auto multiply = [&](Value &area, Value side) { area = area ? n.emit<MulOp>(area, side) : side; };
      multiply(shared, common);
      multiply(own, n.emit<SubOp>(bestHigh, bestLow));
      multiply(other, n.emit<SubOp>(allHigh, allLow));
    }
    Value joined = n.emit<SubOp>(n.emit<AddOp>(own, other), shared);
    auto isPositive = [&](Value value) {
      return n.emit<CompareOp>(ComparePredicate::gt, value, n.splatLike(0, value));
    };
    Value share = n.emit<DivOp>(shared, joined);
    Value overlaps = n.emit<CompareOp>(ComparePredicate::gt, share, n.broadcastInDim(threshold, dims, {}));
    overlaps = n.emit<AndOp>(overlaps, n.emit<AndOp>(isPositive(shared), isPositive(joined)));
    Value isBest = n.emit<CompareOp>(ComparePredicate::eq, n.emitAs<IotaOp>(makeTensorType(dims, i64), 1),
                                     n.broadcastInDim(best, dims, 0));
    Value stays = n.emit<NotOp>(n.emit<OrOp>(overlaps, isBest));
    return {n.emit<AndOp>(isLeft, stays), selected};
  }

  NodeImporter &n;
  const Type i64, f32;
  DimAttr batch, classes, count, rounds;
  SmallVector<Value> low, high;
  Value threshold;
};

} // namespace

static void importNonMaxSuppression(NodeImporter &n) { Suppression(n).import(); }

static constexpr OpTableEntry nonMaxSuppressionTable[] = {
    {"NonMaxSuppression", 10, newestOpset, importNonMaxSuppression},
};
const llvm::ArrayRef<OpTableEntry> nonMaxSuppressionOps = nonMaxSuppressionTable;

} // namespace vx::onnx
