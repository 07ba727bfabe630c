// Emits the code that computes single elements of tensors, or vectors of them.
#ifndef VX_CODEGEN_COMMON_ELEMENTEVALUATOR_H
#define VX_CODEGEN_COMMON_ELEMENTEVALUATOR_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/Support/SaveAndRestore.h"
#include <functional>
#include <map>

namespace vx {

/// Where an element lies along one dimension, for each lane: `base + lane * stride`, or a vector of indices where that
/// does not hold.
struct LaneIndex {
  mlir::Value base;
  int64_t stride = 0;
  mlir::Value vector;

  bool isInvariant() const { return !vector && stride == 0; }
};

/// Computes elements of the tensors of a kernel on demand: what produces a tensor is evaluated at the place where an
/// element of it is read. Elementwise producers are inlined so, a reduction becomes a loop nest with its accumulators
/// in registers, and buffers are loaded from. No tensor is ever stored.
///
/// Code that depends on outer loops only is emitted in these, so that a row's maximum is computed once for the row.
/// Loops that the caller makes must therefore be announced (`enterLoop`, `leaveLoop`).
///
/// With `lanes` > 1 indices may differ between lanes; values that differ are vectors of `lanes` elements, others
/// scalars. Lanes that the mask leaves out read nothing.
class ElementEvaluator {
public:
  /// `builder` must stand in the block that is the outermost scope.
  ElementEvaluator(mlir::OpBuilder &builder, int64_t lanes);

  /// The element of `tensor` at `indices`: a scalar, or a vector where it differs between lanes. Null after an error,
  /// which has been reported.
  mlir::Value evaluate(mlir::Value tensor, llvm::ArrayRef<LaneIndex> indices);

  /// The same, but not from the tensor's own source (`setSource`).
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<LaneIndex> indices);

  /// A value of the body of `op`, in the iteration `ivs`. The accumulators must not be among what it depends on.
  mlir::Value evaluateInBody(mlir::linalg::GenericOp op, mlir::Value value, llvm::ArrayRef<LaneIndex> ivs);

  /// Stores the element of each result at `indices`, in the lanes of the mask. All are computed before the first one is
  /// stored: they may read where it is stored.
  llvm::LogicalResult store(llvm::ArrayRef<mlir::bufferization::MaterializeInDestinationOp> results,
                            llvm::ArrayRef<LaneIndex> indices);

  using Source = std::function<mlir::Value(llvm::ArrayRef<LaneIndex>)>;
  /// Takes the elements of `tensor` from `source` instead of computing them. A null source takes that back.
  void setSource(mlir::Value tensor, Source source);

  /// The element of a buffer, in the lanes of the mask.
  mlir::Value load(mlir::Location loc, mlir::Value memref, llvm::ArrayRef<LaneIndex> indices);
  /// Stores an element, or neighbours, in the lanes of the mask.
  void store(mlir::Location loc, mlir::Value value, mlir::Value memref, llvm::ArrayRef<LaneIndex> indices);

  /// The size of a tensor's dimension: a value of the function's level.
  mlir::Value sizeOf(mlir::Value tensor, int64_t dimension);

  /// Makes a loop and moves the builder into it.
  mlir::scf::ForOp enterLoop(mlir::Location loc, mlir::Value lower, mlir::Value upper, mlir::Value step,
                             mlir::ValueRange inits = {});
  /// Ends the innermost loop with the values it carries, and moves the builder behind it.
  void leaveLoop(mlir::ValueRange yielded = {});
  /// The loop that was entered last is the one over vectors: what differs from lane to lane is computed in it where no
  /// loop inside of it changes anything, and not out of it. Without such a loop it is computed in the innermost one.
  void beginLanes() { laneScope = scopes.size() - 1; }
  void endLanes() { laneScope.reset(); }
  /// The same for a branch without results, whose block nothing is hoisted out of.
  mlir::scf::IfOp enterIf(mlir::Location loc, mlir::Value condition);
  void leaveIf();

  /// Which lanes take part from now on; null for all.
  void setMask(mlir::Value newMask) { mask = newMask; }
  mlir::Value getMask() const { return mask; }
  /// Changes the number of lanes; only between evaluations.
  void setLanes(int64_t count) { lanes = count; }
  int64_t getLanes() const { return lanes; }

  /// `value` as a vector, broadcast when it is a scalar.
  mlir::Value toVector(mlir::Location loc, mlir::Value value);

  LaneIndex constantIndex(int64_t value);
  /// Takes the flat number of an element of a box of these sizes apart.
  llvm::SmallVector<LaneIndex> delinearize(mlir::Location loc, LaneIndex flat, llvm::ArrayRef<mlir::Value> sizes);
  LaneIndex addIndices(mlir::Location loc, LaneIndex lhs, LaneIndex rhs);
  LaneIndex multiplyIndices(mlir::Location loc, LaneIndex lhs, LaneIndex rhs);

private:
  /// A value of a linalg body: an index, or anything else.
  struct LaneValue {
    mlir::Value value;
    std::optional<LaneIndex> index;
    bool isVarying() const {
      return index ? !index->isInvariant() : static_cast<bool>(llvm::isa<mlir::VectorType>(value.getType()));
    }
  };
  struct Body {
    mlir::linalg::GenericOp op;
    llvm::SmallVector<LaneIndex> ivs;
    llvm::SmallVector<mlir::Value> accumulators; // empty: a parallel op
    llvm::DenseMap<mlir::Value, LaneValue> values;
    bool isVarying = false;
  };
  using Key = std::vector<void *>;
  struct Scope {
    mlir::Block *block;
    mlir::Operation *child; // what was entered last
    bool isBarrier;
    std::map<Key, llvm::SmallVector<mlir::Value>> known;
  };

  size_t depthOf(mlir::Value value) const;
  size_t depthOf(const LaneIndex &index) const;
  size_t barrierDepth() const;
  void pushScope(mlir::Block *block, bool isBarrier);
  /// Runs `emit` with the builder at the end of the scope at `depth`, before what was entered from there.
  template <typename Emit>
  auto emitAt(size_t depth, Emit emit);

  mlir::Value materialize(mlir::Location loc, const LaneIndex &index);
  bool isNarrowStride(int64_t stride) const;
  mlir::Value loadStrided(mlir::Location loc, mlir::Value memref, llvm::SmallVector<mlir::Value> bases, int64_t stride);
  mlir::Value constantElement(mlir::arith::ConstantOp op, llvm::ArrayRef<LaneIndex> indices);
  mlir::Value anyLane(mlir::Location loc, mlir::Value condition);
  void storeElement(mlir::Location loc, mlir::Value value, mlir::Value memref, mlir::ValueRange indices,
                    bool isVarying);
  bool storeAtPlace(mlir::Location loc, mlir::Value value, vxk::PlacesOp places, llvm::ArrayRef<LaneIndex> indices,
                    bool isVarying);

  llvm::SmallVector<mlir::Value> evaluateGeneric(mlir::linalg::GenericOp op, llvm::ArrayRef<LaneIndex> indices,
                                                 unsigned result);
  llvm::SmallVector<mlir::Value> reduce(Body &body);
  int64_t countChains(mlir::linalg::GenericOp op, std::optional<int64_t> size) const;
  bool reduceNest(Body &body, llvm::ArrayRef<unsigned> dims);
  mlir::Value reduceWithLanes(Body &body, llvm::ArrayRef<unsigned> dims, unsigned laneDim, mlir::Operation *combiner);
  bool evaluateBody(Body &body, llvm::SmallVectorImpl<mlir::Value> &results);
  bool evaluateOp(Body &body, mlir::Operation &op);
  bool evaluateBlock(Body &body, mlir::Block &block, llvm::SmallVectorImpl<mlir::Value> &yielded);
  bool evaluateIf(Body &body, mlir::scf::IfOp op);
  bool evaluateFor(Body &body, mlir::scf::ForOp op);
  mlir::Value compareAlongLanes(Body &body, mlir::arith::CmpIOp op);
  bool evaluateIndexOp(Body &body, mlir::Operation &op);
  bool reportFaults(Body &body, mlir::Operation &op);
  std::optional<LaneValue> lookup(Body &body, mlir::Value value);
  LaneIndex evaluateExpr(mlir::Location loc, mlir::AffineExpr expr, llvm::ArrayRef<LaneIndex> ivs);

  /// The vectors of indices that `delinearize` made of consecutive numbers.
  struct Split {
    LaneIndex flat;
    llvm::SmallVector<LaneIndex> parts;
    llvm::SmallVector<mlir::Value> sizes;
  };
  /// The split that the last indices into `memref` are, when its memory is cut in the same way.
  const Split *findSplit(mlir::Value memref, llvm::ArrayRef<LaneIndex> indices);
  /// `memref` with the dimensions of that split as one, and in `bases` where the elements begin there; null without
  /// one.
  mlir::Value flattenSplit(mlir::Location loc, mlir::Value memref, llvm::ArrayRef<LaneIndex> indices,
                           llvm::SmallVectorImpl<mlir::Value> &bases);

  mlir::OpBuilder &builder;
  int64_t lanes;
  mlir::Value mask;
  std::vector<Split> splits;
  /// The mask says which lanes may read at all, also what is the same for all of them.
  bool isGuarded = false;
  std::vector<Scope> scopes;
  std::optional<size_t> laneScope;
  llvm::DenseMap<mlir::Value, Source> sources;
};

template <typename Emit>
auto ElementEvaluator::emitAt(size_t depth, Emit emit) {
  if (depth + 1 >= scopes.size())
    return emit();
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(scopes[depth].child);
  std::vector<Scope> inner(std::make_move_iterator(scopes.begin() + depth + 1), std::make_move_iterator(scopes.end()));
  scopes.erase(scopes.begin() + depth + 1, scopes.end());
  mlir::Operation *child = scopes.back().child;
  llvm::SaveAndRestore<mlir::Value> saved(mask, mlir::Value());
  auto result = emit();
  scopes.back().child = child;
  for (Scope &scope : inner)
    scopes.push_back(std::move(scope));
  return result;
}

/// An operand's dimension that has the size of a loop of `op`.
std::pair<mlir::Value, int64_t> shapeOfLoop(mlir::linalg::GenericOp op, unsigned loop);

/// The ops of the block that `value` depends on, in order. `value` is one of the block.
llvm::SmallVector<mlir::Operation *> getBodySlice(mlir::Block &body, mlir::Value value);

/// True when every way from `op` to `result` is elementwise, and there is one.
bool isElementwiseOf(mlir::Value result, mlir::linalg::GenericOp op);

/// True when every way from `op` to `result` is elementwise, or there is none.
bool isElementwiseOrIndependentOf(mlir::Value result, mlir::linalg::GenericOp op);

} // namespace vx

#endif
