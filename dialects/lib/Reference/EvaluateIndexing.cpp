#include "OpEvaluators.h"

using namespace mlir;

namespace vx::reference {

Result evaluateGather(GatherOp op, const HostTensor &input, const HostTensor &indices) {
  int64_t axis = op.getAxis(), size = input.getShape()[axis];
  Shape shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  HostTensor result(input.getElementType(), shape);
  // An index faults when it is read: not when the result is empty.
  if (result.getNumElements() == 0)
    return result;
  int64_t step = getStrides(input.getShape())[axis];
  int64_t outer = IndexSpace(input.getShape().take_front(axis)).getCount();
  int64_t at = 0;
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t i = 0; i < indices.getNumElements(); ++i) {
      int64_t index = indices.getInt(i);
      if (index < -size || index >= size)
        return callError(op, "index " + llvm::Twine(index) + " is out of range [" + llvm::Twine(-size) + ", " +
                                 llvm::Twine(size) + ")");
      int64_t from = (block * size + (index < 0 ? index + size : index)) * step;
      for (int64_t inner = 0; inner < step; ++inner)
        copyElement(result, at++, input, from + inner);
    }
  return result;
}

static bool isNonzero(const HostTensor &tensor, int64_t index) {
  return isFloat(tensor.getElementType()) ? tensor.getFloat(index) != 0 : tensor.getInt(index) != 0;
}

Result evaluateCountNonzero(CountNonzeroOp op, const HostTensor &input) {
  int64_t count = 0;
  for (int64_t i = 0; i < input.getNumElements(); ++i)
    count += isNonzero(input, i);
  return HostTensor::scalar(count);
}

Result evaluateNonzero(NonzeroOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape) {
  HostTensor result(ElementType::I64, resultShape);
  int64_t columns = resultShape[1], column = 0;
  IndexSpace(input.getShape()).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    if (!isNonzero(input, linear))
      return;
    for (auto [row, position] : llvm::enumerate(index))
      if (column < columns)
        result.setInt(row * columns + column, position);
    ++column;
  });
  if (column != columns)
    return callError(op, "the input has " + llvm::Twine(column) +
                             " elements that are not zero, the result's type says " + llvm::Twine(columns));
  return result;
}

} // namespace vx::reference
