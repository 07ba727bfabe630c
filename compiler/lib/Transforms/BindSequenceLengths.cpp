// Gives the length of a sequence a symbol where a kernel reads it.

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_BINDSEQUENCELENGTHSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

struct BindSequenceLengthsPass : impl::BindSequenceLengthsPassBase<BindSequenceLengthsPass> {
  void runOnOperation() override {
    llvm::StringSet<llvm::MallocAllocator> taken;
    for (auto symbol : getOperation().getOps<SymbolOp>())
      taken.insert(symbol.getName());
    unsigned number = 0;
    getOperation().walk([&](SequenceLengthOp length) {
      if (llvm::all_of(length->getUses(), [](OpOperand &use) { return isHostScalar(use); }))
        return;
      std::string name;
      do
        name = "length." + std::to_string(number++);
      while (!taken.insert(name).second);
      auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
      auto symbol = SymbolOp::create(builder, length.getLoc(), name);
      symbol.setDataDependent(true);
      builder.setInsertionPointAfter(length);
      auto bind = BindSymbolOp::create(builder, length.getLoc(), length.getResult(), name);
      auto value = DimValueOp::create(builder, length.getLoc(), length.getResult().getType(),
                                      DimAttr::symbolNamed(&getContext(), name));
      length.getResult().replaceAllUsesExcept(value, bind);
    });
  }
};

} // namespace
} // namespace vx
