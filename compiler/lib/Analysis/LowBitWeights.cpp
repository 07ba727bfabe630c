#include "vx/Analysis/LowBitWeights.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

/// True where `tensor` is the result of an op that `isFound` takes, or of a few elementwise ops on one. Each op is
/// visited once, however many ways lead to it.
static bool isElementwiseOnOne(Value tensor, function_ref<bool(Operation *)> isFound) {
  constexpr size_t mostOps = 64; // several times those of a weight: passes ask this of each op of long chains
  llvm::SetVector<Operation *> visited;
  if (Operation *producer = tensor.getDefiningOp())
    visited.insert(producer);
  for (size_t next = 0; next < visited.size() && next < mostOps; ++next) {
    Operation *op = visited[next];
    if (isFound(op))
      return true;
    if (op->hasTrait<OpTrait::Elementwise>())
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          visited.insert(producer);
  }
  return false;
}

bool readsPacked(Value tensor) {
  return isElementwiseOnOne(tensor, [](Operation *op) { return isa<UnpackOp>(op); });
}

/// True for integers that are computed from integer constants alone. Each op is visited once.
static bool isOfConstantBits(Value tensor) {
  constexpr size_t mostOps = 128;
  llvm::SetVector<Operation *> visited;
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    const bool isInteger = op && isa<IntegerType>(getElementTypeOrSelf(value.getType()));
    return isInteger && (visited.insert(op) || true);
  };
  if (!visit(tensor))
    return false;
  for (size_t next = 0; next < visited.size(); ++next) {
    Operation *op = visited[next];
    if (isa<ConstantOp>(op))
      continue;
    if (visited.size() > mostOps || !isPure(op) || op->getNumRegions() != 0 || op->getNumOperands() == 0 ||
        !llvm::all_of(op->getOperands(), visit))
      return false;
  }
  return true;
}

/// True for a constant or a variable of integers of 8 or 4 bits, in any shape, for such bits of a constant, and for a
/// constant of floats of 16 bits, or such floats whose bits are computed from integer constants.
static bool isLowBitConstant(Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  while (auto reshape = tensor.getDefiningOp<ReshapeOp>())
    tensor = reshape.getInput();
  if (getSplatNumber(tensor))
    return false;
  if (element.isF16() || element.isBF16()) {
    auto bits = tensor.getDefiningOp<BitcastOp>();
    return isa_and_nonnull<ConstantOp>(tensor.getDefiningOp()) || (bits && isOfConstantBits(bits.getInput()));
  }
  return (element.isInteger(8) || element.isInteger(4)) &&
         (isa_and_nonnull<VariableLoadOp>(tensor.getDefiningOp()) || isOfConstantBits(tensor));
}

bool decodesLowBits(Value tensor) {
  return isElementwiseOnOne(tensor, [](Operation *op) {
    return isa<CastOp>(op) && isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())) &&
           (readsPacked(op->getOperand(0)) || isLowBitConstant(op->getOperand(0)));
  });
}

/// What repeats the numbers of `value`, where they are repeated; else null. `isJoined`: of two dimensions of the op one
/// of `value` was made.
static BroadcastOp findBroadcast(Value value, bool &isJoined) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  isJoined = static_cast<bool>(reshape);
  return (isJoined ? reshape.getInput() : value).getDefiningOp<BroadcastOp>();
}

/// True where a broadcast gives different numbers along a dimension of its result.
static bool variesAlong(BroadcastOp broadcast, int64_t dim) {
  auto input = cast<RankedTensorType>(broadcast.getInput().getType());
  for (auto [from, to] : llvm::enumerate(broadcast.getDimensions()))
    if (to == dim && input.getDimSize(from) != 1)
      return true;
  return false;
}

std::optional<LowBitWeight> LowBitWeight::find(Value weight, const DerivableVariables &variables) {
  constexpr size_t mostOps = 8;
  auto shape = dyn_cast<RankedTensorType>(weight.getType());
  if (!shape || !shape.hasStaticShape() || shape.getNumElements() == 0 || !isa<FloatType>(shape.getElementType()))
    return std::nullopt;
  LowBitWeight found;
  while (Operation *op = weight.getDefiningOp()) {
    if (isLowBitConstant(weight)) {
      if (found.ops.empty() || !variables.decide(weight))
        return std::nullopt;
      found.integers = cast<TypedValue<RankedTensorType>>(weight);
      std::reverse(found.ops.begin(), found.ops.end());
      return found;
    }
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 || found.ops.size() == mostOps)
      return std::nullopt;
    Value main; // the operand that has an element of its own for each of the weight
    for (Value operand : op->getOperands()) {
      bool isJoined;
      if (cast<RankedTensorType>(operand.getType()).getShape() != shape.getShape() || !variables.decide(operand))
        return std::nullopt;
      if (getSplatNumber(operand) || findBroadcast(operand, isJoined))
        continue;
      if (main)
        return std::nullopt;
      main = operand;
    }
    if (!main)
      return std::nullopt;
    found.ops.push_back(op);
    weight = main;
  }
  return std::nullopt;
}

std::optional<int64_t> LowBitWeight::findBlock(int64_t dim) const {
  std::optional<int64_t> block;
  bool differsInPlaces = false;
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      bool isJoined;
      BroadcastOp broadcast = getSplatNumber(operand) ? BroadcastOp() : findBroadcast(operand, isJoined);
      if (!broadcast)
        continue;
      if (!isJoined) {
        differsInPlaces |= variesAlong(broadcast, dim);
        continue;
      }
      ArrayRef<int64_t> split = cast<RankedTensorType>(broadcast.getType()).getShape();
      SmallVector<int64_t> joined(split);
      if (dim + 1 < static_cast<int64_t>(joined.size())) {
        joined[dim] *= joined[dim + 1];
        joined.erase(joined.begin() + dim + 1);
      }
      int64_t own = split.size() > joined.size() ? split[dim + 1] : 0;
      if (own == 0 || ArrayRef(joined) != cast<RankedTensorType>(operand.getType()).getShape() ||
          variesAlong(broadcast, dim + 1) || (block && *block != own))
        return std::nullopt;
      block = own;
    }
  return block && differsInPlaces ? std::nullopt : std::optional(block.value_or(0));
}

Value LowBitWeight::decode(GraphBuilder &g, Value elements, function_ref<Value(const Repeated &)> repeat) const {
  SmallVector<DimAttr> dims = getDims(cast<RankedTensorType>(elements.getType()));
  IRMapping mapping;
  mapping.map(integers, elements);
  auto map = [&](Value operand) {
    if (mapping.contains(operand))
      return;
    auto type = getTensorType(dims, getElementTypeOrSelf(operand.getType()));
    bool isJoined;
    if (Attribute number = getSplatNumber(operand))
      mapping.map(operand, g.emitConstant(DenseElementsAttr::get(cast<ShapedType>(type), number)));
    else if (BroadcastOp broadcast = findBroadcast(operand, isJoined))
      mapping.map(operand, repeat({operand, broadcast, isJoined}));
  };
  Value decoded;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      map(operand);
    Operation *clone = g.builder.clone(*op, mapping);
    decoded = clone->getResult(0);
    decoded.setType(getTensorType(dims, getElementTypeOrSelf(decoded.getType())));
    mapping.map(op->getResult(0), decoded);
  }
  return decoded;
}

Value splitDim(GraphBuilder &g, Value value, int64_t dim, ArrayRef<int64_t> sizes) {
  SmallVector<DimAttr> dims = getDims(g.typeOf(value));
  dims.erase(dims.begin() + dim);
  for (auto [place, size] : llvm::enumerate(sizes))
    dims.insert(dims.begin() + dim + place, g.dim(size));
  return g.reshape(value, dims);
}

/// `numbers` with a dimension in the form of `sizes`. Where they are computed from numbers of few bits, these get the
/// shape: a kernel computes nothing through a view.
static Value splitNumbers(GraphBuilder &g, Value numbers, int64_t dim, ArrayRef<int64_t> sizes) {
  SmallVector<DimAttr> dims = getDims(g.typeOf(numbers));
  dims.erase(dims.begin() + dim);
  for (auto [place, size] : llvm::enumerate(sizes))
    dims.insert(dims.begin() + dim + place, g.dim(size));
  Value source = numbers;
  while (auto reshape = source.getDefiningOp<ReshapeOp>())
    source = reshape.getInput();
  if (source.getType() == getTensorType(dims, getElementTypeOrSelf(source.getType())) || !decodesLowBits(source))
    return g.reshape(source, dims);
  if (auto widening = source.getDefiningOp<CastOp>())
    return g.cast(g.reshape(widening.getInput(), dims), g.typeOf(source).getElementType());
  auto product = source.getDefiningOp<MulOp>();
  if (!product || source != numbers)
    return g.reshape(source, dims);
  auto splitFactor = [&](Value factor) -> Value {
    auto broadcast = factor.getDefiningOp<BroadcastOp>();
    const int64_t rank = g.typeOf(factor).getRank();
    if (!broadcast || !llvm::equal(broadcast.getDimensions(), llvm::seq<int64_t>(0, rank)))
      return splitNumbers(g, factor, dim, sizes);
    Value own = broadcast.getInput();
    const SmallVector<int64_t> ones(sizes.size(), 1);
    own = splitNumbers(g, own, dim, g.typeOf(own).getDimSize(dim) == 1 ? ArrayRef<int64_t>(ones) : sizes);
    return g.broadcast(own, dims);
  };
  return g.emit<MulOp>(splitFactor(product.getLhs()), splitFactor(product.getRhs()));
}

Value LowBitWeight::split(GraphBuilder &g, int64_t dim, ArrayRef<int64_t> sizes) const {
  const int64_t more = static_cast<int64_t>(sizes.size()) - 1;
  Value elements = splitDim(g, integers, dim, sizes);
  return decode(g, elements, [&](const Repeated &numbers) -> Value {
    BroadcastOp broadcast = numbers.broadcast;
    Value own = broadcast.getInput();
    SmallVector<int64_t> dims(broadcast.getDimensions());
    const int64_t at = llvm::find(dims, dim) - dims.begin();
    for (int64_t &to : dims)
      to = to > dim ? to + more - (numbers.isJoined ? 1 : 0) : to;
    if (at < static_cast<int64_t>(dims.size()) && g.typeOf(own).getDimSize(at) != 1) {
      int64_t places = 0;
      for (int64_t left = g.typeOf(own).getDimSize(at); left > 1; left /= sizes[places++])
        if (places > 0)
          dims.insert(dims.begin() + at + places, dim + places);
      own = splitNumbers(g, own, at, sizes.take_front(places));
    }
    auto type = getTensorType(getDims(g.typeOf(elements)), g.typeOf(own).getElementType());
    return g.emitAs<BroadcastOp>(type, own, dims);
  });
}

} // namespace vx
