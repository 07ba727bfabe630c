// Products of weights whose blocks along the sum have scales or zero points of their own.

#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITWEIGHTBLOCKSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

LogicalResult splitBlocks(ContractOp op, const DerivableVariables &variables) {
  if (op.getRhsContracting().size() != 1)
    return success();
  int64_t lhsDim = op.getLhsContracting().front(), rhsDim = op.getRhsContracting().front();
  std::optional<LowBitWeight> weight = LowBitWeight::find(op.getRhs(), variables);
  int64_t block = weight ? weight->findBlock(rhsDim).value_or(0) : 0;
  if (block == 0)
    return success();
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  auto split = [&](Value value, int64_t dim) {
    SmallVector<DimAttr> dims = getDims(g.typeOf(value));
    dims[dim] = g.dim(weight->getIntegers().getType().getDimSize(rhsDim) / block);
    dims.insert(dims.begin() + dim + 1, g.dim(block));
    return g.reshape(value, dims);
  };
  auto shift = [](ArrayRef<int64_t> dims, int64_t behind) {
    return llvm::map_to_vector(dims, [&](int64_t d) { return d > behind ? d + 1 : d; });
  };
  Value rhs = weight->decode(g, split(weight->getIntegers(), rhsDim), rhsDim);
  Value result = g.emit<ContractOp>(split(op.getLhs(), lhsDim), rhs, shift(op.getLhsBatch(), lhsDim),
                                    shift(op.getRhsBatch(), rhsDim), ArrayRef<int64_t>{lhsDim, lhsDim + 1},
                                    ArrayRef<int64_t>{rhsDim, rhsDim + 1}, op.getSumsAttr(), op.getFactorsAttr());
  if (g.hasRefused())
    return failure();
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

struct SplitWeightBlocksPass : impl::SplitWeightBlocksPassBase<SplitWeightBlocksPass> {
  void runOnOperation() override {
    const DerivableVariables variables(getOperation());
    SmallVector<ContractOp> products;
    getOperation().walk([&](ContractOp op) { products.push_back(op); });
    for (ContractOp op : products)
      if (failed(splitBlocks(op, variables)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx
