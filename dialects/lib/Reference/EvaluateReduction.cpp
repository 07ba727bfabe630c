#include "OpEvaluators.h"

#include <cmath>

using namespace mlir;

namespace vx::reference {

namespace {

/// Combines elements one by one, in f64 or wider for floats and in 64 bits for integers.
class Accumulator {
public:
  Accumulator(ReduceKind kind, ElementType type) : kind(kind), type(type) {
    switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::or_:
      break;
    case ReduceKind::prod:
      wide = 1;
      integer = 1;
      break;
    case ReduceKind::max:
      wide = isFloat(type) ? getLowestFloat(type) : 0;
      integer = isFloat(type) ? 0 : getLowestInt(type);
      break;
    case ReduceKind::min:
      wide = isFloat(type) ? getHighestFloat(type) : 0;
      integer = isFloat(type) ? 0 : getHighestInt(type);
      break;
    case ReduceKind::and_:
      integer = wrapInt(type, -1);
      break;
    }
  }

  void add(const HostTensor &tensor, int64_t index) {
    if (isFloat(type))
      addFloat(tensor.getFloat(index));
    else
      addInt(tensor.getInt(index));
  }

  void store(HostTensor &tensor, int64_t index) const {
    if (isFloat(type))
      tensor.setFloat(index, static_cast<double>(wide));
    else
      tensor.setInt(index, integer);
  }

private:
  void addFloat(double value) {
    if (kind == ReduceKind::sum)
      wide += value;
    else if (kind == ReduceKind::prod)
      wide *= value;
    else if (std::isnan(value) || std::isnan(wide))
      wide = NAN;
    else if (kind == ReduceKind::max ? value > wide : value < wide)
      wide = value;
    else if (value == wide && std::signbit(value) == (kind == ReduceKind::min))
      wide = value; // of two zeros, +0 is the greater
  }

  void addInt(int64_t value) {
    uint64_t a = static_cast<uint64_t>(integer), b = static_cast<uint64_t>(value);
    bool isLess = isSigned(type) ? integer < value : a < b;
    switch (kind) {
    case ReduceKind::sum:
      integer = static_cast<int64_t>(a + b);
      break;
    case ReduceKind::prod:
      integer = static_cast<int64_t>(a * b);
      break;
    case ReduceKind::max:
      integer = isLess ? value : integer;
      break;
    case ReduceKind::min:
      integer = isLess ? integer : value;
      break;
    case ReduceKind::and_:
      integer = static_cast<int64_t>(a & b);
      break;
    case ReduceKind::or_:
      integer = static_cast<int64_t>(a | b);
      break;
    }
  }

  ReduceKind kind;
  ElementType type;
  long double wide = 0;
  int64_t integer = 0;
};

} // namespace

static Result evaluateReduce(ReduceOp op, const HostTensor &input) {
  Shape kept, keptStep(input.getRank());
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (!llvm::is_contained(op.getAxes(), d))
      kept.push_back(input.getShape()[d]);
  Shape strides = getStrides(kept);
  size_t next = 0;
  for (int64_t d = 0; d < input.getRank(); ++d)
    keptStep[d] = llvm::is_contained(op.getAxes(), d) ? 0 : strides[next++];

  HostTensor result(input.getElementType(), kept);
  std::vector<Accumulator> accumulators(result.getNumElements(), Accumulator(op.getKind(), input.getElementType()));
  IndexSpace(input.getShape()).forEach([&](llvm::ArrayRef<int64_t> index, int64_t linear) {
    int64_t to = 0;
    for (auto [position, step] : llvm::zip(index, keptStep))
      to += position * step;
    accumulators[to].add(input, linear);
  });
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    accumulators[i].store(result, i);
  return result;
}

static Result evaluateCumulativeSum(CumulativeSumOp op, const HostTensor &input) {
  HostTensor result(input.getElementType(), input.getShape());
  int64_t length = input.getShape()[1], inner = input.getShape()[2];
  for (int64_t line = 0; line < input.getShape()[0] * inner; ++line) {
    Accumulator sum(ReduceKind::sum, input.getElementType());
    for (int64_t i = 0; i < length; ++i) {
      int64_t at = (line / inner * length + (op.getReverse() ? length - 1 - i : i)) * inner + line % inner;
      if (op.getExclusive())
        sum.store(result, at);
      sum.add(input, at);
      if (!op.getExclusive())
        sum.store(result, at);
    }
  }
  return result;
}

static Result evaluateArgReduce(ArgReduceOp op, const HostTensor &input) {
  int64_t axis = op.getAxis(), size = input.getShape()[axis], step = getStrides(input.getShape())[axis];
  Shape shape(input.getShape());
  shape.erase(shape.begin() + axis);
  HostTensor result(ElementType::I64, shape);
  if (size == 0 && result.getNumElements() > 0)
    return callError(op, "dimension " + llvm::Twine(axis) + " of " + describeShape(input.getShape()) +
                             " has no element to choose");
  bool wantsMax = op.getKind() == ReduceKind::max;
  ElementType type = input.getElementType();
  // True when the element at `a` is strictly better than that at `b`.
  auto isBetter = [&](int64_t a, int64_t b) {
    if (isFloat(type)) {
      double left = input.getFloat(a), right = input.getFloat(b);
      if (std::isnan(left) || std::isnan(right))
        return std::isnan(left) && !std::isnan(right);
      return wantsMax ? left > right : left < right;
    }
    int64_t left = input.getInt(a), right = input.getInt(b);
    if (isSigned(type))
      return wantsMax ? left > right : left < right;
    auto unsignedLeft = static_cast<uint64_t>(left), unsignedRight = static_cast<uint64_t>(right);
    return wantsMax ? unsignedLeft > unsignedRight : unsignedLeft < unsignedRight;
  };
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    int64_t begin = i / step * step * size + i % step;
    int64_t best = 0;
    for (int64_t k = 1; k < size; ++k) {
      int64_t candidate = begin + k * step, current = begin + best * step;
      // With `last`, an equal element replaces the one before it.
      if (op.getLast() ? !isBetter(current, candidate) : isBetter(candidate, current))
        best = k;
    }
    result.setInt(i, best);
  }
  return result;
}

int64_t getWindowCount(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t low, int64_t high) {
  int64_t room = size + low + high - ((kernel - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

static Result evaluateReduceWindow(ReduceWindowOp op, const HostTensor &input) {
  llvm::ArrayRef<int64_t> window = op.getWindow(), steps = op.getStrides(), dilations = op.getDilations();
  Shape shape;
  for (int64_t d = 0; d < input.getRank(); ++d)
    shape.push_back(getWindowCount(input.getShape()[d], window[d], steps[d], dilations[d], op.getPadsLow()[d],
                                   op.getPadsHigh()[d]));
  HostTensor result(input.getElementType(), shape);
  Shape strides = getStrides(input.getShape());
  IndexSpace kernel(window);
  IndexSpace(shape).forEach([&](llvm::ArrayRef<int64_t> out, int64_t linear) {
    Accumulator accumulator(op.getKind(), input.getElementType());
    kernel.forEach([&](llvm::ArrayRef<int64_t> k, int64_t) {
      int64_t offset = 0;
      for (int64_t d = 0; d < input.getRank(); ++d) {
        int64_t position = out[d] * steps[d] + k[d] * dilations[d] - op.getPadsLow()[d];
        if (position < 0 || position >= input.getShape()[d])
          return;
        offset += position * strides[d];
      }
      accumulator.add(input, offset);
    });
    accumulator.store(result, linear);
  });
  return result;
}

void addReductionEvaluators(EvaluatorTable &table) {
  table.add<evaluateReduce>();
  table.add<evaluateCumulativeSum>();
  table.add<evaluateArgReduce>();
  table.add<evaluateReduceWindow>();
}

} // namespace vx::reference
