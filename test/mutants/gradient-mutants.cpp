// Plants faults in gradients, for tests alone: nothing that is shipped links this.
//
//   gradient-mutants --list
//   gradient-mutants --vx-mutate-gradients="op=NAME list" FILE -o /dev/null
//   gradient-mutants --vx-mutate-gradients="op=NAME mutants=OPERAND:CHANGE,..." --vx-expand-gradients FILE -o OUT
//
// The gradient that the pullback of an op gives one of its operands is changed before it is added to those of other
// ops. This needs nothing of the pullback: the operand is replaced by itself as a `vx.custom_gradient` whose forward
// is the identity and whose pullback makes the change.

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/RegionUtils.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"
#include "vx/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

namespace {

enum class Change { None, Sign, Abs, Twice, Zero };

struct Mutant {
  unsigned operand;
  Change change;
};

/// What a mutant changes the gradient of: an operand, or after the last operand a value that a region of the op reads.
SmallVector<Value> collectReads(Operation *op) {
  SmallVector<Value> reads(op->getOperands());
  llvm::SetVector<Value> captured;
  if (op->getNumRegions() > 0 && !op->hasTrait<mlir::OpTrait::IsIsolatedFromAbove>())
    getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(reads, captured);
  return reads;
}

Value applyChange(GraphBuilder &g, Change change, Value gradient) {
  switch (change) {
  case Change::None:
    return gradient;
  case Change::Sign:
    return g.emit<NegOp>(gradient);
  case Change::Abs:
    return g.emit<AbsOp>(gradient);
  case Change::Twice:
    return g.emit<AddOp>(gradient, gradient);
  case Change::Zero:
    return g.splatLike(0, gradient);
  }
  llvm_unreachable("all changes are handled");
}

/// The value itself, whose gradient is changed.
Value makeTensorMutant(GraphBuilder &g, Value value, Change change) {
  OpBuilder &builder = g.builder;
  OpBuilder::InsertionGuard guard(builder);
  Type type = value.getType();
  auto custom = CustomGradientOp::create(builder, g.location, TypeRange(type), ValueRange(value));
  Block *forward = builder.createBlock(&custom.getForward(), {}, TypeRange(type), g.location);
  YieldOp::create(builder, g.location, ValueRange(forward->getArgument(0)));
  Block *pullback =
      builder.createBlock(&custom.getPullback(), {}, {type, type, type}, {g.location, g.location, g.location});
  YieldOp::create(builder, g.location, ValueRange(applyChange(g, change, pullback->getArgument(2))));
  return custom.getResult(0);
}

/// The same of a sequence: a loop that rebuilds it of changed tensors.
Value makeSequenceMutant(GraphBuilder &g, Value sequence, Change change) {
  OpBuilder &builder = g.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto type = cast<SequenceType>(sequence.getType());
  DimAttr iteration = declareDataDependent(module, "mutated");
  Value length = SequenceLengthOp::create(builder, g.location, sequence);
  Value empty = SequenceConstructOp::create(builder, g.location, type, ValueRange());
  auto loop = LoopOp::create(builder, g.location, TypeRange(type), length, Value(), empty, iteration.asSymbol(),
                             /*commits=*/false);
  Block *body = builder.createBlock(&loop.getBody(), {}, TypeRange(type), g.location);
  Value position = g.emitDim(iteration, builder.getI64Type());
  SmallVector<DimAttr> dims;
  auto tensor = cast<RankedTensorType>(type.getElementType());
  for (DimAttr dim : getDims(tensor))
    dims.push_back(dim ? dim : declareDataDependent(module, "size"));
  Value element =
      SequenceAtOp::create(builder, g.location, getTensorType(dims, tensor.getElementType()), sequence, position);
  Value longer = SequenceInsertOp::create(builder, g.location, type, body->getArgument(0),
                                          makeTensorMutant(g, element, change), Value());
  YieldOp::create(builder, g.location, ValueRange{g.emitScalar(1, builder.getI1Type()), longer});
  return loop.getResult(0);
}

struct MutateGradientsPass : PassWrapper<MutateGradientsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MutateGradientsPass)

  MutateGradientsPass() = default;
  MutateGradientsPass(const MutateGradientsPass &other) : PassWrapper(other) {}

  Option<std::string> op{*this, "op", llvm::cl::desc("The name of an op, as vx.sin")};
  Option<bool> list{*this, "list", llvm::cl::desc("Print which operands of the first such op may have a gradient")};
  ListOption<std::string> mutants{
      *this, "mutants",
      llvm::cl::desc("OPERAND:CHANGE, of which CHANGE is none, sign, abs, twice or zero. The ops, in the order of the "
                     "program, are divided into as many groups, and each changes the first of its own")};

  StringRef getArgument() const final { return "vx-mutate-gradients"; }
  StringRef getDescription() const final { return "Change the gradients that the pullback of an op returns"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<VXDialect, func::FuncDialect>();
  }

  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *candidate) {
      // What a program does with gradients, such as to add them, is no op that it takes gradients of.
      bool ofGradients =
          llvm::any_of(candidate->getOperands(), [](Value value) { return value.getDefiningOp<GradientOp>(); });
      if (candidate->getName().getStringRef() == op && !ofGradients)
        found.push_back(candidate);
    });
    if (found.empty()) {
      emitError(getOperation().getLoc()) << "expected an op '" << op << "', got none";
      return signalPassFailure();
    }
    if (list) {
      for (auto [number, value] : llvm::enumerate(collectReads(found.front())))
        if (isDifferentiable(value.getType()))
          llvm::outs() << number << "\n";
      return;
    }
    SmallVector<Mutant> parsed;
    for (StringRef text : mutants) {
      auto [operand, change] = text.split(':');
      auto kind = llvm::StringSwitch<std::optional<Change>>(change)
                      .Case("none", Change::None)
                      .Case("sign", Change::Sign)
                      .Case("abs", Change::Abs)
                      .Case("twice", Change::Twice)
                      .Case("zero", Change::Zero)
                      .Default(std::nullopt);
      Mutant mutant;
      if (operand.getAsInteger(10, mutant.operand) || !kind) {
        emitError(getOperation().getLoc()) << "expected a mutant OPERAND:CHANGE, got '" << text << "'";
        return signalPassFailure();
      }
      mutant.change = *kind;
      parsed.push_back(mutant);
    }
    if (parsed.empty() || found.size() % parsed.size() != 0) {
      emitError(getOperation().getLoc()) << "expected a multiple of " << parsed.size() << " ops '" << op << "', got "
                                         << found.size();
      return signalPassFailure();
    }
    // One of each group: two signs that are turned would be none.
    size_t each = found.size() / parsed.size();
    for (auto [number, mutant] : llvm::enumerate(parsed))
      if (failed(mutate(found[number * each], mutant)))
        return signalPassFailure();
  }

  LogicalResult mutate(Operation *target, Mutant mutant) {
    SmallVector<Value> reads = collectReads(target);
    if (mutant.operand >= reads.size() || !isDifferentiable(reads[mutant.operand].getType()))
      return emitError(target->getLoc()) << "expected an operand with a gradient, got number " << mutant.operand;
    Value value = reads[mutant.operand];
    OpBuilder builder(target);
    GraphBuilder g(builder, target->getLoc());
    Value changed = isa<SequenceType>(value.getType()) ? makeSequenceMutant(g, value, mutant.change)
                                                       : makeTensorMutant(g, value, mutant.change);
    if (mutant.operand < target->getNumOperands())
      target->setOperand(mutant.operand, changed);
    else
      value.replaceUsesWithIf(changed, [&](OpOperand &use) { return target->isProperAncestor(use.getOwner()); });
    return failure(g.hasRefused());
  }
};

/// The names of all ops with a pullback.
int listDifferentiable(const DialectRegistry &registry) {
  MLIRContext context(registry);
  context.loadDialect<VXDialect>();
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("vx"))
    if (name.hasInterface<DifferentiableOpInterface>())
      llvm::outs() << name.getStringRef() << "\n";
  return 0;
}

} // namespace
} // namespace vx

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<vx::VXDialect, func::FuncDialect>();
  if (argc == 2 && StringRef(argv[1]) == "--list")
    return vx::listDifferentiable(registry);
  vx::registerAutodiffPasses();
  vx::registerTransformsPasses();
  PassRegistration<vx::MutateGradientsPass>();
  return asMainReturnCode(MlirOptMain(argc, argv, "faults in gradients, for tests\n", registry));
}
