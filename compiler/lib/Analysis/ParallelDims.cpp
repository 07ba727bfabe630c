#include "vx/Analysis/ParallelDims.h"

#include "vx/Dialect/VX/IR/OpFunctionTable.h"

using namespace mlir;

namespace vx {

namespace {

using Dims = SmallVector<int64_t>;

/// Fills `dims`, of which all entries are -1, for the operand of this number.
using ParallelFunction = void (*)(Operation *op, unsigned operand, OpResult result, Dims &dims);

bool isOne(Value tensor, int64_t dim) { return typeOf(tensor).getDimSize(dim) == 1; }

void copyPlaces(Dims &dims) {
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d] = d;
}

/// Numbers the dimensions that are not in `left`, in order, from `first` on.
void numberOthers(Dims &dims, ArrayRef<int64_t> left, int64_t first) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (!llvm::is_contained(left, d))
      dims[d] = first++;
}

void ofTranspose(Operation *op, unsigned, OpResult, Dims &dims) {
  for (auto [to, from] : llvm::enumerate(cast<TransposeOp>(op).getPermutation()))
    dims[from] = to;
}

void ofBroadcast(Operation *op, unsigned, OpResult, Dims &dims) {
  auto broadcast = cast<BroadcastOp>(op);
  for (auto [from, to] : llvm::enumerate(broadcast.getDimensions()))
    if (!isOne(broadcast.getInput(), from))
      dims[from] = to;
}

void ofSlice(Operation *op, unsigned, OpResult result, Dims &dims) {
  auto slice = cast<SliceOp>(op);
  for (auto [d, start] : llvm::enumerate(slice.getStarts().getAsRange<DimAttr>()))
    if (start.asConstant() == 0 && slice.getStrides()[d] == 1 &&
        getDim(slice.getInput().getType(), d) == getDim(typeOf(result), d))
      dims[d] = d;
}

void ofConcat(Operation *op, unsigned, OpResult, Dims &dims) {
  copyPlaces(dims);
  if (op->getNumOperands() > 1)
    dims[cast<ConcatOp>(op).getAxis()] = -1;
}

void ofPad(Operation *op, unsigned operand, OpResult, Dims &dims) {
  auto pad = cast<PadOp>(op);
  if (operand > 0)
    return;
  for (auto [d, low, high] : llvm::enumerate(pad.getLow().getAsRange<DimAttr>(), pad.getHigh().getAsRange<DimAttr>()))
    if (low.asConstant() == 0 && high.asConstant() == 0)
      dims[d] = d;
}

void ofContract(Operation *op, unsigned operand, OpResult result, Dims &dims) {
  auto contract = cast<ContractOp>(op);
  ArrayRef<int64_t> batch = operand == 0 ? contract.getLhsBatch() : contract.getRhsBatch();
  ArrayRef<int64_t> contracting = operand == 0 ? contract.getLhsContracting() : contract.getRhsContracting();
  for (auto [to, from] : llvm::enumerate(batch))
    dims[from] = to;
  int64_t free = dims.size() - batch.size() - contracting.size();
  // The free dimensions of the right side are the last ones.
  int64_t next = operand == 0 ? int64_t(batch.size()) : typeOf(result).getRank() - free;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] < 0 && !llvm::is_contained(contracting, d))
      dims[d] = next++;
}

void ofConv(Operation *op, unsigned operand, OpResult, Dims &dims) {
  dims[0] = operand == 0 ? 0 : cast<ConvOp>(op).getChannelDim();
}

void ofConvFilter(Operation *op, unsigned operand, OpResult, Dims &dims) {
  auto filter = cast<ConvFilterOp>(op);
  if (operand == 1)
    dims[filter.getChannelDim()] = filter.getFilterDim();
}

void ofCumulativeSum(Operation *, unsigned, OpResult, Dims &dims) {
  dims[0] = 0;
  dims[2] = 2;
}

void ofReduceWindow(Operation *op, unsigned, OpResult, Dims &dims) {
  auto reduce = cast<ReduceWindowOp>(op);
  for (size_t d = 0; d < dims.size(); ++d)
    if (reduce.getWindow()[d] == 1 && reduce.getStrides()[d] == 1 && reduce.getPadsLow()[d] == 0 &&
        reduce.getPadsHigh()[d] == 0)
      dims[d] = d;
}

void ofAttention(Operation *op, unsigned operand, OpResult result, Dims &dims) {
  auto attention = cast<AttentionOp>(op);
  // Where in the result the batch, the heads, the length and the depth are: `log_sum_exp` has them in this order, but
  // for the depth.
  auto placeOf = [&](int64_t role) -> int64_t {
    if (result.getResultNumber() > 0)
      return role == AttentionOp::Depth ? -1 : role;
    return attention.getResultDims()[role];
  };
  bool countsAlongLength = attention.getCausal() || attention.getWindow();
  bool hasOwnHeads = attention.getQuerySizes()[AttentionOp::Heads] == attention.getKeySizes()[AttentionOp::Heads];
  Value value = op->getOperand(operand);
  auto pair = [&](ArrayRef<int64_t> places, std::initializer_list<int64_t> roles) {
    for (int64_t role : roles)
      dims[places[role]] = placeOf(role);
  };
  if (operand == 0) {
    pair(attention.getQueryDims(), {AttentionOp::Batch, AttentionOp::Heads});
    if (!countsAlongLength)
      pair(attention.getQueryDims(), {AttentionOp::Length});
  } else if (operand <= 2) {
    ArrayRef<int64_t> places = operand == 1 ? attention.getKeyDims() : attention.getValueDims();
    pair(places, {AttentionOp::Batch});
    if (hasOwnHeads)
      pair(places, {AttentionOp::Heads});
    if (operand == 2)
      pair(places, {AttentionOp::Depth});
  } else {
    for (int64_t role : {AttentionOp::Batch, AttentionOp::Heads, AttentionOp::Length})
      if (!isOne(value, role))
        dims[role] = placeOf(role);
  }
}

void ofGather(Operation *op, unsigned operand, OpResult, Dims &dims) {
  auto gather = cast<GatherOp>(op);
  int64_t axis = gather.getAxis(), members = gather.getMembers().value_or(1);
  int64_t indexRank = gather.getIndices().getType().getRank() - (gather.getMembers() ? 1 : 0);
  if (operand == 1) {
    for (int64_t d = 0; d < indexRank; ++d)
      dims[d] = axis + d;
    return;
  }
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    if (d < axis || d >= axis + members)
      dims[d] = d < axis ? d : d - members + indexRank;
}

void ofCheckIndices(Operation *op, unsigned, OpResult, Dims &dims) {
  copyPlaces(dims);
  if (cast<CheckIndicesOp>(op).getSizes().size() > 1)
    dims.back() = -1;
}

void ofScatter(Operation *op, unsigned operand, OpResult, Dims &dims) {
  auto scatter = cast<ScatterOp>(op);
  if (operand == 1)
    return;
  Dims others;
  for (int64_t d = 0; d < scatter.getInput().getType().getRank(); ++d)
    if (!llvm::is_contained(scatter.getAxes(), d))
      others.push_back(d);
  int64_t first = operand == 0 ? 0 : int64_t(dims.size() - others.size());
  for (auto [number, d] : llvm::enumerate(others))
    dims[operand == 0 ? d : first + int64_t(number)] = d;
}

void ofUpdateSlice(Operation *op, unsigned operand, OpResult result, Dims &dims) {
  auto update = cast<UpdateSliceOp>(op);
  if (operand == 1)
    return;
  for (size_t d = 0; d < dims.size(); ++d)
    if (!llvm::is_contained(update.getAxes(), d) &&
        getDim(update.getUpdates().getType(), d) == getDim(typeOf(result), d))
      dims[d] = d;
}

/// A row each of the first dimension.
void ofRows(Operation *, unsigned, OpResult, Dims &dims) {
  if (!dims.empty())
    dims[0] = 0;
}

void ofSelectBoxes(Operation *, unsigned operand, OpResult, Dims &dims) {
  if (operand <= 1)
    dims[0] = 0;
  if (operand == 1)
    dims[1] = 1;
}

/// Heads. A token may see those before it.
void ofPagedAttention(Operation *, unsigned operand, OpResult, Dims &dims) {
  if (operand == 0)
    dims[1] = 1;
}

void ofHostFunction(Operation *op, unsigned, OpResult result, Dims &dims) {
  HostFunctionKind kind = cast<HostFunctionOp>(op).getKind();
  // The parts of a string are as many as those of the string with the most of them; their number is its own.
  if (kind != HostFunctionKind::image_decode &&
      (kind != HostFunctionKind::string_split || result.getResultNumber() == 1))
    copyPlaces(dims);
}

const OpFunctionTable<ParallelFunction> &getParallelTable() {
  static const OpFunctionTable<ParallelFunction> functions = [] {
    OpFunctionTable<ParallelFunction> table;
    table.add<TransposeOp>(ofTranspose);
    table.add<BroadcastOp>(ofBroadcast);
    table.add<SliceOp>(ofSlice);
    table.add<ConcatOp>(ofConcat);
    table.add<PadOp>(ofPad);
    table.add<ContractOp>(ofContract);
    table.add<ConvOp>(ofConv);
    table.add<ConvFilterOp>(ofConvFilter);
    table.add<CumulativeSumOp>(ofCumulativeSum);
    table.add<ReduceWindowOp>(ofReduceWindow);
    table.add<AttentionOp>(ofAttention);
    table.add<PagedAttentionOp>(ofPagedAttention);
    table.add<GatherOp>(ofGather);
    table.add<CheckIndicesOp>(ofCheckIndices);
    table.add<ScatterOp>(ofScatter);
    table.add<UpdateSliceOp>(ofUpdateSlice);
    table.add<TopPlacesOp>(ofRows);
    table.add<MergeRunsOp>(ofRows);
    table.add<SelectBoxesOp>(ofSelectBoxes);
    table.add<HostFunctionOp>(ofHostFunction);
    return table;
  }();
  return functions;
}

} // namespace

SmallVector<int64_t> getParallelDims(OpOperand &operand, OpResult result) {
  Operation *op = operand.getOwner();
  SmallVector<int64_t> dims(typeOf(operand.get()).getRank(), -1);
  if (ParallelFunction function = getParallelTable().find(op->getName())) {
    function(op, operand.getOperandNumber(), result, dims);
  } else if (op->hasTrait<OpTrait::Elementwise>()) {
    copyPlaces(dims);
  } else if (auto rows = dyn_cast<RowsOpInterface>(op); rows && operand.getOperandNumber() == 0) {
    if (rows.keepsRows())
      copyPlaces(dims);
    else
      numberOthers(dims, rows.getRowAxes(), 0);
    for (int64_t axis : rows.getRowAxes())
      dims[axis] = -1;
  }
  return dims;
}

bool repeatsAlong(OpResult result, int64_t dim) {
  Operation *op = result.getOwner();
  if (auto iota = dyn_cast<IotaOp>(op))
    return dim != int64_t(iota.getAxis());
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  auto from = llvm::find(broadcast.getDimensions(), dim);
  return from == broadcast.getDimensions().end() ||
         isOne(broadcast.getInput(), from - broadcast.getDimensions().begin());
}

} // namespace vx
