#include "OpEvaluators.h"

using namespace mlir;

namespace vx::reference {

/// " at [2, 0]": where a tensor has its element of this number; nothing of a scalar, which has one.
static std::string describePlace(llvm::ArrayRef<int64_t> shape, int64_t element) {
  std::string text;
  for (int64_t size : llvm::reverse(shape)) {
    text = std::to_string(element % size) + (text.empty() ? "" : ", ") + text;
    element /= size;
  }
  return text.empty() ? text : " at [" + text + "]";
}

static Result evaluateGather(GatherOp op, const HostTensor &input, const HostTensor &indices) {
  int64_t axis = op.getAxis(), members = op.getMembers().value_or(1);
  llvm::ArrayRef<int64_t> sizes = input.getShape().slice(axis, members);
  llvm::ArrayRef<int64_t> places = indices.getShape().drop_back(op.getMembers() ? 1 : 0);
  Shape shape(input.getShape().take_front(axis));
  llvm::append_range(shape, places);
  llvm::append_range(shape, input.getShape().drop_front(axis + members));
  HostTensor result(input.getElementType(), shape);
  // An index faults when it is read: not when the result is empty.
  if (result.getNumElements() == 0)
    return result;
  int64_t step = getStrides(input.getShape())[axis + members - 1];
  int64_t outer = IndexSpace(input.getShape().take_front(axis)).getCount(), tuples = IndexSpace(places).getCount();
  int64_t at = 0;
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t i = 0; i < tuples; ++i) {
      int64_t from = block;
      for (auto [k, size] : llvm::enumerate(sizes)) {
        int64_t element = i * members + static_cast<int64_t>(k), index = indices.getInt(element);
        if (index < -size || index >= size)
          return callError(op, "index " + llvm::Twine(index) + describePlace(indices.getShape(), element) +
                                   " is out of range [" + llvm::Twine(-size) + ", " + llvm::Twine(size) + ")");
        from = from * size + (index < 0 ? index + size : index);
      }
      for (int64_t inner = 0; inner < step; ++inner)
        copyElement(result, at++, input, from * step + inner);
    }
  return result;
}

static bool isNonzero(const HostTensor &tensor, int64_t index) {
  return isFloat(tensor.getElementType()) ? tensor.getFloat(index) != 0 : tensor.getInt(index) != 0;
}

static Result evaluateCountNonzero(CountNonzeroOp op, const HostTensor &input) {
  int64_t count = 0;
  for (int64_t i = 0; i < input.getNumElements(); ++i)
    count += isNonzero(input, i);
  return HostTensor::scalar(count);
}

static Result evaluateNonzero(NonzeroOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape) {
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

void addIndexingEvaluators(EvaluatorTable &table) {
  table.add<evaluateGather>();
  table.add<evaluateCountNonzero>();
  table.add<evaluateNonzero>();
}

} // namespace vx::reference
