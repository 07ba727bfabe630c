#include "OpEvaluators.h"

#include "vx/Dialect/VX/IR/BlockFormats.h"

#include <cmath>

using namespace mlir;

namespace vx::reference {

static llvm::Error checkShapes(Operation *op, llvm::ArrayRef<HostTensor> operands) {
  for (const HostTensor &operand : operands.drop_front())
    if (operand.getShape() != operands[0].getShape())
      return callError(op, "the operands' shapes " + describeShape(operands[0].getShape()) + " and " +
                               describeShape(operand.getShape()) + " differ");
  return llvm::Error::success();
}

/// The element of the zero point, 0 without one.
static int64_t getZero(llvm::ArrayRef<HostTensor> operands, int64_t i) {
  return operands.size() > 2 ? operands[2].getInt(i) : 0;
}

static Result evaluateQuantize(QuantizeOp op, llvm::ArrayRef<HostTensor> operands) {
  if (llvm::Error error = checkShapes(op, operands))
    return std::move(error);
  auto [low, high] = getBounds(cast<IntegerType>(op.getResult().getType().getElementType()));
  HostTensor result(elementTypeOf(op.getResult()), operands[0].getShape());
  HostTensor quotient(operands[0].getElementType(), {1}); // rounds to the input's type
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    quotient.setFloat(0, operands[0].getFloat(i) / operands[1].getFloat(i));
    double number = std::nearbyint(quotient.getFloat(0)) + static_cast<double>(getZero(operands, i));
    result.setInt(i, static_cast<int64_t>(number > low ? std::fmin(number, high) : low));
  }
  return result;
}

static Result evaluateDequantize(DequantizeOp op, llvm::ArrayRef<HostTensor> operands) {
  if (llvm::Error error = checkShapes(op, operands))
    return std::move(error);
  HostTensor result(elementTypeOf(op.getResult()), operands[0].getShape());
  bool isDouble = result.getElementType() == ElementType::F64;
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    auto number = static_cast<double>(operands[0].getInt(i) - getZero(operands, i));
    if (!isDouble)
      number = static_cast<float>(number);
    double product = number * operands[1].getFloat(i);
    result.setFloat(i, isDouble ? product : static_cast<float>(product));
  }
  return result;
}

static Result evaluateDecodeBlocks(DecodeBlocksOp op, const HostTensor &input) {
  const BlockLayout &layout = getBlockLayout(op.getFormat());
  Shape shape(input.getShape());
  if (shape.empty() || shape.back() % layout.bytes != 0)
    return callError(op, "the shape " + describeShape(shape) + " does not end in blocks of " +
                             std::to_string(layout.bytes) + " bytes");
  shape.back() = shape.back() / layout.bytes * layout.elements;
  HostTensor result(ElementType::F32, shape);
  std::vector<float> numbers(layout.elements);
  for (int64_t block = 0; block < result.getNumElements() / layout.elements; ++block) {
    decodeBlock(layout, input.getBytes().slice(block * layout.bytes, layout.bytes), numbers);
    for (int64_t i = 0; i < layout.elements; ++i)
      result.setFloat(block * layout.elements + i, numbers[i]);
  }
  return result;
}

void addQuantizationEvaluators(EvaluatorTable &table) {
  table.add<evaluateQuantize>();
  table.add<evaluateDequantize>();
  table.add<evaluateDecodeBlocks>();
}

} // namespace vx::reference
