// Softmax and norms as reductions of rows and elementwise ops on them. All is computed in the accumulator's type and
// rounded once.
#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// The rows of a tensor: the maps from its dimensions, and reductions along them.
class Rows {
public:
  Rows(KernelLowering &lowering, Location loc, RankedTensorType type, ArrayRef<int64_t> axes)
      : lowering(lowering), loc(loc), type(type), iterators(type.getRank(), utils::IteratorType::parallel) {
    MLIRContext *context = loc.getContext();
    SmallVector<AffineExpr> kept, along;
    SmallVector<DimAttr> rowDims;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (llvm::is_contained(axes, d)) {
        iterators[d] = utils::IteratorType::reduction;
        along.push_back(getAffineDimExpr(d, context));
      } else {
        kept.push_back(getAffineDimExpr(d, context));
        rowDims.push_back(getDim(type, d));
      }
    }
    accumulator = getAccumulatorType(type.getElementType());
    rowType = getTensorType(rowDims, accumulator);
    identity = AffineMap::getMultiDimIdentityMap(type.getRank(), context);
    rowMap = AffineMap::get(type.getRank(), 0, kept, context);
    columnMap = AffineMap::get(type.getRank(), 0, along, context);
  }

  /// Combines body(elements...) along each row.
  Value reduce(ReduceKind kind, ValueRange operands, ArrayRef<AffineMap> maps, BodyBuilder body) {
    Value init = lowering.filled(loc, rowType, getIdentity(kind, accumulator, accumulator));
    SmallVector<AffineMap> allMaps(maps);
    allMaps.push_back(rowMap);
    auto op = linalg::GenericOp::create(lowering.builder, loc, init.getType(), operands, init, allMaps, iterators,
                                        [&](OpBuilder &b, Location l, ValueRange args) {
                                          Value value = body(b, l, args.drop_back());
                                          linalg::YieldOp::create(
                                              b, l, combineScalars(b, l, kind, value, args.back(), accumulator));
                                        });
    return op.getResult(0);
  }
  Value perRow(Value operand, BodyBuilder body) {
    return lowering.elementwise(loc, rowType, accumulator, operand, body);
  }
  /// The result: one element for each element of the input, rounded to its type.
  Value perElement(ValueRange operands, ArrayRef<AffineMap> maps, BodyBuilder body) {
    return lowering.parallel(loc, type, type.getElementType(), operands, maps,
                             [&](OpBuilder &b, Location l, ValueRange args) {
                               return narrow(b, l, body(b, l, args), type.getElementType());
                             });
  }

  KernelLowering &lowering;
  Location loc;
  RankedTensorType type, rowType;
  SmallVector<utils::IteratorType> iterators;
  AffineMap identity, rowMap, columnMap;
  Type accumulator;
};

Value lowerSoftmax(KernelLowering &lowering, SoftmaxOp op) {
  Rows rows(lowering, op.getLoc(), typeOf(op.getResult()), op.getRowAxes());
  Value input = lowering.get(op.getInput());
  Value greatest = rows.reduce(ReduceKind::max, input, rows.identity,
                               [](OpBuilder &b, Location l, ValueRange args) { return widen(b, l, args[0]); });
  auto shifted = [](OpBuilder &b, Location l, Value element, Value max) -> Value {
    return arith::SubFOp::create(b, l, widen(b, l, element), max);
  };
  SmallVector<AffineMap> maps = {rows.identity, rows.rowMap};
  Value weights = lowering.parallel(op.getLoc(), rows.type, rows.accumulator, {input, greatest}, maps,
                                    [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                                      return math::ExpOp::create(b, l, shifted(b, l, args[0], args[1]));
                                    });
  Value sum = rows.reduce(ReduceKind::sum, weights, rows.identity,
                          [](OpBuilder &, Location, ValueRange args) { return args[0]; });
  if (op.getLog()) {
    Value shift = rows.perRow(
        sum, [](OpBuilder &b, Location l, ValueRange args) -> Value { return math::LogOp::create(b, l, args[0]); });
    return rows.perElement({input, greatest, shift}, {rows.identity, rows.rowMap, rows.rowMap},
                           [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                             return arith::SubFOp::create(b, l, shifted(b, l, args[0], args[1]), args[2]);
                           });
  }
  // A division for each row; the sum is at least 1.
  Value scale = rows.perRow(sum, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
    return arith::DivFOp::create(b, l, constantScalar(b, l, rows.accumulator, 1), args[0]);
  });
  return rows.perElement({weights, scale}, maps, [](OpBuilder &b, Location l, ValueRange args) -> Value {
    return arith::MulFOp::create(b, l, args[0], args[1]);
  });
}

/// sum / count of a row
Value meanOf(Rows &rows, Value sum, Value count) {
  return rows.perRow(sum, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
    Value number = arith::IndexCastOp::create(b, l, b.getI64Type(), count);
    return arith::DivFOp::create(b, l, args[0], arith::SIToFPOp::create(b, l, rows.accumulator, number));
  });
}

/// 1 / sqrt(mean + epsilon)
Value inverseRoot(Rows &rows, Value mean, double epsilon) {
  return rows.perRow(mean, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
    Value shifted = arith::AddFOp::create(b, l, args[0], constantScalar(b, l, rows.accumulator, epsilon));
    Value root = math::SqrtOp::create(b, l, shifted);
    return arith::DivFOp::create(b, l, constantScalar(b, l, rows.accumulator, 1), root);
  });
}

Value lowerLayerNorm(KernelLowering &lowering, LayerNormOp op) {
  SmallVector<int64_t> axes = op.getRowAxes();
  Rows rows(lowering, op.getLoc(), typeOf(op.getResult()), axes);
  Value input = lowering.get(op.getInput());
  Value count = lowering.count(op.getLoc(), op.getInput(), axes);
  Value sum = rows.reduce(ReduceKind::sum, input, rows.identity,
                          [](OpBuilder &b, Location l, ValueRange args) { return widen(b, l, args[0]); });
  Value mean = meanOf(rows, sum, count);
  Value squares = rows.reduce(ReduceKind::sum, {input, mean}, {rows.identity, rows.rowMap},
                              [](OpBuilder &b, Location l, ValueRange args) -> Value {
                                Value centred = arith::SubFOp::create(b, l, widen(b, l, args[0]), args[1]);
                                return arith::MulFOp::create(b, l, centred, centred);
                              });
  Value factor = inverseRoot(rows, meanOf(rows, squares, count), op.getEpsilon().convertToDouble());
  return rows.perElement({input, mean, factor, lowering.get(op.getScale()), lowering.get(op.getBias())},
                         {rows.identity, rows.rowMap, rows.rowMap, rows.columnMap, rows.columnMap},
                         [](OpBuilder &b, Location l, ValueRange args) -> Value {
                           Value value = arith::SubFOp::create(b, l, widen(b, l, args[0]), args[1]);
                           value = arith::MulFOp::create(b, l, value, args[2]);
                           value = arith::MulFOp::create(b, l, value, widen(b, l, args[3]));
                           return arith::AddFOp::create(b, l, value, widen(b, l, args[4]));
                         });
}

Value lowerRmsNorm(KernelLowering &lowering, RmsNormOp op) {
  SmallVector<int64_t> axes = op.getRowAxes();
  Rows rows(lowering, op.getLoc(), typeOf(op.getResult()), axes);
  Value input = lowering.get(op.getInput());
  Value squares =
      rows.reduce(ReduceKind::sum, input, rows.identity, [](OpBuilder &b, Location l, ValueRange args) -> Value {
        Value value = widen(b, l, args[0]);
        return arith::MulFOp::create(b, l, value, value);
      });
  Value mean = meanOf(rows, squares, lowering.count(op.getLoc(), op.getInput(), axes));
  Value factor = inverseRoot(rows, mean, op.getEpsilon().convertToDouble());
  return rows.perElement({input, factor, lowering.get(op.getScale())}, {rows.identity, rows.rowMap, rows.columnMap},
                         [](OpBuilder &b, Location l, ValueRange args) -> Value {
                           Value value = arith::MulFOp::create(b, l, widen(b, l, args[0]), args[1]);
                           return arith::MulFOp::create(b, l, value, widen(b, l, args[2]));
                         });
}

} // namespace

void addNormLowerings(LoweringTable &table) {
  table.add<SoftmaxOp, lowerSoftmax>();
  table.add<LayerNormOp, lowerLayerNorm>();
  table.add<RmsNormOp, lowerRmsNorm>();
}

} // namespace vx
