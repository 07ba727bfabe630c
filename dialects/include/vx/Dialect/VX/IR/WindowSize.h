// Sizes of sliding windows, shared by convolution and windowed reduction, and where their channels are.
#ifndef VX_DIALECT_VX_IR_WINDOWSIZE_H
#define VX_DIALECT_VX_IR_WINDOWSIZE_H

#include "vx/Dialect/VX/IR/VXAttributes.h"

namespace vx {

/// A list attribute of a windowed op, for the messages, with the least value allowed.
struct WindowList {
  llvm::StringRef name;
  llvm::ArrayRef<int64_t> values;
  int64_t least;
};

/// Checks that each list has `count` entries, none below its least value.
llvm::LogicalResult checkWindow(std::optional<mlir::Location> location, llvm::StringRef op, size_t count,
                                llvm::ArrayRef<WindowList> lists);

/// floor((size + low + high - ((kernel - 1) * dilation + 1)) / stride) + 1: the number of places of a window of
/// `kernel` elements, 0 when the padded size is smaller than the window. Null when a size is unknown. Fails when the
/// padded size is known to be negative.
mlir::FailureOr<DimAttr> getWindowResultSize(std::optional<mlir::Location> location, llvm::StringRef op,
                                             size_t dimension, DimAttr size, DimAttr kernel, int64_t stride,
                                             int64_t dilation, int64_t low, int64_t high);

/// The order of dimensions that takes a tensor with its channels first to one that has them last: [0, 2, 3, 1] for rank
/// 4; and back: [0, 3, 1, 2].
llvm::SmallVector<int64_t> toChannelsLast(int64_t rank);
llvm::SmallVector<int64_t> toChannelsFirst(int64_t rank);

} // namespace vx

#endif
