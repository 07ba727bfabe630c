// The last steps of models of ai.onnx.ml: transforms of scores, and labels of classes.
#ifndef VX_FRONTEND_ONNX_SCORES_H
#define VX_FRONTEND_ONNX_SCORES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// The attribute post_transform, with TreeEnsemble's numbers.
enum class ScoreTransform { none, softmax, logistic, softmax_zero, probit };

/// Reads the transform of a node; none by default.
ScoreTransform readTransform(NodeImporter &n);
/// Transforms floats [rows, scores], each row by itself.
mlir::Value transformScores(NodeImporter &n, mlir::Value scores, ScoreTransform how);
/// Returns the scores [rows, 2] of both classes from the score of the second class. The first class has 1 minus a
/// share, or the negated score. Two shares get no softmax, as in ONNX Runtime.
mlir::Value scoreBothClasses(NodeImporter &n, mlir::Value score, bool isShare, ScoreTransform how);

/// Rows of features: a list is one row.
mlir::Value getRows(NodeImporter &n);
/// The rows as floats: f64 is unchanged, all other types become f32.
mlir::Value getFloatRows(NodeImporter &n);

/// Reads the labels in `classlabels_strings`, or in the attribute of integers with this name. Throws if neither or both
/// are given.
mlir::DenseElementsAttr readClassLabels(NodeImporter &n, llvm::StringRef integers);
/// Returns the labels at these indices, which are in range.
mlir::Value takeLabels(NodeImporter &n, mlir::DenseElementsAttr labels, mlir::Value places);
/// Returns the second of two labels where `isSecond`, [rows], is true, and the first elsewhere. If there is one label
/// only, the two are the integers 1 and 0.
mlir::Value chooseLabel(NodeImporter &n, mlir::DenseElementsAttr labels, mlir::Value isSecond);
/// Returns the label of the first greatest score of each row.
mlir::Value labelGreatest(NodeImporter &n, mlir::DenseElementsAttr labels, mlir::Value scores);

/// A constant of f32. `shape` has as many elements as `values`.
mlir::Value emitFloats(NodeImporter &n, llvm::ArrayRef<float> values, llvm::ArrayRef<int64_t> shape);

} // namespace vx::onnx

#endif
