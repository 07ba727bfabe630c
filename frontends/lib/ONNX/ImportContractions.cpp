// Matrix products.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

Value emitMatMul(NodeImporter &n, Value lhs, Value rhs, TypeAttr sums) {
  Dims left = vx::getDims(typeOf(lhs)), right = vx::getDims(typeOf(rhs));
  if (left.empty() || right.empty())
    throwInvalid("expects tensors of 1 or more dimensions, got " + describe(lhs.getType()) + " and " +
                 describe(rhs.getType()));
  int64_t leftRank = left.size(), rightRank = right.size();
  if (leftRank == 1 || rightRank <= 2) {
    // No batch dimension on the right, or a vector on the left.
    if (rightRank <= 2)
      return n.emit<ContractOp>(lhs, rhs, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>(leftRank - 1),
                                ArrayRef<int64_t>(rightRank == 1 ? 0 : rightRank - 2), sums, TypeAttr());
    return n.emit<ContractOp>(rhs, lhs, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>(rightRank - 2),
                              ArrayRef<int64_t>(0), sums, TypeAttr());
  }
  Dims batch = n.broadcastShapes(ArrayRef<DimAttr>(left).drop_back(2), ArrayRef<DimAttr>(right).drop_back(2));
  auto spread = [&](Value value, ArrayRef<DimAttr> dims) {
    Dims shape = batch;
    shape.append({dims[dims.size() - 2], dims[dims.size() - 1]});
    return n.broadcast(value, shape);
  };
  lhs = spread(lhs, left);
  rhs = spread(rhs, right);
  int64_t batchRank = batch.size();
  auto batchDims = llvm::to_vector(llvm::seq<int64_t>(0, batchRank));
  return n.emit<ContractOp>(lhs, rhs, ArrayRef(batchDims), ArrayRef(batchDims), ArrayRef<int64_t>(batchRank + 1),
                            ArrayRef<int64_t>(batchRank), sums, TypeAttr());
}

static void importMatMul(NodeImporter &n) { n.setOutput(0, emitMatMul(n, n.getTensor(0), n.getTensor(1))); }

Value emitGemm(NodeImporter &n) {
  Value lhs = n.getTensor(0), rhs = n.getTensor(1);
  for (unsigned i = 0; i < 2; ++i)
    if (n.getTensorType(i).getRank() != 2)
      throwInvalid("expects matrices as inputs 0 and 1, got " + describe(n.getTensorType(i)) + " as input " + Twine(i));
  int64_t lhsContracting = n.getFlag("transA", false) ? 0 : 1, rhsContracting = n.getFlag("transB", false) ? 1 : 0;
  Value result = n.emit<ContractOp>(lhs, rhs, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                    ArrayRef<int64_t>(lhsContracting), ArrayRef<int64_t>(rhsContracting));
  auto scale = [&](Value value, float factor) {
    return factor == 1.0f ? value : n.emit<MulOp>(value, n.splatLike(factor, value));
  };
  result = scale(result, n.getFloat("alpha", 1.0f));
  // A factor of 0 leaves the bias out, whatever is in it.
  float beta = n.getFloat("beta", 1.0f);
  if (n.hasInput(2) && beta != 0) {
    Value bias = scale(n.getTensor(2), beta);
    result = n.emit<AddOp>(result, n.broadcast(bias, vx::getDims(typeOf(result))));
  }
  return result;
}

static void importGemm(NodeImporter &n) { n.setOutput(0, emitGemm(n)); }

static constexpr OpTableEntry contractionsTable[] = {
    {"Gemm", 1, newestOpset, importGemm},
    {"MatMul", 1, newestOpset, importMatMul},
};
const llvm::ArrayRef<OpTableEntry> contractionsOps = contractionsTable;

} // namespace vx::onnx
