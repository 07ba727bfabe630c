// Lists of axes, and of values for axes, that are known at run time only: i64 tensors of rank 1. The program computes
// with them until their elements are read back as sizes.
#ifndef VX_FRONTEND_ONNX_RUNTIMELISTS_H
#define VX_FRONTEND_ONNX_RUNTIMELISTS_H

#include "NodeImporter.h"

namespace vx::onnx {

/// Returns the axes in `list` of a tensor of `rank` dimensions, counted from 0. An axis out of range, or one that is
/// named twice, fails the call; `name` is the list's name.
mlir::Value checkAxes(NodeImporter &n, mlir::Value list, int64_t rank, const llvm::Twine &name);
/// Returns a list of `count` elements. Element i is the sum of those `values` with i as their element of `places`.
mlir::Value placeInList(NodeImporter &n, mlir::Value values, mlir::Value places, int64_t count);
/// Returns for each of `rank` dimensions whether it is one of `axes`.
mlir::Value markAxes(NodeImporter &n, mlir::Value axes, int64_t rank);
/// Returns for each dimension in `axes` its element of `values`, and for each other dimension its element of `others`.
mlir::Value spreadOverAxes(NodeImporter &n, mlir::Value values, mlir::Value axes, mlir::Value others);
/// Returns the `count` elements of `list` that are not marked, in their order.
mlir::Value leaveOutMarked(NodeImporter &n, mlir::Value list, mlir::Value isMarked, int64_t count);
/// Returns a list with the elements of `list`, in their order, at the positions that are not marked, and `other` at the
/// marked ones.
mlir::Value fillUnmarked(NodeImporter &n, mlir::Value list, mlir::Value isMarked, int64_t other);

} // namespace vx::onnx

#endif
