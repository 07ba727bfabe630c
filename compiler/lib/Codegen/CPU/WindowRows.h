// Rows of a convolution's windows that lie together in memory.
#ifndef VX_CODEGEN_CPU_WINDOWROWS_H
#define VX_CODEGEN_CPU_WINDOWROWS_H

#include "Common/ElementEvaluator.h"
#include "MatchProduct.h"

namespace vx {

/// A convolution over channels that are innermost: what a window reads along the last spatial dimension, all channels
/// of `taps` positions, are neighbours in memory.
struct WindowRows {
  mlir::Value buffer; // the input as it lies in memory
  vxk::WindowAttr window;
  int64_t taps, channels;

  int64_t getLength() const { return taps * channels; }

  struct Row {
    mlir::Value isInside; // all of it lies inside of the input
    mlir::Value first;    // its first element, counted in row-major order
  };
  /// The row of the window at an iteration of the sum, whose iteration of the last spatial dimension is any.
  Row getRow(mlir::OpBuilder &builder, mlir::Location loc, ElementEvaluator &evaluator,
             llvm::ArrayRef<LaneIndex> at) const;
};

/// The rows of the factor A of `product`, when its elements are those of the input and a row takes fewer vectors of
/// `lanes` elements than its positions do.
std::optional<WindowRows> matchWindowRows(const Product &product, int64_t lanes);

} // namespace vx

#endif
