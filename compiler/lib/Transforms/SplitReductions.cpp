// Long rows are reduced in two stages, so that more than a few workgroups have work.

#include "vx/Analysis/PlannedSize.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// A reduction as one of [before, length, after] over its middle dimension.
struct Rows {
  DimAttr before, length, after;
};

/// The number of slices of a row: a function of sizes that are known when a model is compiled, so that results do not
/// depend on the machine.
struct Slices {
  int64_t count = 0;    // 0: the rows stay whole
  bool divides = false; // the length is a multiple of it
};

constexpr int64_t kMostRows = 32;      // more keep a GPU busy as they are
constexpr int64_t kLeastRow = 1 << 16; // of a row that repays a second kernel
constexpr int64_t kLeastSlice = 256;   // elements
constexpr int64_t kMostSlices = 1024;  // of all rows together

class ReductionSplitter {
public:
  explicit ReductionSplitter(ReduceOp op) : op(op), builder(op), g(builder, op.getLoc()) {}

  LogicalResult run() {
    std::optional<Rows> rows = getRows();
    Slices slices = rows ? chooseSlices(*rows) : Slices();
    if (slices.count == 0)
      return success();
    const CopyNumbering numbering(builder, op);
    Value input = op.getInput();
    Type element = getElementTypeOrSelf(input.getType());
    DimAttr count = g.dim(slices.count), length = DimAttr::ceilDiv(rows->length, count);
    // Dimensions of one element would only hide which elements are neighbours.
    int64_t axis = rows->before.asConstant() != 1;
    auto around = [&](ArrayRef<DimAttr> middle) {
      SmallVector<DimAttr> dims;
      if (axis == 1)
        dims.push_back(rows->before);
      llvm::append_range(dims, middle);
      if (rows->after.asConstant() != 1)
        dims.push_back(rows->after);
      return dims;
    };
    if (!slices.divides) {
      SmallVector<DimAttr> dims = around(rows->length), low(dims.size(), g.dim(0)), high = low;
      high[axis] = length * count - rows->length;
      auto scalar = RankedTensorType::get({}, element);
      Value neutral =
          ConstantOp::create(builder, op.getLoc(), scalar, DenseElementsAttr::get(scalar, getNeutral(element)));
      input = g.emit<PadOp>(g.reshape(input, dims), neutral, g.toArray(low), g.toArray(high));
    }
    input = reshape(input, around({count, length}));
    // A sum is rounded to its type once.
    bool isSum = op.getKind() == ReduceKind::sum || op.getKind() == ReduceKind::prod;
    if (isSum && isa<FloatType>(element))
      input = g.widen(input);
    Value parts = g.reduce(op.getKind(), input, axis + 1);
    Value whole = g.cast(g.reduce(op.getKind(), parts, axis), element);
    Value result = g.reshape(whole, getDims(op.getResult().getType()));
    if (g.hasRefused())
      return failure();
    op.getResult().replaceAllUsesWith(result);
    op.erase();
    return success();
  }

private:
  /// Nothing where sizes are not known, or where the rows do not lie along neighbouring dimensions.
  std::optional<Rows> getRows() {
    SmallVector<DimAttr> dims = getDims(op.getInput().getType());
    ArrayRef<int64_t> axes = op.getAxes();
    if (axes.empty() || llvm::is_contained(dims, DimAttr()) ||
        axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size()))
      return std::nullopt;
    Rows rows = {g.dim(1), g.dim(1), g.dim(1)};
    for (auto [d, dim] : llvm::enumerate(dims)) {
      auto place = static_cast<int64_t>(d);
      DimAttr &part = place < axes.front() ? rows.before : place > axes.back() ? rows.after : rows.length;
      part = part * dim;
    }
    return rows;
  }

  Slices chooseSlices(const Rows &rows) {
    std::optional<int64_t> kept = (rows.before * rows.after).asConstant();
    if (!kept || *kept < 1 || *kept > kMostRows)
      return {};
    // Of a length the factor that is known; the rest is planned.
    int64_t factor = 1;
    double planned = 1;
    const SymbolRanges ranges(op->getParentOfType<ModuleOp>());
    for (int64_t axis : op.getAxes()) {
      std::optional<int64_t> size = getDim(op.getInput().getType(), axis).asConstant();
      planned *= static_cast<double>(getPlannedSize(ranges, op.getInput().getType(), axis));
      if (size && llvm::MulOverflow(factor, *size, factor))
        return {};
    }
    if (planned < kLeastRow)
      return {};
    auto most = static_cast<int64_t>(std::min<double>(kMostSlices / llvm::PowerOf2Ceil(*kept), planned / kLeastSlice));
    for (int64_t count = most; count > most / 4 && count > 1; --count)
      if (factor % count == 0)
        return {count, true};
    if (!getNeutral(getElementTypeOrSelf(op.getInput().getType())))
      return {};
    return {most, false};
  }

  /// What the reduction gives over no element; null for types whose greatest float is not an infinity.
  Attribute getNeutral(Type element) {
    ReduceKind kind = op.getKind();
    if (auto type = dyn_cast<FloatType>(element)) {
      if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
        return {};
      const llvm::fltSemantics &semantics = type.getFloatSemantics();
      if (kind == ReduceKind::max || kind == ReduceKind::min)
        return FloatAttr::get(type, APFloat::getInf(semantics, /*Negative=*/kind == ReduceKind::max));
      return FloatAttr::get(type, kind == ReduceKind::prod ? APFloat::getOne(semantics) : APFloat::getZero(semantics));
    }
    auto type = cast<IntegerType>(element);
    unsigned width = type.getWidth();
    switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::or_:
      return IntegerAttr::get(type, APInt::getZero(width));
    case ReduceKind::prod:
      return IntegerAttr::get(type, APInt(width, 1));
    case ReduceKind::and_:
      return IntegerAttr::get(type, APInt::getAllOnes(width));
    case ReduceKind::max:
      return IntegerAttr::get(type, type.isUnsigned() ? APInt::getZero(width) : APInt::getSignedMinValue(width));
    case ReduceKind::min:
      return IntegerAttr::get(type, type.isUnsigned() ? APInt::getAllOnes(width) : APInt::getSignedMaxValue(width));
    }
    return {};
  }

  /// As a reshape of `value`; elementwise ops that only the reduction reads come behind the reshapes of what they read,
  /// so that the first stage computes them on the fly.
  Value reshape(Value value, ArrayRef<DimAttr> dims) {
    Operation *producer = value.getDefiningOp();
    auto broadcast = dyn_cast_or_null<BroadcastOp>(producer);
    if (broadcast && broadcast.getInput().getType().getRank() == 0)
      return g.broadcast(broadcast.getInput(), dims);
    if (!producer || !producer->hasTrait<OpTrait::Elementwise>() || !producer->hasOneUse() ||
        producer->getBlock() != op->getBlock())
      return g.reshape(value, dims);
    SmallVector<Value> operands;
    for (Value operand : producer->getOperands())
      operands.push_back(reshape(operand, dims));
    OperationState state(producer->getLoc(), producer->getName(), operands, {}, producer->getAttrs());
    state.addTypes(getTensorType(dims, getElementTypeOrSelf(value.getType())));
    return builder.create(state)->getResult(0);
  }

  ReduceOp op;
  OpBuilder builder;
  GraphBuilder g;
};

struct SplitReductionsPass : impl::SplitReductionsPassBase<SplitReductionsPass> {
  void runOnOperation() override {
    SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp op : reductions)
      if (failed(ReductionSplitter(op).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
