// Boxes that overlap no better one, as a list of all images and classes.
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
    Value least = n.hasInput(4) ? readScalar(4) : n.emitScalar(-std::numeric_limits<double>::infinity(), f32);
    DimAttr rows = mulDims(batch, classes);
    Value places =
        n.emitAs<SelectBoxesOp>(n.makeType({batch, classes, rounds}, i64), boxes, n.getTensor(1), threshold, least);
    places = n.reshape(places, {rows, rounds});

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
    auto column = [&](int64_t which) {
      return n.slice(n.getTensor(0), {n.dim(0), n.dim(0), n.dim(which)}, {batch, count, n.dim(1)}, {1, 1, 1});
    };
    SmallVector<Value> low, high;
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
    llvm::append_range(low, high);
    boxes = n.emit<ConcatOp>(ValueRange(low), 2);
  }

  NodeImporter &n;
  const Type i64, f32;
  DimAttr batch, classes, count, rounds;
  Value boxes; // the least coordinates of each, then the greatest
  Value threshold;
};

} // namespace

static void importNonMaxSuppression(NodeImporter &n) { Suppression(n).import(); }

static constexpr OpTableEntry nonMaxSuppressionTable[] = {
    {"NonMaxSuppression", 10, newestOpset, importNonMaxSuppression},
};
const llvm::ArrayRef<OpTableEntry> nonMaxSuppressionOps = nonMaxSuppressionTable;

} // namespace vx::onnx
