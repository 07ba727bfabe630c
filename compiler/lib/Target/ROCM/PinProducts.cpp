#include "PinProducts.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace vx::rocm {

static bool isProduct(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call)
    return false;
  return call->getCalledFunction()->getName().starts_with("llvm.amdgcn.wmma.");
}

void pinProducts(llvm::Module &code) {
  for (llvm::Function &function : code) {
    llvm::SmallVector<llvm::Instruction *> products;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isProduct(instruction) && llvm::any_of(instruction.users(), [&](llvm::User *user) {
            return llvm::cast<llvm::Instruction>(user)->getParent() != instruction.getParent();
          }))
        products.push_back(&instruction);
    for (llvm::Instruction *product : products) {
      // No instruction at all, but a use that stays where it is, since it is convergent.
      llvm::Type *type = product->getType();
      auto *nothing = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, /*isVarArg=*/false), "", "=v,0",
                                           /*hasSideEffects=*/false);
      llvm::IRBuilder<> builder(product->getNextNode());
      llvm::CallInst *pinned = builder.CreateCall(nothing, {product});
      pinned->setConvergent();
      pinned->setDoesNotAccessMemory();
      pinned->setDoesNotThrow();
      product->replaceUsesWithIf(pinned, [&](llvm::Use &use) { return use.getUser() != pinned; });
    }
  }
}

} // namespace vx::rocm
