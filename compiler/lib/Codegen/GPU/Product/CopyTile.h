// The copy of one factor's tile from memory into workgroup memory.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCT_COPYTILE_H
#define VX_LIB_CODEGEN_GPU_PRODUCT_COPYTILE_H

#include "FactorSource.h"

namespace vx {

/// One factor in workgroup memory: [slice][buffer][step][stride] with the rows or columns of the tile last, or
/// [slice][buffer][rows or columns][stride] with the sum last. Threads bring units of `lanes` neighbours.
class CopyTile {
public:
  /// Lays out factor `which` for blocks of threads or for fragments.
  CopyTile(WorkgroupProduct &emitter, int which);

  /// Starts asynchronous copies of the step at `from` into buffer `buffer`.
  void copy(mlir::Value from, mlir::Value buffer);
  /// Reads the elements of the step at `from` that this thread brings through registers.
  mlir::LogicalResult load(mlir::Value from, llvm::SmallVectorImpl<mlir::Value> &values);
  /// Takes the elements that `load` read off the front of `values` and stores them in buffer `buffer`.
  void store(llvm::ArrayRef<mlir::Value> &values, mlir::Value buffer);

  /// The first element of a buffer, for this thread's slice.
  mlir::Value begin(mlir::Value buffer);
  /// Where in its buffer the element at `along` the sum and `across` it lies.
  mlir::Value placeOf(mlir::Value along, mlir::Value across);

  /// The first of the rows or columns `k` of a thread's block: groups of `lanes` neighbours, as far apart as the
  /// threads need.
  int64_t blockOffset(int64_t k) const;
  mlir::Value memory;
  int64_t stride = 0;      // elements from one position of the sum to the next, or from one row or column to the next
  int64_t lanes = 1;       // neighbours that each access takes
  bool isAlongSum = false; // neighbours in workgroup memory are neighbours along the sum
  bool isAsync = false;    // brought by asynchronous copies

private:
  struct Unit {
    mlir::Value along, across; // the first element
  };

  void layOutForBlocks();
  void layOutForFragments();
  int64_t bufferSize() const { return stride * (isAlongSum ? width : e.tile.step); }
  llvm::SmallVector<Unit> listUnits();
  mlir::Value findUnit(mlir::Value number, mlir::Value across, int64_t lane,
                       llvm::SmallVectorImpl<mlir::Value> &indices);
  mlir::Value findInWindow(const llvm::DenseMap<unsigned, mlir::Value> &positions, mlir::Value isInside,
                           llvm::SmallVectorImpl<mlir::Value> &indices);
  mlir::LogicalResult loadUnit(mlir::Value number, mlir::Value across, llvm::SmallVectorImpl<mlir::Value> &values);
  mlir::Value loadElement(mlir::Value number, mlir::Value across, int64_t lane);
  mlir::Value loadWord(mlir::Value number, mlir::Value across, int64_t lane);
  void loadWindow(mlir::Value number, mlir::Value across, llvm::SmallVectorImpl<mlir::Value> &values);
  void storeUnit(llvm::ArrayRef<mlir::Value> values, mlir::Value at);
  mlir::Value laneInSum(mlir::Value number, int64_t lane);
  mlir::Value isInSum(mlir::Value number, int64_t lane);
  llvm::DenseMap<unsigned, mlir::Value> findPositions(mlir::Value number, mlir::Value across, int64_t lane);
  mlir::Value clampPosition(unsigned d, mlir::Value local, int64_t offset, int64_t wide);

  WorkgroupProduct &e;
  FactorSource source;
  int64_t width, block;        // rows or columns of the workgroup's tile, and of a thread's block
  bool isUnitAlongSum = false; // the neighbours of a unit are neighbours along the sum
  bool isSumWhole = false;     // they are all inside of the sum or all outside, and neighbours in memory too
  bool isWordWhole = false;    // the bytes of an element are neighbours in memory, all inside of the sum or all outside
};

/// The same for both factors. `startCopies` ends with one commit where a factor has asynchronous copies.
void startCopies(WorkgroupProduct &emitter, llvm::MutableArrayRef<CopyTile> tiles, mlir::Value from,
                 mlir::Value buffer);
mlir::LogicalResult loadTiles(WorkgroupProduct &emitter, llvm::MutableArrayRef<CopyTile> tiles, mlir::Value from,
                              llvm::SmallVectorImpl<mlir::Value> &values);
void storeTiles(llvm::MutableArrayRef<CopyTile> tiles, llvm::ArrayRef<mlir::Value> values, mlir::Value buffer);

} // namespace vx

#endif
