// A chain of reshapes, transpositions and slices as one map of elements.
#ifndef VX_LIB_TRANSFORMS_VIEWCHAIN_H
#define VX_LIB_TRANSFORMS_VIEWCHAIN_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include <optional>

namespace vx {

/// Where the elements of a value come from. The source's elements, in row-major order, are numbered by `factors`,
/// outermost first; of each factor the elements from `start` on take part, `length` of them. A dimension of the value
/// is a group of factors, outermost first; a group of none is a dimension of size 1.
class ViewChain {
public:
  struct Factor {
    DimAttr size, start, length;
    bool isWhole() const { return size == length; }
  };

  /// Follows `value` back through the ops of which it is a view, as far as they can be expressed. The chain may be
  /// empty: the value itself.
  static ViewChain trace(mlir::Value value);

  mlir::Value getSource() const { return source; }
  llvm::ArrayRef<Factor> getFactors() const { return factors; }
  llvm::ArrayRef<llvm::SmallVector<unsigned>> getGroups() const { return groups; }
  /// The ops of the chain that are not reshapes.
  unsigned getNumMoves() const { return moves; }
  /// The ops that `build` needs that are not reshapes.
  unsigned getNumMovesToBuild() const;
  bool hasSlice() const;

  /// Joins factors that lie beside each other in the source and in one group.
  void joinFactors();
  /// Puts the value's dimensions into another order.
  void permute(llvm::ArrayRef<int64_t> permutation);

  /// Makes the input of a broadcast the source, where that repeats elements along the innermost factors of `group`
  /// alone, which the group loses. False, with nothing changed, for any other chain.
  bool skipRepeats(unsigned group);

  /// The source with a dimension for each factor, sliced. One more dimension of size 1 is put in front where
  /// `leadingOnes` says so.
  mlir::Value buildFactors(mlir::OpBuilder &builder, mlir::Location location, unsigned leadingOnes = 0) const;
  /// The value anew, of type `type`.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location location, mlir::RankedTensorType type) const;
  /// The sizes of the value's dimensions.
  llvm::SmallVector<DimAttr> getDims() const;

private:
  explicit ViewChain(mlir::Value value);
  bool prepend(mlir::Operation *op);
  bool applyReshape(llvm::ArrayRef<DimAttr> dims);
  bool applySlice(SliceOp op);
  llvm::SmallVector<unsigned> getOrder() const;

  mlir::Value source;
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<llvm::SmallVector<unsigned>> groups;
  unsigned moves = 0;
};

/// lhs / rhs where that is a polynomial, else null.
DimAttr divideExactly(DimAttr lhs, DimAttr rhs);

} // namespace vx

#endif
