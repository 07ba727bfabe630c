// Each op of the vx dialect has what an op must have: see CONTRIBUTING.md. What a pass finds out by a table or a trait,
// it finds for every op.

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "vx/Conversion/SchedulePasses.h"
#include "vx/Conversion/VXToLinalg.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Reference/Evaluate.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace vx;

namespace {

class CompleteOps : public testing::Test {
protected:
  void SetUp() override { context.loadDialect<VXDialect, func::FuncDialect>(); }

  /// The names of all ops of the dialect that `isWanted` picks and that are not `complete`: none, it is hoped.
  std::vector<std::string> findIncomplete(llvm::function_ref<bool(OperationName)> isWanted,
                                          llvm::function_ref<bool(OperationName)> isComplete) {
    std::vector<std::string> incomplete;
    size_t wanted = 0;
    for (RegisteredOperationName op : context.getRegisteredOperationsByDialect("vx"))
      if (isWanted(op)) {
        ++wanted;
        if (!isComplete(op))
          incomplete.push_back(op.getStringRef().str());
      }
    EXPECT_GT(wanted, 0u);
    return incomplete;
  }

  /// What kernels compute or look through. Ops of the host are the schedule's and the interpreter's; what holds a
  /// kernel's ops has no meaning but theirs; directives are gone before there are kernels.
  static bool isOfKernels(OperationName op) {
    std::optional<Role> role = getRole(op);
    return role != Role::Host && role != Role::Container && role != Role::Directive;
  }

  MLIRContext context;
};

using Names = std::vector<std::string>;

TEST_F(CompleteOps, EachHasARole) {
  EXPECT_EQ(
      findIncomplete([](OperationName) { return true; }, [](OperationName op) { return getRole(op).has_value(); }),
      Names());
}

TEST_F(CompleteOps, EachOfKernelsInfersOrStatesItsResultType) {
  auto isComplete = [](OperationName op) {
    return op.hasInterface<InferTypeOpInterface>() || op.hasTrait<vx::OpTrait::StatesResultType>();
  };
  EXPECT_EQ(findIncomplete(isOfKernels, isComplete), Names());
}

TEST_F(CompleteOps, EachSaysOnceWhatSizesItReliesOn) {
  auto isComplete = [](OperationName op) {
    return op.hasInterface<ConstrainedOpInterface>() != op.hasTrait<vx::OpTrait::Unconstrained>();
  };
  EXPECT_EQ(findIncomplete([](OperationName) { return true; }, isComplete), Names());
}

TEST_F(CompleteOps, EachOfKernelsHasALoweringOrIsDecomposed) {
  auto isComplete = [](OperationName op) {
    return hasLoweringToLinalg(op) || op.hasInterface<DecomposableOpInterface>();
  };
  EXPECT_EQ(findIncomplete(isOfKernels, isComplete), Names());
}

TEST_F(CompleteOps, EachOfTheHostCanBeScheduled) {
  auto isInFunctions = [](OperationName op) {
    // Declarations of the module, and what gives way to the ops that it calls.
    bool isDeclaration = op.hasTrait<mlir::OpTrait::HasParent<ModuleOp>::Impl>();
    return getRole(op) == Role::Host && !isDeclaration && op.getStringRef() != CallOp::getOperationName();
  };
  EXPECT_EQ(findIncomplete(isInFunctions, canBeScheduled), Names());
}

TEST_F(CompleteOps, EachOfKernelsHasAReferenceEvaluator) {
  EXPECT_EQ(findIncomplete(isOfKernels, [](OperationName op) { return reference::canEvaluate(op); }), Names());
}

// The evaluators of elementwise ops have one entry for all: each op is built, of each type that its verifier accepts,
// and evaluated.
TEST_F(CompleteOps, EachElementwiseOpEvaluates) {
  ScopedDiagnosticHandler ignoreRefusals(&context, [](Diagnostic &) { return success(); });
  Builder types(&context);
  auto getType = [](Type element) { return RankedTensorType::get({1}, element); };
  auto evaluates = [&](OperationName name, Type element, Type resultElement, unsigned numOperands) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(types.getUnknownLoc());
    OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
    SmallVector<Value> operands;
    SmallVector<reference::HostValue> values;
    for (unsigned i = 0; i < numOperands; ++i) {
      Type type = numOperands == 3 && i == 0 ? Type(builder.getI1Type()) : element;
      auto constant = DenseElementsAttr::get(
          getType(type), {isa<FloatType>(type) ? Attribute(FloatAttr::get(type, 1.0)) : IntegerAttr::get(type, 1)});
      operands.push_back(ConstantOp::create(builder, builder.getUnknownLoc(), constant.getType(), constant));
      values.push_back(llvm::cantFail(reference::getHostTensor(constant)));
    }
    OperationState state(builder.getUnknownLoc(), name);
    state.addOperands(operands);
    state.addTypes(getType(resultElement));
    state.addAttribute("predicate", ComparePredicateAttr::get(&context, ComparePredicate::lt));
    Operation *op = builder.create(state);
    if (failed(verify(op)))
      return false;
    auto results = reference::evaluate(op, values, {});
    if (!results)
      ADD_FAILURE() << llvm::toString(results.takeError());
    return true;
  };
  auto isComplete = [&](OperationName name) {
    bool isSomeTypeAccepted = false;
    for (unsigned numOperands : {1u, 2u, 3u})
      for (Type element : {Type(types.getF32Type()), Type(types.getI32Type()), Type(types.getI1Type())})
        for (Type result : {element, Type(types.getI1Type())})
          isSomeTypeAccepted |= evaluates(name, element, result, numOperands);
    return isSomeTypeAccepted;
  };
  // Those with an evaluator of their own are evaluated by test/e2e/ops.
  auto isElementwise = [](OperationName op) {
    return op.hasTrait<vx::OpTrait::Elementwise>() && !op.hasInterface<DecomposableOpInterface>();
  };
  EXPECT_EQ(findIncomplete(isElementwise, isComplete), Names());
}

TEST_F(CompleteOps, EachIsNamedByATest) {
  std::string tests;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(VX_TEST_FOLDER, error), end; it != end && !error;
       it.increment(error))
    if (StringRef(it->path()).ends_with(".mlir"))
      tests += llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(it->path())))->getBuffer();
  ASSERT_FALSE(error) << error.message();
  auto isNamed = [&](OperationName op) {
    StringRef name = op.getStringRef();
    for (size_t at = 0; (at = StringRef(tests).find(name, at)) != StringRef::npos; at += name.size()) {
      char after = at + name.size() < tests.size() ? tests[at + name.size()] : ' ';
      if (!llvm::isAlnum(after) && after != '_')
        return true;
    }
    return false;
  };
  EXPECT_EQ(findIncomplete([](OperationName) { return true; }, isNamed), Names());
}

} // namespace
