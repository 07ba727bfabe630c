// One function for each op that is imported, and what several of them share. The functions stand in Import*.cpp by
// family; OpTable.cpp says which versions each one reads.
#ifndef VX_FRONTEND_ONNX_OPFUNCTIONS_H
#define VX_FRONTEND_ONNX_OPFUNCTIONS_H

#include "NodeImporter.h"
#include "OpTable.h"

namespace vx::onnx {

/// True when an element type can hold the value; an expression over symbols counts as one that fits any integer.
bool fitsType(DimAttr value, mlir::Type elementType);
/// The element type of a sequence that holds tensors of both types: dimensions that differ become unknown.
mlir::TensorType joinElementTypes(mlir::TensorType lhs, mlir::TensorType rhs);

void importAbs(NodeImporter &n);
void importAdd(NodeImporter &n);
void importAnd(NodeImporter &n);
void importArgMax(NodeImporter &n);
void importArgMin(NodeImporter &n);
void importAveragePool(NodeImporter &n);
void importBatchNormalization(NodeImporter &n);
void importCast(NodeImporter &n);
void importCastLike(NodeImporter &n);
void importCeil(NodeImporter &n);
void importCelu(NodeImporter &n);
void importClip(NodeImporter &n);
void importConcat(NodeImporter &n);
void importConstant(NodeImporter &n);
void importConstantOfShape(NodeImporter &n);
void importConv(NodeImporter &n);
void importConvTranspose(NodeImporter &n);
void importCos(NodeImporter &n);
void importDequantizeLinear(NodeImporter &n);
void importDiv(NodeImporter &n);
void importDropout(NodeImporter &n);
void importElu(NodeImporter &n);
void importEqual(NodeImporter &n);
void importErf(NodeImporter &n);
void importExp(NodeImporter &n);
void importExpand(NodeImporter &n);
void importFlatten(NodeImporter &n);
void importFloor(NodeImporter &n);
void importGather(NodeImporter &n);
void importGatherND(NodeImporter &n);
void importGelu(NodeImporter &n);
void importGemm(NodeImporter &n);
void importGlobalAveragePool(NodeImporter &n);
void importGlobalMaxPool(NodeImporter &n);
void importGreater(NodeImporter &n);
void importGreaterOrEqual(NodeImporter &n);
void importHardSigmoid(NodeImporter &n);
void importHardSwish(NodeImporter &n);
void importIdentity(NodeImporter &n);
void importIf(NodeImporter &n);
void importInstanceNormalization(NodeImporter &n);
void importIsInf(NodeImporter &n);
void importIsNaN(NodeImporter &n);
void importLayerNormalization(NodeImporter &n);
void importLeakyRelu(NodeImporter &n);
void importLess(NodeImporter &n);
void importLessOrEqual(NodeImporter &n);
void importLog(NodeImporter &n);
void importLogSoftmax(NodeImporter &n);
void importLoop(NodeImporter &n);
void importMatMul(NodeImporter &n);
void importMax(NodeImporter &n);
void importMaxPool(NodeImporter &n);
void importMean(NodeImporter &n);
void importMin(NodeImporter &n);
void importMish(NodeImporter &n);
void importMod(NodeImporter &n);
void importMul(NodeImporter &n);
void importNeg(NodeImporter &n);
void importNonZero(NodeImporter &n);
void importNot(NodeImporter &n);
void importOr(NodeImporter &n);
void importPRelu(NodeImporter &n);
void importPad(NodeImporter &n);
void importPow(NodeImporter &n);
void importQuantizeLinear(NodeImporter &n);
void importRMSNormalization(NodeImporter &n);
void importRange(NodeImporter &n);
void importReciprocal(NodeImporter &n);
void importReduceL1(NodeImporter &n);
void importReduceL2(NodeImporter &n);
void importReduceLogSum(NodeImporter &n);
void importReduceLogSumExp(NodeImporter &n);
void importReduceMax(NodeImporter &n);
void importReduceMean(NodeImporter &n);
void importReduceMin(NodeImporter &n);
void importReduceProd(NodeImporter &n);
void importReduceSum(NodeImporter &n);
void importReduceSumSquare(NodeImporter &n);
void importRelu(NodeImporter &n);
void importReshape(NodeImporter &n);
void importResize(NodeImporter &n);
void importRound(NodeImporter &n);
void importSelu(NodeImporter &n);
void importSequenceAt(NodeImporter &n);
void importSequenceConstruct(NodeImporter &n);
void importSequenceEmpty(NodeImporter &n);
void importSequenceErase(NodeImporter &n);
void importSequenceInsert(NodeImporter &n);
void importSequenceLength(NodeImporter &n);
void importShape(NodeImporter &n);
void importSigmoid(NodeImporter &n);
void importSign(NodeImporter &n);
void importSin(NodeImporter &n);
void importSize(NodeImporter &n);
void importSlice(NodeImporter &n);
void importSoftmax(NodeImporter &n);
void importSoftplus(NodeImporter &n);
void importSoftsign(NodeImporter &n);
void importSplit(NodeImporter &n);
void importSqrt(NodeImporter &n);
void importSqueeze(NodeImporter &n);
void importSub(NodeImporter &n);
void importSum(NodeImporter &n);
void importSwish(NodeImporter &n);
void importTan(NodeImporter &n);
void importTanh(NodeImporter &n);
void importThresholdedRelu(NodeImporter &n);
void importTile(NodeImporter &n);
void importTranspose(NodeImporter &n);
void importUnsqueeze(NodeImporter &n);
void importWhere(NodeImporter &n);
void importXor(NodeImporter &n);

} // namespace vx::onnx

#endif
