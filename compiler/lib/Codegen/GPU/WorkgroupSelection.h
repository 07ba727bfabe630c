// Sorts in workgroup memory, of the best elements of a row.
#ifndef VX_LIB_CODEGEN_GPU_WORKGROUPSELECTION_H
#define VX_LIB_CODEGEN_GPU_WORKGROUPSELECTION_H

#include "Common/ElementEvaluator.h"
#include "Common/SortEntries.h"

namespace vx {

/// All threads of a workgroup go through a row of codes and leave its best entries in workgroup memory, in order.
class WorkgroupSelection {
public:
  /// `capacity` is one of `getSortCapacity`; the last dimension of `codes` runs along a row.
  WorkgroupSelection(mlir::OpBuilder &builder, mlir::Location loc, SortEntries &entries, ElementEvaluator &evaluator,
                     mlir::Value codes, int64_t capacity, int64_t threads);

  mlir::Value getThread() const { return thread; }
  mlir::ValueRange getMemory() const { return memory; }
  /// Makes workgroup memory.
  mlir::Value allocate(int64_t size, mlir::Type element);
  /// The numbers from `lower` up to `upper`, shared out to the threads.
  void forShare(mlir::Value lower, mlir::Value upper, llvm::function_ref<void(mlir::Value)> body);

  /// All of a row that is no longer than the capacity. A barrier ends it, and the next one.
  llvm::LogicalResult sortAll(llvm::ArrayRef<mlir::Value> row);
  /// The best `count` of a row; with `after` only those behind that one, and none whose code is the greatest there is.
  llvm::LogicalResult sortBest(llvm::ArrayRef<mlir::Value> row, int64_t count, const SortEntry *after = nullptr);

private:
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, loc, value); }
  mlir::Value plus(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::AddIOp>(loc, a, b); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, a, b);
  }
  std::optional<SortEntry> read(llvm::ArrayRef<mlir::Value> row, mlir::Value place, mlir::Value length);
  void sort();

  mlir::OpBuilder &builder;
  mlir::Location loc;
  SortEntries &entries;
  ElementEvaluator &evaluator;
  mlir::Value codes;
  int64_t capacity, threads;
  llvm::SmallVector<mlir::Value> memory;
  mlir::Value thread, flag;
};

} // namespace vx

#endif
