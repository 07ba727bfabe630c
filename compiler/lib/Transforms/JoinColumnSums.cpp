// Sums of columns that lie beside each other in a concatenation are one sum: small ones are one kernel then, where a
// device takes as long to begin a kernel as to run it.

#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_JOINCOLUMNSUMSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// All of them are kept until then, and each column of the joined matrix looks for its part, as far as fusions go
/// along.
constexpr size_t kMostPieces = 4;
constexpr int64_t kMostColumns = 1024, kMostRows = 4096;

/// A part of a concatenation of vectors: the sum of each column of `rows`, or zeros where that is null.
struct Piece {
  Value vector, rows;
  int64_t columns = 0;
};

/// Null unless `vector` is a sum over the rows of a matrix that nothing else reads.
Value getSummedRows(Value vector) {
  while (auto reshape = vector.getDefiningOp<ReshapeOp>()) {
    if (!reshape->hasOneUse() || reshape.getInput().getType() != reshape.getType())
      return {};
    vector = reshape.getInput();
  }
  auto sum = vector.getDefiningOp<ReduceOp>();
  if (!sum || !sum->hasOneUse() || sum.getKind() != ReduceKind::sum || sum.getAxes() != ArrayRef<int64_t>{0})
    return {};
  RankedTensorType type = typeOf(sum.getInput());
  if (type.getRank() != 2 || type.isDynamicDim(1) || (!type.isDynamicDim(0) && type.getDimSize(0) > kMostRows))
    return {};
  return sum.getInput();
}

bool isZero(Value vector) {
  auto number = dyn_cast_or_null<FloatAttr>(getSplatNumber(vector));
  return number && number.getValue().isPosZero();
}

class ColumnSums {
public:
  explicit ColumnSums(ConcatOp concat) : concat(concat), builder(concat), g(builder, concat.getLoc()) {}

  LogicalResult run() {
    if (typeOf(concat.getResult()).getRank() != 1)
      return success();
    SmallVector<Value> parts, inputs(concat.getInputs());
    bool isChanged = false;
    while (!inputs.empty()) {
      const size_t length = findRun(inputs);
      if (countSums() > 1) {
        parts.push_back(join());
        isChanged = true;
      } else {
        parts.append(inputs.begin(), inputs.begin() + length);
      }
      inputs.erase(inputs.begin(), inputs.begin() + length);
    }
    if (!isChanged || g.hasRefused())
      return failure(g.hasRefused());
    Value joined = parts.size() == 1 ? parts.front() : g.emit<ConcatOp>(ValueRange(parts), 0);
    if (g.hasRefused())
      return failure();
    concat.getResult().replaceAllUsesWith(joined);
    concat.erase();
    return success();
  }

private:
  /// The parts of an input: of a concatenation that nothing else reads its own. False where one is no piece.
  static bool addPieces(Value input, SmallVectorImpl<Piece> &pieces) {
    if (auto inner = input.getDefiningOp<ConcatOp>(); inner && inner->hasOneUse())
      return llvm::all_of(inner.getInputs(), [&](Value part) { return addPieces(part, pieces); });
    RankedTensorType type = typeOf(input);
    Value rows = getSummedRows(input);
    if (type.getRank() != 1 || type.isDynamicDim(0) || (!rows && !isZero(input)))
      return false;
    pieces.push_back({input, rows, type.getDimSize(0)});
    return true;
  }

  /// How many of the inputs, from the first on, are one sum's; with none `run` is empty, and the first stays as it is.
  size_t findRun(ArrayRef<Value> inputs) {
    found.clear();
    size_t length = 0;
    for (Value input : inputs) {
      SmallVector<Piece> pieces = found;
      if (!addPieces(input, pieces) || !fitTogether(pieces))
        break;
      found = std::move(pieces);
      ++length;
    }
    return std::max<size_t>(length, 1);
  }

  static bool fitTogether(ArrayRef<Piece> pieces) {
    DimAttr rows;
    Type element;
    int64_t columns = 0;
    for (const Piece &piece : pieces) {
      columns += piece.columns;
      if (element && typeOf(piece.vector).getElementType() != element)
        return false;
      element = typeOf(piece.vector).getElementType();
      if (!piece.rows)
        continue;
      DimAttr own = getDim(typeOf(piece.rows), 0);
      if (!own || (rows && own != rows))
        return false;
      rows = own;
    }
    return pieces.size() <= kMostPieces && columns <= kMostColumns;
  }

  size_t countSums() const {
    return static_cast<size_t>(llvm::count_if(found, [](const Piece &piece) { return !!piece.rows; }));
  }

  Value join() {
    const auto *first = llvm::find_if(found, [](const Piece &piece) { return !!piece.rows; });
    DimAttr rows = getDim(typeOf(first->rows), 0);
    SmallVector<Value> columns;
    for (const Piece &piece : found)
      columns.push_back(
          piece.rows ? piece.rows
                     : g.splat(0, getTensorType({rows, g.dim(piece.columns)}, typeOf(piece.vector).getElementType())));
    return g.reduce(ReduceKind::sum, g.emit<ConcatOp>(ValueRange(columns), 1), {0});
  }

  ConcatOp concat;
  OpBuilder builder;
  GraphBuilder g;
  SmallVector<Piece> found;
};

struct JoinColumnSumsPass : impl::JoinColumnSumsPassBase<JoinColumnSumsPass> {
  void runOnOperation() override {
    SmallVector<ConcatOp> concats;
    getOperation().walk([&](ConcatOp op) {
      // One inside of another is looked at with that one.
      if (!(op->hasOneUse() && isa<ConcatOp>(*op->user_begin())))
        concats.push_back(op);
    });
    for (ConcatOp op : concats)
      if (failed(ColumnSums(op).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
