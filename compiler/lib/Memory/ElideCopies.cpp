// Gives copies that nothing tells from what they are copied from the memory of that.

#include "Lifetimes.h"
#include "vx/Memory/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_ELIDECOPIESPASS
#include "vx/Memory/Passes.h.inc"

namespace {

struct ElideCopiesPass : impl::ElideCopiesPassBase<ElideCopiesPass> {
  void runOnOperation() override {
    vxrt::ProgramOp program = getOperation();
    Lifetimes lifetimes(program);
    SmallVector<vxrt::CopyOp> copies;
    program.walk([&](vxrt::CopyOp copy) { copies.push_back(copy); });
    for (vxrt::CopyOp copy : copies) {
      auto source = copy.getSource().getDefiningOp<vxrt::AllocateOp>();
      auto target = copy.getTarget().getDefiningOp<vxrt::AllocateOp>();
      Operation *segment = copy->getParentOp();
      // All in one block, so that positions are an order of time.
      if (!source || !target || source == target || source->getBlock() != segment->getBlock() ||
          target->getBlock() != segment->getBlock() || !llvm::all_of(source->getUsers(), isBriefUse))
        continue;
      int64_t position = lifetimes.getPosition(copy);
      if (lifetimes.get(source).last != position || lifetimes.get(target).first != position)
        continue;
      target.replaceAllUsesWith(source.getResult());
      copy.erase();
      target.erase();
      if (segment->getRegion(0).front().empty())
        segment->erase();
    }
  }
};

} // namespace
} // namespace vx
