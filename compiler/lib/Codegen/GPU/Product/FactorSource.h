// Where a factor of a product comes from: elements that are computed, a buffer, or the windows of a convolution on one.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCT_FACTORSOURCE_H
#define VX_LIB_CODEGEN_GPU_PRODUCT_FACTORSOURCE_H

#include "WorkgroupProduct.h"

namespace vx {

struct FactorSource {
  /// How a window moves along one spatial dimension.
  struct Window {
    int64_t stride, dilation, padLow, padHigh;
  };

  /// The source of factor `which`. With `isStored` the elements are those in memory, before the body widens them.
  static FactorSource find(WorkgroupProduct &emitter, int which, bool isStored);

  /// True when `wide` neighbours, along the sum or along the rows or columns, are neighbours in the buffer, at a
  /// multiple of their size.
  bool isAligned(const WorkgroupProduct &emitter, int64_t wide, bool alongSum) const;

  mlir::Value tensor; // over `loops`
  llvm::SmallVector<unsigned> loops;
  /// Neighbours in memory are neighbours along a summed loop.
  bool isContiguousAlongSum = false;
  /// The buffer that the factor is, by the product's loops; null where its elements are computed.
  mlir::Value buffer;
  mlir::AffineMap bufferMap;
  /// Where the factor is the elements of the buffer under a convolution's windows, with the channels last: by spatial
  /// dimension.
  llvm::SmallVector<Window> windows;
  int64_t channelsOfGroup = 0;      // of a convolution with groups, else 0
  llvm::SmallVector<unsigned> dims; // of the result that the factor gives

private:
  void findWindows(const ProductShape &shape, const llvm::SetVector<mlir::Operation *> &producers);
};

} // namespace vx

#endif
