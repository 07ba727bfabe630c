// Finds inputs and results that a caller may give the same memory for.

#include "Lifetimes.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Memory/CallFailures.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_DECLAREALIASESPASS
#include "vx/Memory/Passes.h.inc"

namespace {

class AliasFinder {
public:
  explicit AliasFinder(vxrt::ProgramOp program)
      : program(program), lifetimes(program),
        type(cast<FunctionType>(program->getAttrOfType<TypeAttr>(vxrt::kFunctionTypeAttr).getValue())) {}

  void run() {
    SmallVector<vxrt::AliasPair> pairs;
    llvm::BitVector inputIsTaken(type.getNumInputs()), resultIsTaken(type.getNumResults());
    // What an input is copied for comes first: there the pair saves more than memory.
    for (bool wantsCopy : {true, false})
      for (unsigned result = 0; result < type.getNumResults(); ++result)
        for (unsigned input = 0; input < type.getNumInputs(); ++input)
          if (!inputIsTaken[input] && !resultIsTaken[result] && declare(input, result, wantsCopy)) {
            pairs.push_back({input, result});
            inputIsTaken.set(input);
            resultIsTaken.set(result);
          }
    vxrt::setAliases(program, pairs);
  }

private:
  /// Whether the memory of one holds the elements of the other, whatever the sizes. The caller's memory holds no
  /// numbers of strings.
  bool haveOneType(unsigned input, unsigned result) {
    auto a = dyn_cast<RankedTensorType>(type.getInput(input)), b = dyn_cast<RankedTensorType>(type.getResult(result));
    return a && b && a.getElementType() == b.getElementType() && !isa<StringType>(a.getElementType()) &&
           llvm::equal(getDims(a), getDims(b)) && llvm::all_of(getDims(a), [](DimAttr dim) { return dim != nullptr; });
  }

  /// The commands that write the result, in order; none where something else may, or where one runs in a loop or
  /// branch.
  SmallVector<Operation *> getWriters(Value memory) {
    SetVector<Operation *> writers;
    unsigned returns = 0;
    for (Operation *user : memory.getUsers()) {
      returns += isa<vxrt::ReturnOp>(user);
      if (!isBriefUse(user) && !isa<vxrt::ReturnOp>(user))
        return {};
      if (!llvm::is_contained(vxrt::getWrittenBuffers(user), memory))
        continue;
      if (user->getParentOp()->getParentOp() != program)
        return {};
      writers.insert(user);
    }
    SmallVector<Operation *> inOrder = writers.takeVector();
    llvm::sort(inOrder,
               [&](Operation *a, Operation *b) { return lifetimes.getPosition(a) < lifetimes.getPosition(b); });
    return returns == 1 ? inOrder : SmallVector<Operation *>();
  }

  /// Whether the command may write `result` where it reads `input`, and nowhere else: each element after it has read
  /// it.
  static bool writesInPlace(Operation *command, Value input, Value result) {
    auto dispatch = dyn_cast<vxrt::DispatchOp>(command);
    auto kernel =
        dispatch ? SymbolTable::lookupNearestSymbolFrom<KernelOp>(dispatch, dispatch.getKernelAttr()) : KernelOp();
    if (!kernel || llvm::count(dispatch.getInputs(), input) != 1)
      return false;
    return llvm::any_of(getInPlacePairs(kernel), [&](InPlacePair pair) {
      return dispatch.getInputs()[pair.operand] == input && dispatch.getOutputs()[pair.result] == result;
    });
  }

  /// Guards the kernels that write the result, where the pair holds.
  bool declare(unsigned inputNumber, unsigned resultNumber, bool wantsCopy) {
    if (!haveOneType(inputNumber, resultNumber))
      return false;
    Value input = vxrt::getInput(program, inputNumber), result = vxrt::getResult(program, resultNumber);
    auto allocate = result.getDefiningOp<vxrt::AllocateOp>();
    if (!allocate || allocate->getParentOp() != program || !llvm::all_of(input.getUsers(), isBriefUse))
      return false;
    SmallVector<Operation *> writers = getWriters(result);
    if (writers.empty())
      return false;
    Operation *first = writers.front();
    auto copy = dyn_cast<vxrt::CopyOp>(first);
    if (wantsCopy ? !copy || copy.getSource() != input : !writesInPlace(first, input, result))
      return false;
    // Nothing reads the old elements behind the first write, and the new ones are the result's alone.
    int64_t position = lifetimes.getPosition(first);
    for (Operation *user : input.getUsers())
      if (user != first && lifetimes.getPosition(user) >= position)
        return false;
    ArrayRef<Operation *> kernels = ArrayRef(writers).drop_front(copy ? 1 : 0);
    for (Operation *writer : kernels)
      if (!isa<vxrt::DispatchOp>(writer) || mayFailCall(writer))
        return false;
    if (kernels.empty())
      return true;
    // A call that fails leaves the input as it was.
    bool mayBeFaulty = false;
    if (mayFailBehind(kernels.front(), mayBeFaulty))
      return false;
    if (mayBeFaulty)
      for (Operation *writer : kernels)
        writer->setAttr(kGuardedAttr, UnitAttr::get(program.getContext()));
    return true;
  }

  /// Whether anything behind a command may fail the call. What looks for faults behind guarded kernels may.
  bool mayFailBehind(Operation *command, bool &mayBeFaulty) {
    int64_t position = lifetimes.getPosition(command);
    bool mayFail = false;
    program.walk([&](Operation *op) {
      if (op == program)
        return;
      if (lifetimes.getPosition(op) > position) {
        mayFail |= !isa<vxrt::CheckFaultsOp>(op) && mayFailCall(op);
        return;
      }
      mayBeFaulty |= op->hasAttr(kFaultSitesAttr);
      if (isa<vxrt::CheckFaultsOp, vxrt::ReadI64Op>(op) && op->getParentOp() == program)
        mayBeFaulty = false;
    });
    return mayFail;
  }

  vxrt::ProgramOp program;
  Lifetimes lifetimes;
  FunctionType type;
};

struct DeclareAliasesPass : impl::DeclareAliasesPassBase<DeclareAliasesPass> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(vxrt::kFunctionTypeAttr) && !getOperation()->hasAttr(vxrt::kDerivedAttr))
      AliasFinder(getOperation()).run();
  }
};

} // namespace
} // namespace vx
