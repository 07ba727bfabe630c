// What the ops of a block wait for, where some of them will run as one.
#ifndef VX_LIB_TRANSFORMS_BLOCKDEPENDENCES_H
#define VX_LIB_TRANSFORMS_BLOCKDEPENDENCES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace vx {

/// The order that the ops of a block must keep: what an op or its regions read is made before it, accesses of
/// variables that share bytes keep their order where one of them is a store, and nothing moves to before what binds a
/// symbol or states a constraint.
class BlockDependences {
public:
  explicit BlockDependences(mlir::Block &block);

  /// Says that `ops` run as one, from now on.
  void group(llvm::ArrayRef<mlir::Operation *> ops);

  /// True when `ops` cannot run as one: something outside of them waits for one of them and is waited for by another.
  bool makeCycle(const llvm::SetVector<mlir::Operation *> &ops) const;

  /// Puts the ops of each group beside each other, where its last one is. What reads an earlier one's result comes
  /// behind it; all else keeps its order.
  void sort();

private:
  using Node = unsigned;

  Node nodeOf(mlir::Operation *op) const { return nodes[positions.lookup(op)]; }

  mlir::Block &block;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::SmallVector<llvm::SmallVector<unsigned>> dependences; // of each op: those that it waits for, by position
  llvm::SmallVector<Node> nodes;                              // of each op: itself, or the last op of its group
  llvm::DenseMap<Node, llvm::SmallVector<unsigned>> groups;
};

} // namespace vx

#endif
