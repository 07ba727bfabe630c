// Marks the commands that must wait for those before them in their segment.

#include "Lifetimes.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Memory/Expressions.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// Tells which views of memory may share bytes.
class Aliasing {
public:
  explicit Aliasing(vxrt::ProgramOp program)
      : lifetimes(program), maxima(program), expressions(&maxima), places(program->getParentOfType<ModuleOp>()) {
    for (vxrt::AliasPair pair : vxrt::getAliases(program))
      inputs[vxrt::getResult(program, pair.result)] = vxrt::getInput(program, pair.input);
  }

  bool mayOverlap(Value a, Value b) {
    auto aPart = a.getDefiningOp<vxrt::SliceOp>(), bPart = b.getDefiningOp<vxrt::SliceOp>();
    if (aPart && bPart && a != b && aPart.getBuffer() == bPart.getBuffer())
      return mayOverlap(aPart.getOffset(), aPart.getSize(), bPart.getOffset(), bPart.getSize());
    if (aPart || bPart)
      return mayOverlap(aPart ? aPart.getBuffer() : a, bPart ? bPart.getBuffer() : b);
    if (a == b || isPair(a, b) || isPair(b, a))
      return true;
    auto aSlice = a.getDefiningOp<vxrt::ArenaSliceOp>(), bSlice = b.getDefiningOp<vxrt::ArenaSliceOp>();
    if (aSlice && bSlice)
      return mayOverlap(aSlice, bSlice);
    if (aSlice || bSlice)
      return false; // nothing but a slice shows the arena
    bool aFresh = isFresh(a), bFresh = isFresh(b);
    if ((aFresh && (bFresh || isInput(b) || !escapes(a))) || (bFresh && (isInput(a) || !escapes(b))))
      return false; // a fresh buffer and weights are known by their own name only
    auto aVariable = a.getDefiningOp<vxrt::VariableOp>(), bVariable = b.getDefiningOp<vxrt::VariableOp>();
    if ((aVariable && isInput(b)) || (bVariable && isInput(a)))
      return false;
    return !aVariable || !bVariable ||
           places.overlap(aVariable.getVariableAttr().getAttr(), bVariable.getVariableAttr().getAttr());
  }

private:
  static bool isFresh(Value value) {
    return isa_and_present<vxrt::AllocateOp, vxrt::ConstantOp, vxrt::DerivedOp>(value.getDefiningOp());
  }

  /// An input and a result that a caller may give the same memory for.
  bool isPair(Value input, Value result) const { return input && inputs.lookup(result) == input; }

  /// Memory of the caller, which nothing made in the program is.
  static bool isInput(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && isa<vxrt::ProgramOp>(argument.getOwner()->getParentOp());
  }

  /// Whether the memory may have another name. What is returned has one only after the program.
  static bool escapes(Value fresh) {
    return llvm::any_of(fresh.getUsers(),
                        [](Operation *user) { return !isBriefUse(user) && !isa<vxrt::ReturnOp>(user); });
  }

  bool mayOverlap(vxrt::ArenaSliceOp a, vxrt::ArenaSliceOp b) {
    if (a.getOffset() == b.getOffset())
      return true;
    // The plan keeps apart what is in use at one time, unless one is computed in the other's place.
    if (getLifetime(a).overlaps(getLifetime(b)))
      return false;
    return mayOverlap(a.getOffset(), a.getSize(), b.getOffset(), b.getSize());
  }

  bool mayOverlap(Value aStart, Value aBytes, Value bStart, Value bBytes) {
    DimAttr aOffset = expressions.get(aStart), aSize = expressions.get(aBytes);
    DimAttr bOffset = expressions.get(bStart), bSize = expressions.get(bBytes);
    if (!aOffset || !aSize || !bOffset || !bSize)
      return true;
    return !maxima.isAtMost(aOffset + aSize, bOffset) && !maxima.isAtMost(bOffset + bSize, aOffset);
  }

  /// By value: the next call may grow the map, which moves its entries.
  Lifetime getLifetime(Value slice) {
    auto [it, isNew] = known.try_emplace(slice);
    if (isNew)
      it->second = lifetimes.get(slice);
    return it->second;
  }

  Lifetimes lifetimes;
  NamedMaxima maxima;
  EntryExpressions expressions;
  VariablePlaces places;
  llvm::DenseMap<Value, Lifetime> known;
  llvm::DenseMap<Value, Value> inputs; // by the result that may be its memory
};

/// The fault record: what may report a fault writes it, what is guarded reads it.
bool conflictOverFaults(Operation *a, Operation *b) {
  return (a->hasAttr(kFaultSitesAttr) && b->hasAttr(kGuardedAttr)) ||
         (a->hasAttr(kGuardedAttr) && b->hasAttr(kFaultSitesAttr));
}

bool conflicts(Operation *earlier, Operation *later, Aliasing &aliasing) {
  auto anyOverlap = [&](ValueRange a, ValueRange b) {
    return llvm::any_of(a,
                        [&](Value x) { return llvm::any_of(b, [&](Value y) { return aliasing.mayOverlap(x, y); }); });
  };
  auto reads = vxrt::getReadBuffers, writes = vxrt::getWrittenBuffers;
  return conflictOverFaults(earlier, later) || anyOverlap(writes(earlier), reads(later)) ||
         anyOverlap(writes(earlier), writes(later)) || anyOverlap(reads(earlier), writes(later));
}

struct InsertBarriersPass : impl::InsertBarriersPassBase<InsertBarriersPass> {
  void runOnOperation() override {
    Aliasing aliasing(getOperation());
    getOperation().walk([&](vxrt::SegmentOp segment) {
      SmallVector<Operation *> sinceBarrier;
      for (Operation &command : segment.getBody().front()) {
        bool barrier =
            llvm::any_of(sinceBarrier, [&](Operation *earlier) { return conflicts(earlier, &command, aliasing); });
        if (barrier)
          sinceBarrier.clear();
        sinceBarrier.push_back(&command);
        TypeSwitch<Operation *>(&command).Case<vxrt::DispatchOp, vxrt::CopyOp>(
            [&](auto op) { op.setBarrier(barrier); });
      }
    });
  }
};

} // namespace
} // namespace vx
