// Lists of axes, and of what belongs to them, that only the data of a call knows: i64 tensors of rank 1, which the
// program computes with until their elements are read back as sizes.
#ifndef VX_FRONTEND_ONNX_RUNTIMELISTS_H
#define VX_FRONTEND_ONNX_RUNTIMELISTS_H

#include "NodeImporter.h"

namespace vx::onnx {

/// The axes of a tensor of `rank` dimensions in `list`, counted from 0. One out of range and one that is named twice
/// fail the call; `name` is the list's.
mlir::Value checkAxes(NodeImporter &n, mlir::Value list, int64_t rank, const llvm::Twine &name);
/// A list of `count`: at each place the sum of those `values` whose place in `places` it is.
mlir::Value placeInList(NodeImporter &n, mlir::Value values, mlir::Value places, int64_t count);
/// For each of `rank` dimensions whether it is one of `axes`.
mlir::Value markAxes(NodeImporter &n, mlir::Value axes, int64_t rank);
/// For each dimension its one of `values`, which belong to `axes`; for the dimensions that are none its one of
/// `others`.
mlir::Value spreadOverAxes(NodeImporter &n, mlir::Value values, mlir::Value axes, mlir::Value others);
/// The elements of `list` that are not marked, in their order; there are `count`.
mlir::Value leaveOutMarked(NodeImporter &n, mlir::Value list, mlir::Value isMarked, int64_t count);
/// At the places that are not marked the elements of `list`, in their order, and `other` at the others.
mlir::Value fillUnmarked(NodeImporter &n, mlir::Value list, mlir::Value isMarked, int64_t other);

} // namespace vx::onnx

#endif
