// What the emitters of a workgroup's code share: arithmetic on positions, and workgroup memory.
#ifndef VX_LIB_CODEGEN_GPU_WORKGROUPEMITTER_H
#define VX_LIB_CODEGEN_GPU_WORKGROUPEMITTER_H

#include "../Common/ElementEvaluator.h"
#include "../Common/WorkgroupTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace vx {

/// Emits code into one kernel. `enter` comes first. An emitter is not moved: the evaluator refers to its builder.
class WorkgroupEmitter {
public:
  WorkgroupEmitter(mlir::func::FuncOp function, mlir::Location loc)
      : function(function), builder(function.getContext()), loc(loc) {}
  WorkgroupEmitter(const WorkgroupEmitter &) = delete;

  /// Code goes in front of `end` from now on. Returns the number of the workgroup.
  mlir::Value enter(mlir::Operation *end);

  mlir::Value index(int64_t value) { return evaluator->constantIndex(value).base; }
  mlir::Value plus(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::AddIOp>(loc, a, b); }
  mlir::Value times(mlir::Value a, int64_t b) { return times(a, index(b)); }
  mlir::Value times(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::MulIOp>(loc, a, b); }
  mlir::Value quotient(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::DivUIOp>(loc, a, b); }
  mlir::Value remainder(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::RemUIOp>(loc, a, b); }
  mlir::Value minimum(mlir::Value a, mlir::Value b) { return builder.createOrFold<mlir::arith::MinUIOp>(loc, a, b); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return mlir::arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  mlir::Value selectOrZero(mlir::Value condition, mlir::Value value);
  /// Whether both hold; a null condition always does.
  mlir::Value both(mlir::Value a, mlir::Value b);

  /// The flat `number` as a position in a box of these sizes, the last dimension fastest.
  llvm::SmallVector<mlir::Value> takeApart(mlir::Value number, llvm::ArrayRef<mlir::Value> sizes);

  /// `count` elements of workgroup memory.
  mlir::Value workgroupMemory(mlir::Type element, int64_t count);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::optional<ElementEvaluator> evaluator;
};

} // namespace vx

#endif
