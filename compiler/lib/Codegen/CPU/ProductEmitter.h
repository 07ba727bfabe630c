// The emitter of blocked matrix products.
#ifndef VX_CODEGEN_CPU_PRODUCTEMITTER_H
#define VX_CODEGEN_CPU_PRODUCTEMITTER_H

#include "BlockEmitter.h"
#include "ProductBlocking.h"
#include "WindowRows.h"
#include "vx/Codegen/CPU.h"

namespace vx {

/// The loops of a blocked matrix product. A block of A is packed row by row, or column by column where its columns lie
/// together in memory; its prologue, its padding and the patches of a convolution are computed there. Without these its
/// rows are read as they lie in memory. B is packed in columns of one vector each,
/// or lies so in memory already; a few rows of A read B as it lies in memory. Sums are kept on the stack from one block
/// of k to the next, and the epilogue is computed from there.
///
/// Of bytes, a step along k is four neighbours along the last k dimension, which lie together in the packed blocks. The
/// last step of a run of that dimension may reach beyond it: there B has zeros, and A anything.
class ProductEmitter : BlockEmitter {
public:
  ProductEmitter(mlir::func::FuncOp function, CPUProductAttr strategy, Product product, Blocking blocking)
      : BlockEmitter(function.getContext(), product.op.getLoc()), strategy(strategy), product(product),
        blocking(blocking), type(llvm::cast<mlir::RankedTensorType>(product.op.getResult(0).getType())) {}

  llvm::LogicalResult run();

private:
  void findSizes();
  llvm::LogicalResult emitBlock(Range rows, Range columns);
  /// Adds the products of a range of k to the sums of a block.
  llvm::LogicalResult addProducts(Range rows, Range columns, Range depth);
  /// Calls `body` for the columns of each group in a range, or once for all where there are no groups.
  llvm::LogicalResult forEachGroup(Range columns, llvm::function_ref<llvm::LogicalResult(Range)> body);
  llvm::LogicalResult packRows(Range rows, Range columns, Range depth);
  /// The elements of A at `at` for a run of the last k dimension, to `start` of the packed block and on.
  llvm::LogicalResult packRun(llvm::SmallVectorImpl<LaneIndex> &at, Range run, mlir::Value start);
  /// All elements of A for the row at `at`, to `first` and on.
  llvm::LogicalResult packWindows(llvm::SmallVectorImpl<LaneIndex> &at, mlir::Value first);
  llvm::LogicalResult packColumnsOfA(Range rows, Range columns, Range depth);
  llvm::LogicalResult packColumns(Range columns, Range depth);
  /// The vector of columns from `column` on, where neighbours in memory are neighbours along k.
  llvm::LogicalResult packAcross(mlir::Value column, Range columns, Range depth);
  /// The vector of B at the place `at`; of bytes the vectors of all neighbours of a step, interleaved.
  mlir::Value evaluateColumns(llvm::SmallVectorImpl<LaneIndex> &at);
  /// The vector of integers of 8 bits that bytes with two integers each hold.
  mlir::Value unpackHalves(mlir::Value bytes);
  /// The integers of 8 bits that are in the lower or the upper halves of bytes.
  mlir::Value takeHalves(mlir::Value bytes, bool areUpper);
  /// B of the integers in the lower or the upper halves of bytes, where each is one of `table`.
  mlir::Value lookHalvesUp(mlir::Value table, mlir::Value bytes, bool areUpper);
  /// B of each integer that half a byte may hold, in the order of their bits; null where no instruction looks floats
  /// up.
  mlir::Value makeTable();
  /// The vector of B at the place `at`, of a packed B whose elements are `loaded`. Of B in blocks whose numbers their
  /// sums have: of what these are the sums of.
  mlir::Value decode(mlir::Value loaded, llvm::ArrayRef<LaneIndex> at);
  /// The vector at the place `at` of a tensor of B's dimensions.
  mlir::Value evaluateOfB(mlir::Value tensor, llvm::ArrayRef<LaneIndex> at);
  /// Adds to `sums` the sums `ofRun` of a block, to which its numbers are applied. `at` is a place of the block, and
  /// `places` are those of the vectors' columns.
  llvm::LogicalResult addBlockSums(llvm::SmallVectorImpl<LaneIndex> &at, llvm::ArrayRef<mlir::Value> places,
                                   mlir::Value mask, const PackedRows &a, Range run, llvm::ArrayRef<mlir::Value> ofRun,
                                   llvm::MutableArrayRef<mlir::Value> sums);
  /// The sum of the elements of a row of A along a run.
  mlir::Value sumRow(const PackedRows &a, int64_t row, Range run);
  /// The vector of B at the place `at` and step `k`, of a packed B.
  mlir::Value decodeColumns(llvm::SmallVectorImpl<LaneIndex> &at, mlir::Value k, Range columns);
  llvm::LogicalResult multiplyBlock(Range rows, Range columns, Range depth);
  llvm::LogicalResult multiplyColumns(Range rows, Range columns, Range depth, mlir::Value column, int64_t vectors);
  llvm::LogicalResult multiplyTile(Range rows, Range columns, Range depth, mlir::Value row, mlir::Value column,
                                   int64_t rowCount, int64_t vectors);
  llvm::LogicalResult finish(Range rows, Range columns);

  /// Calls `body` for each place of the k dimensions in a range, with the places of its loops in `at`. The innermost
  /// dimension is a loop of its own, so that the others are found once for all of its places.
  llvm::LogicalResult forEachDepth(Range depth, llvm::SmallVectorImpl<LaneIndex> &at,
                                   llvm::function_ref<llvm::LogicalResult(Value)> body);
  /// Calls `body` for each run of places of the last of `dims` in `range`, which counts places of all of them, in
  /// row-major order: the run's range, and where it begins. Sets the loops of the others in `at`.
  /// `hasWholeRuns`: the range begins and ends with runs.
  llvm::LogicalResult forEachRun(Range range, llvm::ArrayRef<unsigned> dims, bool hasWholeRuns,
                                 llvm::SmallVectorImpl<LaneIndex> &at,
                                 llvm::function_ref<llvm::LogicalResult(Range, Value)> body,
                                 llvm::MutableArrayRef<mlir::Value> carried = {});
  /// Sets the loops `dims` of `places` to the place `flat` in row-major order.
  void setPlace(llvm::SmallVectorImpl<LaneIndex> &places, llvm::ArrayRef<unsigned> dims, LaneIndex flat);
  mlir::Value accumulatorPlace(Range rows, Range columns, mlir::Value row, mlir::Value column, int64_t vector);
  /// Where the step `k` of a column lies in a packed B, in elements of memory.
  mlir::Value packedPlace(mlir::Value column, mlir::Value k);
  /// Elements of a packed B that an element of memory holds.
  int64_t perElement() const { return product.subByte ? 2 : 1; }
  /// The code that is emitted applies the numbers of blocks to their sums.
  bool sumsBlocks() const { return !product.steps.empty() && !readsBlockOfB; }
  /// The code that is emitted evaluates each vector of B where it multiplies it: decodes a packed one, or reads rows.
  bool evaluatesB() const { return !readsBlockOfB && (product.isDecoded || blocking.readsRowsOfB); }
  mlir::VectorType vectorType(mlir::Type element) { return VectorType::get(blocking.lanes, element); }
  /// The lanes of two vectors, those of the first one first.
  llvm::SmallVector<int64_t> joinedLanes() { return llvm::to_vector(llvm::seq<int64_t>(0, 2 * blocking.lanes)); }
  /// The place of a step along k in a packed block or a packed tile whose steps have `elements` elements.
  mlir::Value stepPlace(mlir::Value step, int64_t elements) { return times(step, elements * product.neighbours); }

  CPUProductAttr strategy;
  Product product;
  Blocking blocking;
  mlir::RankedTensorType type;
  llvm::DenseMap<unsigned, mlir::Value> loopSizes;
  mlir::Value destination, packedA, accumulators;
  mlir::Value packedB;        // as memory has it, or null
  mlir::Value blockOfB;       // on the stack, or null
  bool readsBlockOfB = false; // the code that is emitted reads that block
  mlir::Value outerRows;      // of A, before those of this iteration of the loops over `outer`
  /// Elements of the last k dimension.
  mlir::Value innerLength;
  /// Steps of all k dimensions. `loopSizes` has the steps of the last one.
  mlir::Value depthSize;
  bool hasWholeColumns = false; // no vector reaches beyond a tile's columns
  bool hasWholeRuns = false;    // blocks along k end with runs of the last k dimension
  bool hasWholeRows = false;    // no vector of a column of A reaches beyond its last m dimension
  llvm::SmallVector<LaneIndex> ivs;
  std::optional<WindowRows> windowRows; // where rows of windows are copied whole
  mlir::Value windowInput;              // the memory that they are copied from
};

} // namespace vx

#endif
