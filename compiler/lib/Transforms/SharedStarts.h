// Where slices begin, as parameters of kernels: an RNN that is written step by step reads a sequence at as many places
// as it has steps, and needs one kernel for it.
#ifndef VX_TRANSFORMS_SHAREDSTARTS_H
#define VX_TRANSFORMS_SHAREDSTARTS_H

#include "vx/Dialect/VX/IR/Constraints.h"

namespace vx {

class SharedStarts {
public:
  /// Fusions that differ in the constants at which their slices begin, and in nothing else by `getKey`, get symbols in
  /// the place of these constants where there are more than a few such fusions.
  SharedStarts(mlir::ModuleOp module, llvm::ArrayRef<FusionOp> fusions,
               llvm::function_ref<std::string(FusionOp)> getKey);

  /// The constant that `symbol` stands for in `fusion`; null for a symbol of the model.
  DimAttr lookup(FusionOp fusion, mlir::StringAttr symbol) const;
  /// What the symbol stands for in all fusions; the widest range for a symbol of the model.
  SymbolRange getRange(mlir::StringAttr symbol) const { return ranges.lookup(symbol); }

private:
  struct Start {
    SliceOp slice;
    unsigned dim;
    int64_t value;
  };
  struct Member {
    FusionOp fusion;
    llvm::SmallVector<Start, 4> starts;
  };

  void share(llvm::MutableArrayRef<Member> members);
  mlir::StringAttr makeSymbol();

  mlir::MLIRContext *context;
  std::string prefix; // no symbol of the model begins with it
  unsigned made = 0;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::StringAttr>, DimAttr> values;
  llvm::DenseMap<mlir::StringAttr, SymbolRange> ranges;
};

} // namespace vx

#endif
