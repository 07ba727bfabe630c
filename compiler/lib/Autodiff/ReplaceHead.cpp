#include "ModelOutput.h"
#include "TrainableConstants.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_REPLACEHEADPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

/// Makes a value anew with another size along one dimension, and what that size comes from: weights.
class Resizer {
public:
  Resizer(func::FuncOp function, int64_t size) : builder(function.getContext()), size(size) {}

  /// Null where it comes from something else; `stranger` says from what.
  Value resize(Value value, int64_t axis) {
    auto [known, isNew] = made.try_emplace({value, axis});
    if (!isNew)
      return known->second;
    Value result = make(value, axis);
    return made[{value, axis}] = result;
  }

  std::string stranger;
  SmallVector<std::string> met; // source nodes on the way
  SmallVector<ConstantOp> weights;
  llvm::MapVector<Operation *, Operation *> replaced; // initializers that are made anew
  int64_t inputs = 0;                                 // of a class, to all weights together

private:
  Value make(Value value, int64_t axis) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      stranger = "an input";
      return {};
    }
    if (auto constant = dyn_cast<ConstantOp>(op))
      return makeConstant(constant, axis);
    if (std::string node = "'" + describeSource(op->getLoc()) + "'"; !llvm::is_contained(met, node))
      met.push_back(node);
    if (op->getNumOperands() == 0 || op->getNumResults() != 1) {
      stranger = "'" + describeSource(op->getLoc()) + "'";
      return {};
    }
    IRMapping mapping;
    for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
      std::optional<int64_t> place = findPlace(op, number, axis);
      if (!stranger.empty())
        return {};
      if (!place)
        continue;
      Value resized = resize(operand, *place);
      if (!resized)
        return {};
      mapping.map(operand, resized);
    }
    if (isa<ContractOp, ConvOp>(op))
      noteProduct(op, axis);
    builder.setInsertionPoint(op);
    Operation *clone = builder.clone(*op, mapping);
    clone->getResult(0).setType(withSize(cast<RankedTensorType>(value.getType()), axis));
    return clone->getResult(0);
  }

  /// The dimension of an operand that `axis` of the result is; nothing where the operand stays what it is.
  std::optional<int64_t> findPlace(Operation *op, size_t number, int64_t axis) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto find = [](ArrayRef<int64_t> list, int64_t value) -> std::optional<int64_t> {
      const auto *it = llvm::find(list, value);
      return it == list.end() ? std::nullopt : std::optional<int64_t>(it - list.begin());
    };
    if (op->hasTrait<OpTrait::Elementwise>() || isa<SoftmaxOp>(op))
      return axis;
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return transpose.getPermutation()[axis];
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      std::optional<int64_t> place = find(broadcast.getDimensions(), axis);
      // What is repeated along the classes is so along any number of them.
      if (place && cast<RankedTensorType>(broadcast.getInput().getType()).getDimSize(*place) == 1)
        return std::nullopt;
      return place;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      int64_t place = axis;
      for (int64_t reduced : reduce.getAxes()) // they increase
        place += reduced <= place;
      return place;
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      auto from = cast<RankedTensorType>(reshape.getInput().getType());
      auto before = [](RankedTensorType tensor, int64_t end) {
        DimAttr product = DimAttr::constant(tensor.getContext(), 1);
        for (int64_t d = 0; d < end; ++d)
          product = product * getDim(tensor, d);
        return product;
      };
      for (int64_t d = 0; d < from.getRank(); ++d)
        if (getDims(from)[d] == getDims(type)[axis] && before(from, d) == before(type, axis))
          return d;
    }
    if (auto contract = dyn_cast<ContractOp>(op)) {
      // The result has the batch dimensions, then what is left of each operand.
      int64_t next = static_cast<int64_t>(contract.getLhsBatch().size());
      for (size_t side : {0, 1}) {
        ArrayRef<int64_t> batch = side ? contract.getRhsBatch() : contract.getLhsBatch();
        ArrayRef<int64_t> summed = side ? contract.getRhsContracting() : contract.getLhsContracting();
        int64_t rank = cast<RankedTensorType>(op->getOperand(side).getType()).getRank();
        for (int64_t d = 0; d < rank; ++d)
          if (!llvm::is_contained(batch, d) && !llvm::is_contained(summed, d) && next++ == axis)
            return side == number ? std::optional(d) : std::nullopt;
      }
    }
    if (auto conv = dyn_cast<ConvOp>(op); conv && conv.getGroups() == 1) {
      int64_t channels = conv.getChannelsLast() ? type.getRank() - 1 : 1;
      if (axis == channels)
        return number == 1 ? std::optional<int64_t>(0) : std::nullopt;
    }
    stranger = "'" + describeSource(op->getLoc()) + "'";
    return std::nullopt;
  }

  RankedTensorType withSize(RankedTensorType type, int64_t axis) {
    SmallVector<DimAttr> dims = getDims(type);
    dims[axis] = DimAttr::constant(type.getContext(), size);
    GraphBuilder g(builder, builder.getUnknownLoc());
    return g.makeType(dims, type.getElementType());
  }

  /// An initializer gets other elements later; a number in every place is so in more or fewer places.
  Value makeConstant(ConstantOp constant, int64_t axis) {
    auto splat = dyn_cast<DenseElementsAttr>(constant.getValue());
    bool isSplat = splat && splat.isSplat();
    if (!constant.getNames() && !isSplat) {
      stranger = "'" + describeSource(constant.getLoc()) + "'";
      return {};
    }
    RankedTensorType type = withSize(cast<RankedTensorType>(constant.getType()), axis);
    Attribute element =
        constant.getNames() ? Attribute(builder.getZeroAttr(type.getElementType())) : splat.getSplatValue<Attribute>();
    builder.setInsertionPoint(constant);
    auto resized = ConstantOp::create(builder, constant.getLoc(), type, DenseElementsAttr::get(type, element),
                                      constant.getNamesAttr());
    if (constant.getNames())
      replaced[constant] = resized;
    return resized;
  }

  /// The initializer that a product takes, through what only moves its elements.
  static ConstantOp findWeight(Value value) {
    while (isa_and_present<TransposeOp, ReshapeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value.getDefiningOp<ConstantOp>();
  }

  void noteProduct(Operation *op, int64_t axis) {
    for (auto [number, operand] : llvm::enumerate(op->getOperands()))
      if (std::optional<int64_t> place = findPlace(op, number, axis))
        if (ConstantOp weight = findWeight(operand); weight && weight.getNames()) {
          weights.push_back(weight);
          auto type = cast<RankedTensorType>(operand.getType());
          inputs += type.getNumElements() / std::max<int64_t>(type.getDimSize(*place), 1);
        }
  }

  OpBuilder builder;
  int64_t size;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> made;
};

struct ReplaceHeadPass : impl::ReplaceHeadPassBase<ReplaceHeadPass> {
  using ReplaceHeadPassBase::ReplaceHeadPassBase;
  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    FailureOr<ModelOutput> output = findOutput(module, of);
    if (failed(output))
      return failure();
    Value old = output->getValue();
    auto type = dyn_cast<RankedTensorType>(old.getType());
    int64_t rank = type ? type.getRank() : 0, dim = axis < 0 ? axis + rank : axis;
    std::string name = getResultName(output->function, output->number) + "' (" + describeType(old.getType()) + ")";
    if (dim < 0 || dim >= rank)
      return module.emitError() << "--classes: expected an axis of classes of output '" << name << " from " << -rank
                                << " to " << rank - 1 << ", got " << int64_t(axis);
    Resizer resizer(output->function, classes);
    Value head = resizer.resize(old, dim);
    if (!head || resizer.weights.empty())
      return module.emitError() << "--classes: expected the weight of a product that computes dimension " << dim
                                << " of output '" << name << ", got " << (head ? "none" : resizer.stranger)
                                << "; met from there: " << llvm::join(resizer.met, ", ");
    auto start = InitAttr::get(&getContext(), InitKind::uniform, bound(-1, resizer.inputs), bound(1, resizer.inputs));
    for (auto [initializer, resized] : resizer.replaced) {
      auto constant = cast<ConstantOp>(initializer);
      if (!llvm::is_contained(resizer.weights, constant) && !isBias(constant))
        return module.emitError() << "--classes: expected the weight or the bias of a product, got "
                                  << describeInitializer(constant) << ", which has no known start";
      resized->setAttr(kInitAttr, start);
    }
    return replace(*output, head, resizer);
  }

private:
  /// As PyTorch's layers start: weight and bias between -1 and 1 by the root of how many inputs there are.
  FloatAttr bound(double sign, int64_t inputs) {
    return Builder(&getContext()).getF64FloatAttr(sign / std::sqrt(static_cast<double>(std::max<int64_t>(inputs, 1))));
  }

  static std::string describeInitializer(ConstantOp constant) {
    return "'" + (*constant.getNames()->getAsValueRange<StringAttr>().begin()).str() + "'";
  }

  /// True where the constant is only added, repeated or not.
  static bool isBias(Operation *op) {
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      return isa<AddOp>(user) || (isa<BroadcastOp, ReshapeOp, TransposeOp>(user) && isBias(user));
    });
  }

  LogicalResult replace(ModelOutput output, Value head, Resizer &resizer) {
    func::FuncOp function = output.function;
    Operation *end = function.getBody().front().getTerminator();
    end->setOperand(output.number, head);
    function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(), TypeRange(end->getOperandTypes())));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op)) {
        resizer.replaced.erase(&op);
        op.erase();
      }
    for (auto [initializer, resized] : resizer.replaced)
      return getOperation().emitError() << "--classes: expected " << describeInitializer(cast<ConstantOp>(initializer))
                                        << ", which makes the classes, to have no other reader, got '"
                                        << describeSource((*initializer->user_begin())->getLoc()) << "'";
    return success();
  }
};

} // namespace
} // namespace vx
