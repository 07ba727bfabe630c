#include "vx/Transforms/Passes.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_INFERSHAPESPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The better known of two sizes that may be equal: a constant before an expression before nothing, and of two
/// expressions the one that stands there already.
DimAttr pickBetter(DimAttr current, DimAttr other) {
  if (!current || (other && other.asConstant() && !current.asConstant()))
    return other;
  return current;
}

/// `type` with the sizes that `dims` knows better; `type` itself when there are none.
Type refine(Type type, ArrayRef<DimAttr> dims) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != static_cast<int64_t>(dims.size()))
    return type;
  SmallVector<DimAttr> refined;
  for (auto [current, other] : llvm::zip(getDims(tensor), dims))
    refined.push_back(mayBeEqual(current, other) ? pickBetter(current, other) : current);
  if (refined == getDims(tensor))
    return type;
  return getTensorType(refined, tensor.getElementType());
}

Type refine(Type type, Type other) {
  auto tensor = dyn_cast<RankedTensorType>(other);
  return tensor ? refine(type, getDims(tensor)) : type;
}

void refineValue(Value value, ArrayRef<DimAttr> dims) { value.setType(refine(value.getType(), dims)); }
void refineValue(Value value, Type other) { value.setType(refine(value.getType(), other)); }

void refineFromInterface(InferTypeOpInterface op) {
  SmallVector<Type> inferred;
  if (failed(op.inferReturnTypes(op.getContext(), std::nullopt, op->getOperands(), op->getAttrDictionary(),
                                 op->getPropertiesStorage(), op->getRegions(), inferred)))
    return;
  for (auto [result, type] : llvm::zip(op->getResults(), inferred))
    refineValue(result, type);
}

/// Ops whose result type says more than their operands: what the operands still tell.
void refineFromOperands(Operation *op) {
  if (auto castOp = dyn_cast<CastOp>(op)) {
    refineValue(castOp.getResult(), castOp.getInput().getType());
  } else if (isa<QuantizeOp, DequantizeOp>(op)) {
    for (Value operand : op->getOperands())
      refineValue(op->getResult(0), operand.getType());
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<DimAttr> dims(broadcast.getResult().getType().getRank());
    RankedTensorType input = broadcast.getInput().getType();
    for (auto [index, dim] : llvm::enumerate(broadcast.getDimensions()))
      if (input.getDimSize(index) != 1) // a 1 is repeated
        if (DimAttr size = getDim(input, index); size && size.asConstant())
          dims[dim] = size;
    refineValue(broadcast.getResult(), dims);
  } else if (auto nonzero = dyn_cast<NonzeroOp>(op)) {
    DimAttr rows = DimAttr::constant(op->getContext(), nonzero.getInput().getType().getRank());
    refineValue(nonzero.getResult(), {rows, DimAttr()});
  } else if (auto selection = dyn_cast<SelectBoxesOp>(op)) {
    SmallVector<DimAttr> scores = getDims(selection.getScores().getType());
    refineValue(selection.getResult(), {scores[0], scores[1], DimAttr()});
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    refineValue(attention.getResult(), attention.inferResultType());
    if (attention.getLogSumExp())
      refineValue(attention.getLogSumExp(), attention.inferLogSumExpType());
  }
}

struct InferShapesPass : impl::InferShapesPassBase<InferShapesPass> {
  using InferShapesPassBase::InferShapesPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal()) {
        visitBlock(function.getBody().front());
        updateSignature(function);
      }
  }

  void visitBlock(Block &block) {
    for (Operation &op : block) {
      if (auto fusion = dyn_cast<FusionOp>(op)) {
        Block &body = fusion.getBody().front();
        for (auto [argument, input] : llvm::zip(body.getArguments(), fusion.getInputs()))
          refineValue(argument, input.getType());
        visitBlock(body);
        for (auto [result, value] : llvm::zip(fusion.getResults(), body.getTerminator()->getOperands()))
          refineValue(result, value.getType());
        continue;
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visitBlock(inner);
      if (auto infer = dyn_cast<InferTypeOpInterface>(op))
        refineFromInterface(infer);
      else
        refineFromOperands(&op);
    }
  }

  /// A function that something calls keeps its type, which the callers repeat.
  void updateSignature(func::FuncOp function) {
    auto returnOp = dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
    if (!returnOp || !SymbolTable::symbolKnownUseEmpty(function, getOperation()))
      return;
    function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().front().getArgumentTypes(),
                                               returnOp.getOperandTypes()));
  }
};

} // namespace
} // namespace vx
