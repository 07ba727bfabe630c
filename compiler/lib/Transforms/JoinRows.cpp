// The rows of a contraction are one dimension: a tile of them is then full whatever each of their dimensions is.

#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_JOINROWSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// The values of a fusion that have the rows of its contraction, and which of their dimensions is the first of them.
class JoinedRows {
public:
  /// Follows the rows to all that has them. False where something has but some of them, or moves them.
  bool find(ContractOp contract);
  LogicalResult join(FusionOp fusion);

private:
  bool add(Value value, int64_t first);
  bool addElementwise(Operation *op, int64_t first);
  bool addRepeated(BroadcastOp op, int64_t first);
  bool addRepeats(BroadcastOp op, int64_t first);
  bool follow(Value value, int64_t first);
  SmallVector<DimAttr> joinedDims(RankedTensorType type, int64_t first) const;
  void joinType(GraphBuilder &g, Value value, int64_t first) const;
  /// Where the dimensions `dims` of a value are when its rows are one.
  SmallVector<int64_t> moved(ArrayRef<int64_t> dims, int64_t first) const;

  int64_t count = 0; // of the dimensions
  llvm::MapVector<Value, int64_t> values;
};

bool JoinedRows::add(Value value, int64_t first) {
  auto [entry, isNew] = values.insert({value, first});
  return isNew || entry->second == first;
}

bool JoinedRows::addElementwise(Operation *op, int64_t first) {
  return llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand, first); }) &&
         llvm::all_of(op->getResults(), [&](Value result) { return add(result, first); });
}

/// The operand of a broadcast whose result's rows are known.
bool JoinedRows::addRepeated(BroadcastOp op, int64_t first) {
  SmallVector<DimAttr> sizes = getDims(op.getResult().getType()), own = getDims(op.getInput().getType());
  SmallVector<int64_t> rows;
  for (auto [d, place] : llvm::enumerate(op.getDimensions()))
    if (place >= first && place < first + count)
      rows.push_back(static_cast<int64_t>(d));
  if (rows.empty())
    return true;
  auto isWhole = [&](int64_t d) { return own[d] == sizes[op.getDimensions()[d]]; };
  auto isOne = [&](int64_t d) { return own[d].asConstant() == 1; };
  return static_cast<int64_t>(rows.size()) == count && (llvm::all_of(rows, isWhole) || llvm::all_of(rows, isOne)) &&
         add(op.getInput(), rows.front());
}

/// The result of a broadcast whose operand's rows are known.
bool JoinedRows::addRepeats(BroadcastOp op, int64_t first) {
  ArrayRef<int64_t> places = op.getDimensions().slice(first, count);
  for (auto [number, place] : llvm::enumerate(places))
    if (place != places.front() + static_cast<int64_t>(number))
      return false;
  return add(op.getResult(), places.front()) && addRepeated(op, places.front());
}

bool JoinedRows::follow(Value value, int64_t first) {
  Operation *producer = value.getDefiningOp();
  if (producer && producer->hasTrait<vx::OpTrait::Elementwise>()) {
    if (!addElementwise(producer, first))
      return false;
  } else if (auto broadcast = dyn_cast_or_null<BroadcastOp>(producer)) {
    if (!addRepeated(broadcast, first))
      return false;
  } else if (producer && !isa<ContractOp>(producer)) {
    return false;
  }
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->hasTrait<vx::OpTrait::Elementwise>())
      return addElementwise(user, first);
    if (auto broadcast = dyn_cast<BroadcastOp>(user))
      return addRepeats(broadcast, first);
    return isa<YieldOp>(user) || (isa<ContractOp>(user) && use.getOperandNumber() == 0);
  });
}

bool JoinedRows::find(ContractOp contract) {
  int64_t rank = contract.getLhs().getType().getRank(), first = -1;
  for (int64_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(contract.getLhsBatch(), d) || llvm::is_contained(contract.getLhsContracting(), d))
      continue;
    if (count > 0 && d != first + count)
      return false;
    first = count++ == 0 ? d : first;
  }
  if (count < 2 || contract.getLhs() == contract.getRhs() || !add(contract.getLhs(), first) ||
      !add(contract.getResult(), static_cast<int64_t>(contract.getLhsBatch().size())))
    return false;
  for (size_t i = 0; i < values.size(); ++i)
    if (auto [value, place] = *(values.begin() + i); !follow(value, place))
      return false;
  return !values.count(contract.getRhs());
}

SmallVector<DimAttr> JoinedRows::joinedDims(RankedTensorType type, int64_t first) const {
  SmallVector<DimAttr> dims = getDims(type);
  for (int64_t i = 1; i < count; ++i)
    dims[first] = dims[first] * dims[first + i];
  dims.erase(dims.begin() + first + 1, dims.begin() + first + count);
  return dims;
}

void JoinedRows::joinType(GraphBuilder &g, Value value, int64_t first) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (RankedTensorType joined = g.makeType(joinedDims(type, first), type.getElementType()))
    value.setType(joined);
}

SmallVector<int64_t> JoinedRows::moved(ArrayRef<int64_t> dims, int64_t first) const {
  SmallVector<int64_t> result;
  for (int64_t d : dims)
    if (d <= first || d >= first + count)
      result.push_back(d <= first ? d : d - count + 1);
  return result;
}

LogicalResult JoinedRows::join(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  OpBuilder builder(fusion);
  GraphBuilder g(builder, fusion.getLoc());
  for (OpOperand &input : fusion.getInputsMutable()) {
    BlockArgument argument = body.getArgument(input.getOperandNumber());
    if (auto entry = values.find(argument); entry != values.end()) {
      SmallVector<DimAttr> dims = joinedDims(cast<RankedTensorType>(argument.getType()), entry->second);
      // Of rows that were one and were taken apart again nothing is left.
      auto before = input.get().getDefiningOp<ReshapeOp>();
      bool isUndone = before && llvm::equal(getDims(before.getInput().getType()), dims);
      input.set(isUndone ? before.getInput() : g.reshape(input.get(), dims));
    }
  }
  for (Operation &op : body) {
    if (auto broadcast = dyn_cast<BroadcastOp>(op); broadcast && values.count(broadcast.getResult())) {
      int64_t first = values.lookup(broadcast.getResult());
      broadcast.setDimensions(moved(broadcast.getDimensions(), first));
    } else if (auto contract = dyn_cast<ContractOp>(op)) {
      int64_t first = values.lookup(contract.getLhs());
      contract.setLhsBatch(moved(contract.getLhsBatch(), first));
      contract.setLhsContracting(moved(contract.getLhsContracting(), first));
    }
  }
  builder.setInsertionPointAfter(fusion);
  for (auto [inside, outside] : llvm::zip_equal(yield.getOperands(), fusion.getResults())) {
    auto entry = values.find(inside);
    if (entry == values.end())
      continue;
    SmallVector<DimAttr> dims = getDims(cast<RankedTensorType>(outside.getType()));
    joinType(g, outside, entry->second);
    Value apart = g.reshape(outside, dims);
    outside.replaceAllUsesExcept(apart, apart.getDefiningOp());
  }
  for (auto [value, first] : values)
    joinType(g, value, first);
  return failure(g.hasRefused());
}

struct JoinRowsPass : impl::JoinRowsPassBase<JoinRowsPass> {
  void runOnOperation() override {
    SmallVector<FusionOp> fusions;
    getOperation().walk([&](FusionOp fusion) { fusions.push_back(fusion); });
    for (FusionOp fusion : fusions)
      if (auto contract = dyn_cast_or_null<ContractOp>(fusion.getAnchor()))
        if (JoinedRows rows; rows.find(contract) && failed(rows.join(fusion)))
          return signalPassFailure();
  }
};

} // namespace
} // namespace vx
