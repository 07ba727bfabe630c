#include "OpEvaluators.h"

#include <cmath>
#include <numeric>

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
      bool isRead = true;
      for (auto [k, size] : llvm::enumerate(sizes)) {
        int64_t element = i * members + static_cast<int64_t>(k), index = indices.getInt(element);
        isRead &= !op.getInRange() || (index >= 0 && index < size);
        if (!op.getInRange() && (index < -size || index >= size))
          return callError(op, "index " + llvm::Twine(index) + describePlace(indices.getShape(), element) +
                                   " is out of range [" + llvm::Twine(-size) + ", " + llvm::Twine(size) + ")");
        from = from * size + (index < 0 ? index + size : index);
      }
      for (int64_t inner = 0; inner < step; ++inner, ++at)
        if (isRead)
          copyElement(result, at, input, from * step + inner);
    }
  return result;
}

static Result evaluateCheckIndices(CheckIndicesOp op, const HostTensor &indices, const SymbolValues &symbols) {
  llvm::Expected<Shape> sizes = evaluateDimsOf(op, op.getSizes(), symbols);
  if (!sizes)
    return sizes.takeError();
  HostTensor result(indices.getElementType(), indices.getShape());
  for (int64_t i = 0; i < indices.getNumElements(); ++i) {
    int64_t size = (*sizes)[i % sizes->size()], index = indices.getInt(i), lower = op.getFromStart() ? 0 : -size;
    if (index < lower || index >= size)
      return callError(op, "index " + llvm::Twine(index) + describePlace(indices.getShape(), i) + " is out of range [" +
                               llvm::Twine(lower) + ", " + llvm::Twine(size) + ")");
    result.setInt(i, index < 0 ? index + size : index);
  }
  return result;
}

static void addElement(HostTensor &to, int64_t toIndex, const HostTensor &from, int64_t fromIndex) {
  if (isFloat(to.getElementType()))
    to.setFloat(toIndex, to.getFloat(toIndex) + from.getFloat(fromIndex));
  else
    to.setInt(toIndex, static_cast<int64_t>(static_cast<uint64_t>(to.getInt(toIndex)) +
                                            static_cast<uint64_t>(from.getInt(fromIndex))));
}

static Result evaluateScatter(ScatterOp op, const HostTensor &input, const HostTensor &indices,
                              const HostTensor &updates) {
  HostTensor result = input;
  llvm::ArrayRef<int64_t> shape = input.getShape(), axes = op.getAxes();
  Shape strides = getStrides(shape), windowSizes, windowStrides;
  for (auto [d, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, static_cast<int64_t>(d))) {
      windowSizes.push_back(size);
      windowStrides.push_back(strides[d]);
    }
  Shape wanted(indices.getShape().drop_back());
  llvm::append_range(wanted, windowSizes);
  if (updates.getShape() != llvm::ArrayRef<int64_t>(wanted))
    return callError(op,
                     "needs updates of shape " + describeShape(wanted) + ", got " + describeShape(updates.getShape()));
  IndexSpace window(windowSizes);
  int64_t members = axes.size(), tuples = IndexSpace(indices.getShape().drop_back()).getCount();
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t origin = 0;
    bool isInside = true;
    for (auto [k, axis] : llvm::enumerate(axes)) {
      int64_t index = indices.getInt(tuple * members + static_cast<int64_t>(k));
      isInside &= index >= 0 && index < shape[axis];
      origin += isInside ? index * strides[axis] : 0;
    }
    if (!isInside)
      continue;
    window.forEach([&](llvm::ArrayRef<int64_t> place, int64_t linear) {
      int64_t at = origin;
      for (auto [index, stride] : llvm::zip(place, windowStrides))
        at += index * stride;
      if (op.getKind() == ScatterKind::add)
        addElement(result, at, updates, tuple * window.getCount() + linear);
      else
        copyElement(result, at, updates, tuple * window.getCount() + linear);
    });
  }
  return result;
}

static Result evaluateUpdateSlice(UpdateSliceOp op, const HostTensor &input, const HostTensor &starts,
                                  const HostTensor &updates) {
  HostTensor result = input;
  Shape strides = getStrides(input.getShape());
  int64_t origin = 0;
  for (auto [d, size] : llvm::enumerate(input.getShape())) {
    const auto *axis = llvm::find(op.getAxes(), static_cast<int64_t>(d));
    int64_t start = axis == op.getAxes().end() ? 0 : starts.getInt(axis - op.getAxes().begin());
    if (start < 0 || start > size - updates.getShape()[d])
      return result;
    origin += start * strides[d];
  }
  IndexSpace(updates.getShape()).forEach([&](llvm::ArrayRef<int64_t> place, int64_t linear) {
    int64_t at = origin;
    for (auto [index, stride] : llvm::zip(place, strides))
      at += index * stride;
    copyElement(result, at, updates, linear);
  });
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

/// Whether key `lhs` stands before key `rhs` and is not equal to it; the numbers are those of their first members.
static bool isBefore(const HostTensor &keys, int64_t members, int64_t lhs, int64_t rhs, bool descending) {
  auto isLess = [&](int64_t a, int64_t b) {
    if (!isFloat(keys.getElementType()))
      return isSigned(keys.getElementType())
                 ? keys.getInt(a) < keys.getInt(b)
                 : static_cast<uint64_t>(keys.getInt(a)) < static_cast<uint64_t>(keys.getInt(b));
    double x = keys.getFloat(a), y = keys.getFloat(b);
    return x < y || (!std::isnan(x) && std::isnan(y));
  };
  for (int64_t member = 0; member < members; ++member) {
    if (isLess(lhs + member, rhs + member))
      return !descending;
    if (isLess(rhs + member, lhs + member))
      return descending;
  }
  return false;
}

static Result evaluateTopPlaces(TopPlacesOp op, const HostTensor &keys) {
  int64_t rows = keys.getShape()[0], length = keys.getShape()[1], count = op.getCount();
  if (length < count)
    return callError(op, "expects rows of at least " + llvm::Twine(count) + " elements, got " + llvm::Twine(length));
  HostTensor result(ElementType::I64, {rows, count});
  std::vector<int64_t> places(length);
  for (int64_t row = 0; row < rows; ++row) {
    std::iota(places.begin(), places.end(), row * length);
    llvm::sort(places, [&](int64_t a, int64_t b) {
      bool isFirst = isBefore(keys, /*members=*/1, a, b, op.getDescending());
      return isFirst || (a < b && !isBefore(keys, /*members=*/1, b, a, op.getDescending()));
    });
    for (int64_t place = 0; place < count; ++place)
      result.setInt(row * count + place, places[place] - row * length);
  }
  return result;
}

/// Whether two boxes, of the least and the greatest coordinates along both dimensions, overlap too much.
static bool doOverlap(const HostTensor &boxes, int64_t a, int64_t b, float limit) {
  float shared = 1, own = 1, other = 1;
  for (int64_t d : {0, 1}) {
    auto low = [&](int64_t box) { return static_cast<float>(boxes.getFloat(4 * box + d)); };
    auto high = [&](int64_t box) { return static_cast<float>(boxes.getFloat(4 * box + 2 + d)); };
    float common = std::min(high(a), high(b)) - std::max(low(a), low(b));
    shared *= std::max(common, 0.0f);
    own *= high(a) - low(a);
    other *= high(b) - low(b);
  }
  float joined = own + other - shared;
  return shared > 0 && joined > 0 && shared / joined > limit;
}

static Result evaluateSelectBoxes(SelectBoxesOp op, const HostTensor &boxes, const HostTensor &scores,
                                  const HostTensor &overlap, const HostTensor &least,
                                  llvm::ArrayRef<int64_t> resultShape) {
  HostTensor result(ElementType::I64, resultShape);
  int64_t classes = scores.getShape()[1], length = scores.getShape()[2], count = resultShape[2];
  for (int64_t row = 0; row < scores.getShape()[0] * classes; ++row) {
    std::vector<int64_t> candidates, selected;
    for (int64_t box = 0; box < length; ++box)
      if (scores.getFloat(row * length + box) >= least.getFloat(0))
        candidates.push_back(box);
    llvm::sort(candidates, [&](int64_t a, int64_t b) {
      double x = scores.getFloat(row * length + a), y = scores.getFloat(row * length + b);
      return x > y || (x == y && a < b);
    });
    int64_t image = row / classes * length;
    for (int64_t box : candidates) {
      bool isFree = llvm::none_of(selected, [&](int64_t other) {
        return doOverlap(boxes, image + box, image + other, static_cast<float>(overlap.getFloat(0)));
      });
      if (isFree && static_cast<int64_t>(selected.size()) < count)
        selected.push_back(box);
    }
    selected.resize(count, -1);
    for (int64_t place = 0; place < count; ++place)
      result.setInt(row * count + place, selected[place]);
  }
  return result;
}

static Result evaluateMergeRuns(MergeRunsOp op, const HostTensor &keys, const HostTensor &places,
                                const HostTensor &level) {
  HostTensor result = places;
  int64_t rows = places.getShape()[0], length = places.getShape()[1], members = keys.getShape()[2];
  if (level.getInt(0) < 0)
    return callError(op, "expects a level of at least 0, got " + llvm::Twine(level.getInt(0)));
  int64_t run = int64_t(1) << std::min<int64_t>(level.getInt(0), 60);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t first = 0; first < length; first += std::min(2 * run, length)) {
      int64_t middle = std::min(first + run, length), end = std::min(first + 2 * run, length);
      int64_t left = first, right = middle;
      for (int64_t at = first; at < end; ++at) {
        auto key = [&](int64_t index) { return (row * length + places.getInt(row * length + index)) * members; };
        bool takesRight =
            left == middle || (right < end && isBefore(keys, members, key(right), key(left), op.getDescending()));
        result.setInt(row * length + at, places.getInt(row * length + (takesRight ? right++ : left++)));
      }
    }
  return result;
}

void addIndexingEvaluators(EvaluatorTable &table) {
  table.add<evaluateGather>();
  table.add<evaluateCheckIndices>();
  table.add<evaluateScatter>();
  table.add<evaluateUpdateSlice>();
  table.add<evaluateCountNonzero>();
  table.add<evaluateNonzero>();
  table.add<evaluateTopPlaces>();
  table.add<evaluateMergeRuns>();
  table.add<evaluateSelectBoxes>();
}

} // namespace vx::reference
