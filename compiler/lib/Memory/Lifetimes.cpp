#include "Lifetimes.h"

using namespace mlir;

namespace vx {

bool isBriefUse(Operation *user) { return isa<vxrt::DispatchOp, vxrt::CopyOp, vxrt::ReadI64Op>(user); }

Lifetimes::Lifetimes(vxrt::ProgramOp program) {
  int64_t next = 0;
  auto visit = [&](Block &block, auto &&self) -> void {
    for (Operation &op : block) {
      begin[&op] = next++;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          self(inner, self);
      end[&op] = next++;
    }
  };
  visit(program.getBody().front(), visit);
}

Lifetime Lifetimes::get(Value buffer) const {
  Lifetime lifetime;
  for (Operation *user : buffer.getUsers()) {
    if (auto slice = dyn_cast<vxrt::SliceOp>(user)) {
      Lifetime part = get(slice.getResult());
      lifetime.first = std::min(lifetime.first, part.first);
      lifetime.last = std::max(lifetime.last, part.last);
      continue;
    }
    Lifetime use{getPosition(user), getPosition(user)};
    for (Operation *op = user; op && op->getBlock() != buffer.getParentBlock(); op = op->getParentOp())
      if (Operation *parent = op->getParentOp(); isa_and_present<vxrt::WhileOp>(parent))
        use = {begin.lookup(parent), end.lookup(parent)};
    lifetime.first = std::min(lifetime.first, use.first);
    lifetime.last = std::max(lifetime.last, use.last);
  }
  return lifetime;
}

} // namespace vx
