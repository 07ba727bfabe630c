// Lets loops and branches update variables where the variables lie.

#include "Hoisting.h"
#include "SharedMemory.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Memory/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_UPDATELOOPSINPLACEPASS
#include "vx/Memory/Passes.h.inc"

namespace {

class LoopUpdater {
public:
  LoopUpdater(vxrt::ProgramOp program, Block &block, const VariablePlaces &places)
      : program(program), block(block), places(places) {}

  void run() {
    SmallVector<vxrt::CopyOp> stores;
    for (auto segment : block.getOps<vxrt::SegmentOp>())
      for (auto copy : segment.getBody().front().getOps<vxrt::CopyOp>())
        if (vxrt::writesVariable(copy))
          stores.push_back(copy);
    for (vxrt::CopyOp store : stores)
      updateInPlace(store);
    for (auto segment : llvm::make_early_inc_range(block.getOps<vxrt::SegmentOp>()))
      if (segment.getBody().front().empty())
        segment.erase();
  }

private:
  VariablePlace getPlace(vxrt::VariableOp name) const { return places.lookup(name.getVariableAttr().getAttr()); }

  /// Memory that commands of a loop or branch write.
  bool isWrittenInside(Value memory) const {
    return llvm::any_of(memory.getUsers(), [&](Operation *user) {
      return user->getParentOp()->getBlock() != &block && llvm::is_contained(vxrt::getWrittenBuffers(user), memory);
    });
  }

  /// What is stored: memory that a loop or branch writes, and a copy of it where the store is of one.
  SmallVector<vxrt::AllocateOp> findMemory(vxrt::CopyOp store) const {
    auto source = store.getSource().getDefiningOp<vxrt::AllocateOp>();
    if (!source || source->getBlock() != &block)
      return {};
    if (isWrittenInside(source))
      return {source};
    for (Operation *user : source->getUsers())
      if (auto copy = dyn_cast<vxrt::CopyOp>(user); copy && copy.getTarget() == source)
        if (auto first = copy.getSource().getDefiningOp<vxrt::AllocateOp>();
            first && first->getBlock() == &block && isWrittenInside(first))
          return {first, source};
    return {};
  }

  void updateInPlace(vxrt::CopyOp store) {
    SmallVector<vxrt::AllocateOp> buffers = findMemory(store);
    if (buffers.empty())
      return;
    auto variable = store.getTarget().getDefiningOp<vxrt::VariableOp>();
    const VariablePlace place = getPlace(variable);
    SharedMemory memory;
    program.walk([&](vxrt::VariableOp name) {
      if (getPlace(name) == place)
        memory.add(name, variable);
      else if (getPlace(name).overlaps(place))
        memory.addPart(name, variable);
    });
    for (vxrt::AllocateOp buffer : buffers)
      memory.add(buffer);
    SharedMemory::State state;
    state.current.insert(variable);
    if (!memory.run(block, state) || !state.current.contains(variable))
      return;
    // A call that fails changes no variable. Where a fault may have been reported, only kernels can look.
    if (!llvm::all_of(memory.behindFaults, llvm::IsaPred<vxrt::DispatchOp>))
      return;
    if (memory.firstWrite) {
      Hoister hoister(memory.firstWrite);
      if (!llvm::all_of(memory.failing, [&](Operation *op) { return hoister.add(op); }))
        return;
      hoister.move();
    }
    for (Operation *kernel : memory.behindFaults)
      kernel->setAttr(kGuardedAttr, UnitAttr::get(kernel->getContext()));
    variable->moveBefore(&program.getBody().front(), program.getBody().front().begin());
    for (Operation *copy : memory.needless)
      copy->erase();
    for (vxrt::AllocateOp buffer : buffers) {
      buffer.replaceAllUsesWith(variable.getResult());
      buffer.erase();
    }
  }

  vxrt::ProgramOp program;
  Block &block; // the program's, or that of a loop that commits
  const VariablePlaces &places;
};

struct UpdateLoopsInPlacePass : impl::UpdateLoopsInPlacePassBase<UpdateLoopsInPlacePass> {
  void runOnOperation() override {
    VariablePlaces places(getOperation()->getParentOfType<ModuleOp>());
    Block &block = getOperation().getBody().front();
    for (auto loop : block.getOps<vxrt::WhileOp>())
      if (loop.getCommits())
        LoopUpdater(getOperation(), loop.getBody().front(), places).run();
    LoopUpdater(getOperation(), block, places).run();
  }
};

} // namespace
} // namespace vx
