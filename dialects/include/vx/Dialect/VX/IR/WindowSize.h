// Sizes of sliding windows, for convolution and windowed reduction, and the position of the channels.
#ifndef VX_DIALECT_VX_IR_WINDOWSIZE_H
#define VX_DIALECT_VX_IR_WINDOWSIZE_H

#include "vx/Dialect/VX/IR/VXAttributes.h"

namespace vx {

/// A list attribute of a windowed op, with its name for messages and the least allowed value.
struct WindowList {
  llvm::StringRef name;
  llvm::ArrayRef<int64_t> values;
  int64_t least;
};

/// Checks that each list has `count` entries, none below its least value.
llvm::LogicalResult checkWindow(std::optional<mlir::Location> location, llvm::StringRef op, size_t count,
                                llvm::ArrayRef<WindowList> lists);

/// floor((size + low + high - ((kernel - 1) * dilation + 1)) / stride) + 1: the number of positions of a window of
/// `kernel` elements, 0 if the padded size is smaller than the window. Null if a size is unknown. Fails if the padded
/// size is known to be negative.
mlir::FailureOr<DimAttr> getWindowResultSize(std::optional<mlir::Location> location, llvm::StringRef op,
                                             size_t dimension, DimAttr size, DimAttr kernel, int64_t stride,
                                             int64_t dilation, int64_t low, int64_t high);

/// Returns the permutation that moves the channels from dimension 1 to the end, [0, 2, 3, 1] for rank 4, and the
/// inverse one, [0, 3, 1, 2].
llvm::SmallVector<int64_t> toChannelsLast(int64_t rank);
llvm::SmallVector<int64_t> toChannelsFirst(int64_t rank);

} // namespace vx

#endif
