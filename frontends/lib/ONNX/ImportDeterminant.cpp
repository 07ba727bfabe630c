// Determinants of square matrices.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

namespace {

/// Matrices of [batch, size, size].
class Determinants {
public:
  Determinants(NodeImporter &n, Value matrices)
      : n(n), matrices(matrices), dims(vx::getDims(typeOf(matrices))), type(elementOf(matrices)) {}

  Value compute() {
    std::optional<int64_t> size = dims[1].asConstant();
    if (size && *size >= 1 && *size <= 3)
      return expand(llvm::to_vector(llvm::seq<int64_t>(0, *size)));
    Value one = n.splat(1, makeTensorType(dims[0], type));
    return emitCountedLoop(n, dims[1], {matrices, one},
                           [&](DimAttr step, ValueRange values) { return eliminate(step, values[0], values[1]); })[1];
  }

private:
  Value element(int64_t row, int64_t column) {
    return n.reshape(n.slice(matrices, {n.dim(0), n.dim(row), n.dim(column)}, {dims[0], n.dim(1), n.dim(1)}, {1, 1, 1}),
                     dims[0]);
  }

  /// Along the last rows, as many as there are `columns`.
  Value expand(ArrayRef<int64_t> columns) {
    int64_t row = *dims[1].asConstant() - int64_t(columns.size());
    if (columns.size() == 1)
      return element(row, columns[0]);
    Value sum;
    for (size_t i = 0; i < columns.size(); ++i) {
      SmallVector<int64_t> others(columns);
      others.erase(others.begin() + i);
      Value part = n.emit<MulOp>(element(row, columns[i]), expand(others));
      sum = !sum ? part : i % 2 == 0 ? n.emit<AddOp>(sum, part) : n.emit<SubOp>(sum, part);
    }
    return sum;
  }

  /// A step of Gauss' elimination, with the greatest element below as its pivot.
  SmallVector<Value> eliminate(DimAttr step, Value left, Value product) {
    Type i64 = n.builder.getI64Type();
    DimAttr size = dims[1];
    Dims column = {dims[0], size};
    Value row = n.emitAs<IotaOp>(makeTensorType(column, i64), 1);
    Value here = n.broadcastInDim(n.emitDim(step, i64), column, {});
    auto is = [&](ComparePredicate predicate, Value number) { return n.emit<CompareOp>(predicate, row, number); };
    auto ofBatch = [&](Value value) { return n.broadcastInDim(value, column, 0); };
    auto takeColumn = [&](Value matrix) {
      return n.reshape(n.slice(matrix, {n.dim(0), n.dim(0), step}, {dims[0], size, n.dim(1)}, {1, 1, 1}), column);
    };
    Value magnitudes = n.emit<AbsOp>(takeColumn(left));
    Value candidates = n.emit<SelectOp>(is(ComparePredicate::ge, here), magnitudes, n.splatLike(-1, magnitudes));
    Value chosen = n.emit<ArgReduceOp>(ReduceKind::max, candidates, 1, /*last=*/false);

    Dims batch = {dims[0]};
    Value first = n.emit<MulOp>(n.emitAs<IotaOp>(makeTensorType(batch, i64), 0),
                                n.broadcastInDim(n.emitDim(size, i64), batch, {}));
    Value rows = n.reshape(left, {mulDims(dims[0], size), size});
    Value pivotRow = n.emit<GatherOp>(rows, n.emit<AddOp>(first, chosen), 0, IntegerAttr(), /*in_range=*/true);
    Value ownRow = n.reshape(n.slice(left, {n.dim(0), step, n.dim(0)}, {dims[0], n.dim(1), size}, {1, 1, 1}), column);
    auto choose = [&](Value condition, Value ofRow, Value others) {
      return n.emit<SelectOp>(n.broadcastInDim(condition, dims, {0, 1}), n.broadcastInDim(ofRow, dims, {0, 2}), others);
    };
    Value swapped = choose(is(ComparePredicate::eq, ofBatch(chosen)), ownRow, left);
    swapped = choose(is(ComparePredicate::eq, here), pivotRow, swapped);

    Value pivot = n.reshape(n.slice(pivotRow, {n.dim(0), step}, {dims[0], n.dim(1)}, {1, 1}), dims[0]);
    Value stays = n.emit<CompareOp>(ComparePredicate::eq, chosen, n.broadcastInDim(n.emitDim(step, i64), batch, {}));
    Value factor = n.emit<SelectOp>(stays, pivot, n.emit<NegOp>(pivot));
    Value isZero = n.emit<CompareOp>(ComparePredicate::eq, pivot, n.splatLike(0, pivot));
    Value divisor = n.emit<SelectOp>(isZero, n.splatLike(1, pivot), pivot); // all below are 0 too
    Value shares = n.emit<DivOp>(takeColumn(swapped), ofBatch(divisor));
    shares = n.emit<SelectOp>(is(ComparePredicate::gt, here), shares, n.splatLike(0, shares));
    Value taken = n.emit<MulOp>(n.broadcastInDim(shares, dims, {0, 1}), n.broadcastInDim(pivotRow, dims, {0, 2}));
    return {n.emit<SubOp>(swapped, taken), n.emit<MulOp>(product, factor)};
  }

  NodeImporter &n;
  Value matrices;
  const Dims dims;
  const Type type;
};

} // namespace

static void importDet(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  if (dims.size() < 2 || !isa<FloatType>(elementOf(input)) || !mayBeEqual(dims.back(), dims[dims.size() - 2]))
    throwInvalid("expects square matrices of floats as input 0, got " + describe(input.getType()));
  DimAttr size = dims[dims.size() - 2];
  n.require(ConstraintKind::equal, size, dims.back());
  dims.pop_back_n(2);
  Value matrices = n.reshape(n.widen(input), {productOf(n.context, dims), size, size});
  n.setOutput(0, n.cast(n.reshape(Determinants(n, matrices).compute(), dims), elementOf(input)));
}

static constexpr OpTableEntry determinantTable[] = {
    {"Det", 11, newestOpset, importDet},
};
const llvm::ArrayRef<OpTableEntry> determinantOps = determinantTable;

} // namespace vx::onnx
