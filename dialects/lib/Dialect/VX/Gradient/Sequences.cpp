#include "Sequences.h"

#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"

using namespace mlir;

namespace vx {

static ModuleOp getModule(GraphBuilder &g) {
  Operation *parent = g.builder.getInsertionBlock()->getParentOp();
  auto module = dyn_cast<ModuleOp>(parent);
  return module ? module : parent->getParentOfType<ModuleOp>();
}

Value makeEmptySequence(GraphBuilder &g, Type elementType) {
  auto type = SequenceType::get(g.context, cast<TensorType>(elementType));
  return SequenceConstructOp::create(g.builder, g.location, type, ValueRange());
}

Value takeFromSequence(GraphBuilder &g, Value sequence, Value position) {
  auto type = dyn_cast<RankedTensorType>(cast<SequenceType>(sequence.getType()).getElementType());
  if (!type)
    return g.builder.getBlock()->getParentOp()->emitError()
               << "expects a sequence of tensors of one rank, got " << describeType(sequence.getType()),
           Value();
  SmallVector<DimAttr> dims;
  for (DimAttr dim : getDims(type))
    dims.push_back(dim ? dim : declareDataDependent(getModule(g), "size"));
  return SequenceAtOp::create(g.builder, g.location, getTensorType(dims, type.getElementType()), sequence, position);
}

/// A sequence of what `make` gives for each position of `like`.
static Value makeSequence(GraphBuilder &g, Value like, llvm::function_ref<Value(Value)> make) {
  OpBuilder::InsertionGuard guard(g.builder);
  auto type = cast<SequenceType>(like.getType());
  DimAttr iteration = declareDataDependent(getModule(g), "iteration");
  Value length = SequenceLengthOp::create(g.builder, g.location, like);
  Value empty = makeEmptySequence(g, type.getElementType());
  auto loop = LoopOp::create(g.builder, g.location, TypeRange(type), length, Value(), empty, iteration.asSymbol(),
                             /*commits=*/false);
  Block *body = g.builder.createBlock(&loop.getBody(), {}, TypeRange(type), g.location);
  Value position = g.emitDim(iteration, g.builder.getI64Type());
  Value element = make(position);
  if (!element)
    return {};
  Value longer = SequenceInsertOp::create(g.builder, g.location, type, body->getArgument(0), element, Value());
  Value goesOn = g.emitScalar(1, g.builder.getI1Type());
  YieldOp::create(g.builder, g.location, ValueRange{goesOn, longer});
  return loop.getResult(0);
}

Value makeZeroSequence(GraphBuilder &g, Value like) {
  return makeSequence(g, like, [&](Value position) {
    Value element = takeFromSequence(g, like, position);
    return element ? g.splatLike(0, element) : Value();
  });
}

Value addSequences(GraphBuilder &g, Value lhs, Value rhs) {
  return makeSequence(g, lhs, [&](Value position) {
    Value left = takeFromSequence(g, lhs, position);
    SmallVector<DimAttr> dims = left ? getDims(g.typeOf(left)) : SmallVector<DimAttr>();
    Value right = left ? takeFromSequence(g, rhs, position) : Value();
    return right ? g.emit<AddOp>(left, g.reshape(right, dims)) : Value();
  });
}

} // namespace vx
