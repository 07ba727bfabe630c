// Whether two boxes overlap too much, as vx.select_boxes says.
#ifndef VX_LIB_CODEGEN_COMMON_OVERLAPTEST_H
#define VX_LIB_CODEGEN_COMMON_OVERLAPTEST_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace vx {

class OverlapTest {
public:
  /// The least coordinates, then the greatest.
  using Box = llvm::SmallVector<mlir::Value, 4>;

  /// `boxes` are a buffer's, [images, n, 4]; those of `image` are compared.
  OverlapTest(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value boxes, mlir::Value image);

  /// `number` is an index inside of the buffer.
  Box load(mlir::Value number);
  /// An i1.
  mlir::Value emit(const Box &a, const Box &b, mlir::Value limit);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value buffer, image;
};

} // namespace vx

#endif
