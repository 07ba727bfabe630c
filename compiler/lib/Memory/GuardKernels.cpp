// Gives guarded dispatches kernels that look for faults first.

#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_GUARDKERNELSPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// A key that follows from that of the kernel without a guard.
std::string getGuardedKey(StringRef key) {
  std::string text = (key + " " + kGuardedAttr).str();
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, key.size());
}

struct GuardKernelsPass : impl::GuardKernelsPassBase<GuardKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::DenseMap<StringAttr, KernelOp> guarded;
    llvm::DenseSet<StringAttr> isUsed;
    module.walk([&](vxrt::DispatchOp dispatch) {
      StringAttr name = dispatch.getKernelAttr().getAttr();
      auto kernel = symbols.lookup<KernelOp>(name);
      if (kernel && dispatch->hasAttr(kGuardedAttr) && !kernel->hasAttr(kGuardedAttr)) {
        KernelOp &copy = guarded[name];
        if (!copy)
          copy = makeGuarded(kernel, symbols);
        dispatch.setKernelAttr(FlatSymbolRefAttr::get(copy.getSymNameAttr()));
      }
      isUsed.insert(dispatch.getKernelAttr().getAttr());
    });
    for (auto [name, copy] : guarded)
      if (!isUsed.contains(name))
        symbols.erase(symbols.lookup(name));
  }

  static KernelOp makeGuarded(KernelOp kernel, SymbolTable &symbols) {
    KernelOp copy = kernel.clone();
    copy.setSymName((kernel.getSymName() + "_guarded").str());
    copy.setKey(getGuardedKey(kernel.getKey()));
    copy->setAttr(kGuardedAttr, UnitAttr::get(kernel.getContext()));
    symbols.insert(copy, std::next(Block::iterator(kernel))); // which finds a name that is free
    return copy;
  }
};

} // namespace
} // namespace vx
