#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Reference/Evaluate.h"
#include "vx/Transforms/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

using reference::HostTensor;
using reference::HostValue;

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;

  void runOnOperation() override {
    // A pass runs on one function after the other, and what the last one freed may lie where this one's ops are.
    values.clear();
    folded.clear();
    SmallVector<Operation *> ops;
    // An op stands before those in its regions, so that the way back below erases no op that it has still to visit.
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      tryFold(op);
    // Producers come before their readers, so that one pass from the end finds all that nothing reads any more; a value
    // that only folded ops read never becomes a constant.
    for (Operation *op : llvm::reverse(ops)) {
      if (!isa_and_present<vx::VXDialect>(op->getDialect()))
        continue;
      if (isOpTriviallyDead(op))
        op->erase();
      else if (folded.contains(op))
        materialize(op);
    }
    joinEqualConstants();
  }

  /// Constants of one value are one, which has all their names. What joins equal ops leaves those of different names
  /// apart.
  void joinEqualConstants() {
    Block &entry = getOperation().getBody().front();
    llvm::DenseMap<Attribute, ConstantOp> kept;
    SmallVector<ConstantOp> constants;
    getOperation().walk<WalkOrder::PreOrder>([&](ConstantOp op) {
      if (!op->getParentOfType<FusionOp>() &&
          op->getParentWithTrait<mlir::OpTrait::IsIsolatedFromAbove>() == getOperation())
        constants.push_back(op);
    });
    for (ConstantOp op : constants) {
      auto [it, isFirst] = kept.try_emplace(op.getValue(), op);
      if (isFirst)
        continue;
      ConstantOp first = it->second;
      if (first->getBlock() != &entry)
        first->moveBefore(&entry, entry.begin());
      llvm::SetVector<Attribute> names;
      for (ConstantOp one : {first, op})
        if (one.getNames())
          names.insert(one.getNamesAttr().begin(), one.getNamesAttr().end());
      if (!names.empty())
        first.setNamesAttr(ArrayAttr::get(&getContext(), names.getArrayRef()));
      op.replaceAllUsesWith(first.getResult());
      op.erase();
    }
  }

  /// The names of the constants that a folded op's value was computed from.
  static void collectNames(Operation *op, llvm::SetVector<StringRef> &names, llvm::DenseSet<Operation *> &seen) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || !seen.insert(producer).second)
        continue;
      auto constant = dyn_cast<ConstantOp>(producer);
      if (!constant)
        collectNames(producer, names, seen);
      else if (constant.getNames())
        for (StringRef name : constant.getNamesAttr().getAsValueRange<StringAttr>()) {
          name.consume_front(foldedPrefix);
          names.insert(name);
        }
    }
  }

  /// What a constant is called that the value of `op` becomes: by what it was folded from, or by the op's nodes where
  /// that has no name either. One number needs none.
  static ArrayAttr getFoldedNames(Operation *op) {
    if (cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() <= 1)
      return {};
    Operation *source = op;
    while (isa_and_present<ReshapeOp>(source)) // the same elements
      source = source->getOperand(0).getDefiningOp();
    if (auto constant = dyn_cast_if_present<ConstantOp>(source))
      return constant.getNamesAttr();
    constexpr size_t mostNames = 4;
    llvm::SetVector<StringRef> sources;
    llvm::DenseSet<Operation *> seen;
    collectNames(op, sources, seen);
    std::string text = foldedPrefix.str();
    if (sources.empty()) {
      if (getSourceNodes(op->getLoc()).empty())
        return {};
      text += describeSource(op->getLoc());
    }
    for (auto [index, name] : llvm::enumerate(sources.getArrayRef().take_front(mostNames)))
      text += (index == 0 ? "" : ", ") + name.str();
    if (sources.size() > mostNames)
      text += " and " + std::to_string(sources.size() - mostNames) + " more";
    return Builder(op->getContext()).getStrArrayAttr({text});
  }

  /// The value of a constant, or of an op that only repeats or counts and is cheaper to keep than its result.
  std::optional<HostTensor> getValue(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto known = values.find(op); known != values.end())
      return known->second;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      llvm::Expected<HostTensor> tensor = reference::getHostTensor(constant.getValue());
      if (!tensor) {
        llvm::consumeError(tensor.takeError()); // strings, and weights that are not there
        return std::nullopt;
      }
      return values[op] = std::move(*tensor);
    }
    return repeats(op) ? evaluate(op) : std::nullopt;
  }

  /// True for an op that repeats or counts, and for a view of its result.
  static bool repeats(Operation *op) {
    while (op && op->hasTrait<OpTrait::View>())
      op = op->getOperand(0).getDefiningOp();
    return op && op->hasTrait<OpTrait::Expands>();
  }

  std::optional<HostTensor> evaluate(Operation *op) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() > maxElements)
      return std::nullopt;
    SmallVector<HostValue> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        return std::nullopt;
      std::optional<HostTensor> tensor = getValue(operand);
      if (!tensor)
        return std::nullopt;
      operands.push_back(std::move(*tensor));
    }
    llvm::Expected<SmallVector<HostValue>> results = reference::evaluate(op, operands, {});
    if (!results) {
      llvm::consumeError(results.takeError()); // a size that a symbol decides, or an error of the call
      return std::nullopt;
    }
    return std::get<HostTensor>(results->front());
  }

  /// Work per element of the result, for the ops where it is not a small number.
  int64_t getWork(Operation *op) {
    int64_t work = 1;
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType());
          type && type.hasStaticShape() && op->hasTrait<OpTrait::Product>())
        work = std::max(work, type.getNumElements());
    return work;
  }

  /// True where integers of 8 bits or fewer become floats that a product, a convolution or a gather reads. True also
  /// where floats of 16 bits become those of a product or a gather. The readers decode, so that a module has a weight
  /// of few bits as it is. (The filters of a convolution fold with their scales.)
  static bool decodesFactor(Operation *op) {
    auto cast = dyn_cast<CastOp>(op);
    if (!cast || !isa<FloatType>(getElementTypeOrSelf(cast.getResult().getType())) || getSplatNumber(cast.getInput()))
      return false;
    auto shape = mlir::cast<RankedTensorType>(cast.getInput().getType());
    const Type from = shape.getElementType();
    const bool isFloat = from.isF16() || from.isBF16();
    if (!isFloat && !(isa<IntegerType>(from) && from.getIntOrFloatBitWidth() <= 8 && !from.isInteger(1)))
      return false;
    constexpr size_t mostReaders = 64;
    llvm::SetVector<Operation *> readers;
    readers.insert(op);
    for (size_t next = 0; next < readers.size() && readers.size() < mostReaders; ++next)
      for (Operation *user : readers[next]->getUsers()) {
        if (isa<ContractOp, GatherOp>(user) || (!isFloat && user->hasTrait<OpTrait::Product>()))
          return true;
        bool isSame =
            user->getNumResults() == 1 && (user->hasTrait<OpTrait::Elementwise>() || user->hasTrait<OpTrait::View>());
        auto type = isSame ? dyn_cast<RankedTensorType>(user->getResult(0).getType()) : RankedTensorType();
        if (type && type.hasStaticShape() && type.getNumElements() == shape.getNumElements())
          readers.insert(user);
      }
    return false;
  }

  void tryFold(Operation *op) {
    // Integers stay integers: a product may read them.
    if (op->getNumResults() != 1 || isa<ConstantOp, DequantizeOp, DecodeBlocksOp>(op) || decodesFactor(op) ||
        !reference::canEvaluate(op->getName()) || op->getParentOfType<FusionOp>())
      return;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() > maxElements)
      return;
    int64_t operandElements = 0;
    for (Type operand : op->getOperandTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(operand);
      if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() > 16 * maxElements)
        return;
      operandElements += tensor.getNumElements();
    }
    if (type.getNumElements() > std::max<int64_t>(operandElements, maxGrowth))
      return;
    // Repeating is what devices do for nothing, and a view of a repeated value too; only readers fold through them.
    const int64_t own = op->hasTrait<OpTrait::View>() ? 0 : operandElements;
    if (repeats(op) && type.getNumElements() > std::max<int64_t>(own, maxInline))
      return;
    if (type.getNumElements() * getWork(op) > 64 * maxElements)
      return;
    std::optional<HostTensor> tensor = evaluate(op);
    if (!tensor)
      return;
    values[op] = std::move(*tensor);
    folded.insert(op);
  }

  void materialize(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    const HostTensor &tensor = values[op];
    ElementsAttr value =
        type.getNumElements() <= maxInline ? reference::getElementsAttr(type, tensor) : getSplat(type, tensor);
    if (!value)
      value = reference::getResourceAttr(type, tensor, "folded");
    OpBuilder builder(op);
    op->replaceAllUsesWith(ConstantOp::create(builder, op->getLoc(), type, value, getFoldedNames(op)));
    op->erase();
  }

  /// `tensor` as one number in every place; null where the numbers differ.
  static ElementsAttr getSplat(RankedTensorType type, const HostTensor &tensor) {
    for (int64_t i = 1; i < tensor.getNumElements(); ++i)
      if (tensor.getBits(i) != tensor.getBits(0))
        return {};
    HostTensor one(tensor.getElementType(), {});
    one.setBits(0, tensor.getBits(0));
    Type element = type.getElementType();
    auto scalar = cast<DenseElementsAttr>(reference::getElementsAttr(RankedTensorType::get({}, element), one));
    return scalar.resizeSplat(RankedTensorType::get(type.getShape(), element));
  }

  static constexpr StringLiteral foldedPrefix = "folded from ";

  llvm::DenseMap<Operation *, HostTensor> values; // of constants, and of ops that fold
  llvm::DenseSet<Operation *> folded;
};

} // namespace
} // namespace vx
