// Sorts on the stack, of the best elements of a row.
#ifndef VX_LIB_CODEGEN_CPU_STACKSELECTION_H
#define VX_LIB_CODEGEN_CPU_STACKSELECTION_H

#include "Common/ElementEvaluator.h"
#include "Common/SortEntries.h"

namespace vx {

/// Entries on the stack that are sorted: groups of 16 by counting those before each, then runs of twice the length.
class StackSorter {
public:
  /// Makes the memory where `builder` stands: `capacity` is one of `getSortCapacity`.
  StackSorter(mlir::OpBuilder &builder, mlir::Location loc, SortEntries &entries, int64_t capacity, int64_t vectorBits);

  mlir::ValueRange getMemory() const { return main; }
  int64_t getCapacity() const { return capacity; }
  /// Sorts the first `kept` entries, which all differ; behind them, at least up to `count`, comes what stands behind
  /// all others.
  void sort(mlir::Value kept, int64_t count);

private:
  static constexpr int64_t group = 16;

  mlir::Value index(int64_t value);
  mlir::Value plus(mlir::Value a, int64_t b);
  void forEach(int64_t lower, int64_t upper, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  void fill(mlir::Value from, int64_t size);
  void sortAll(int64_t size);
  void orderGroups(llvm::ArrayRef<mlir::Value> to, int64_t size);
  void mergeRuns(mlir::Value first, int64_t run, mlir::ValueRange from, mlir::ValueRange to);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  SortEntries &entries;
  int64_t capacity, lanes;
  llvm::SmallVector<mlir::Value> main, spare;
};

/// Goes through rows of codes and leaves the best entries of one in the memory of a sorter, in order.
class StackSelection {
public:
  static constexpr int64_t step = 4;  // vectors that are looked at together
  static constexpr int64_t early = 4; // times as many as are wanted tell which others may be among them

  /// `evaluator` has `lanes` lanes; the last dimension of `codes` runs along a row.
  StackSelection(mlir::OpBuilder &builder, mlir::Location loc, SortEntries &entries, StackSorter &sorter,
                 ElementEvaluator &evaluator, mlir::Value codes)
      : builder(builder), loc(loc), entries(entries), sorter(sorter), evaluator(evaluator), codes(codes),
        lanes(evaluator.getLanes()) {}

  /// The capacity of a sorter for the best `count` of any number.
  static int64_t getCapacity(int64_t count, int64_t lanes) { return getSortCapacity(2 * count + step * lanes); }

  /// True where `sortBest` sorts the first elements of a row by themselves, and there are others.
  static bool sortsEarly(int64_t count, int64_t length, int64_t lanes) {
    return step * lanes >= early * count && length > step * lanes;
  }

  /// All of a row whose `length` is known and no greater than the capacity.
  llvm::LogicalResult sortAll(llvm::ArrayRef<mlir::Value> row, int64_t length);
  /// The best `count` of a row, of at least one element; with `after` only those behind that one, and none whose code
  /// is the greatest there is.
  llvm::LogicalResult sortBest(llvm::ArrayRef<mlir::Value> row, int64_t count, const SortEntry *after = nullptr);

private:
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, loc, value); }
  mlir::Value plus(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::AddIOp>(loc, a, b); }
  std::pair<mlir::Value, mlir::Value> read(llvm::ArrayRef<mlir::Value> row, mlir::Value first, mlir::Value length);
  mlir::Value getPlaces(mlir::Value first);
  mlir::Value append(const SortEntry &added, mlir::Value mask, mlir::Value kept);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  SortEntries &entries;
  StackSorter &sorter;
  ElementEvaluator &evaluator;
  mlir::Value codes;
  int64_t lanes;
};

} // namespace vx

#endif
