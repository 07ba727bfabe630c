#include "OpEvaluators.h"

#include <cmath>

using namespace mlir;

namespace vx::reference {

// Sums in the widest type; each element of the result is rounded once.
using Wide = long double;

static Result evaluateSoftmax(SoftmaxOp op, const HostTensor &input) {
  HostTensor result(input.getElementType(), input.getShape());
  int64_t axis = op.getAxis(), size = input.getShape()[axis], step = getStrides(input.getShape())[axis];
  std::vector<double> values = toFloats(input);
  int64_t rows = size == 0 ? 0 : input.getNumElements() / size;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t begin = row / step * step * size + row % step;
    double greatest = -INFINITY;
    for (int64_t k = 0; k < size; ++k)
      greatest = std::fmax(greatest, values[begin + k * step]);
    // A NaN reaches the sum through its own term, and +inf as inf - inf.
    Wide sum = 0;
    for (int64_t k = 0; k < size; ++k)
      sum += std::exp(static_cast<Wide>(values[begin + k * step]) - greatest);
    for (int64_t k = 0; k < size; ++k) {
      Wide shifted = static_cast<Wide>(values[begin + k * step]) - greatest;
      Wide value = op.getLog() ? shifted - std::log(sum) : std::exp(shifted) / sum;
      result.setFloat(begin + k * step, static_cast<double>(value));
    }
  }
  return result;
}

static Result evaluateLayerNorm(LayerNormOp op, const HostTensor &input, const HostTensor &scale,
                                const HostTensor &bias) {
  llvm::ArrayRef<int64_t> rowShape = input.getShape().drop_front(op.getAxis());
  for (const HostTensor *tensor : {&scale, &bias})
    if (tensor->getShape() != rowShape)
      return callError(op, "the shapes " + describeShape(rowShape) + " of a row and " +
                               describeShape(tensor->getShape()) + " differ");
  HostTensor result(input.getElementType(), input.getShape());
  Wide epsilon = op.getEpsilon().convertToFloat();
  int64_t size = IndexSpace(rowShape).getCount();
  for (int64_t begin = 0; size > 0 && begin < input.getNumElements(); begin += size) {
    Wide sum = 0, squares = 0;
    for (int64_t k = 0; k < size; ++k)
      sum += input.getFloat(begin + k);
    Wide mean = sum / size;
    for (int64_t k = 0; k < size; ++k) {
      Wide centred = input.getFloat(begin + k) - mean;
      squares += centred * centred;
    }
    Wide deviation = std::sqrt(squares / size + epsilon);
    for (int64_t k = 0; k < size; ++k) {
      Wide centred = input.getFloat(begin + k) - mean;
      result.setFloat(begin + k, static_cast<double>(centred / deviation * scale.getFloat(k) + bias.getFloat(k)));
    }
  }
  return result;
}

static Result evaluateRmsNorm(RmsNormOp op, const HostTensor &input, const HostTensor &scale) {
  int64_t size = input.getShape().back();
  if (scale.getShape() != input.getShape().take_back(1))
    return callError(op, "the shapes " + describeShape(input.getShape().take_back(1)) + " of a row and " +
                             describeShape(scale.getShape()) + " differ");
  HostTensor result(input.getElementType(), input.getShape());
  Wide epsilon = op.getEpsilon().convertToFloat();
  for (int64_t begin = 0; size > 0 && begin < input.getNumElements(); begin += size) {
    Wide squares = 0;
    for (int64_t k = 0; k < size; ++k)
      squares += static_cast<Wide>(input.getFloat(begin + k)) * input.getFloat(begin + k);
    Wide root = std::sqrt(squares / size + epsilon);
    for (int64_t k = 0; k < size; ++k)
      result.setFloat(begin + k,
                      static_cast<double>(static_cast<Wide>(input.getFloat(begin + k)) * scale.getFloat(k) / root));
  }
  return result;
}

void addNormEvaluators(EvaluatorTable &table) {
  table.add<evaluateSoftmax>();
  table.add<evaluateLayerNorm>();
  table.add<evaluateRmsNorm>();
}

} // namespace vx::reference
