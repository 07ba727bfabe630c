// What the models of ai.onnx.ml end in: scores that are transformed, and the labels of classes.
#ifndef VX_FRONTEND_ONNX_SCORES_H
#define VX_FRONTEND_ONNX_SCORES_H

#include "NodeImporter.h"

namespace vx::onnx {

/// The attribute post_transform, as TreeEnsemble numbers it.
enum class ScoreTransform { none, softmax, logistic, softmax_zero, probit };

/// The transform that the node names; none where it names none.
ScoreTransform readTransform(NodeImporter &n);
/// Floats of [rows, scores], each row for itself.
mlir::Value transformScores(NodeImporter &n, mlir::Value scores, ScoreTransform how);
/// [rows, 2] of one score each, that of the second class: the first class has what is left to 1 of a share, and else
/// the same with the other sign. Of two such scores ONNX Runtime makes no softmax, which are shares already.
mlir::Value scoreBothClasses(NodeImporter &n, mlir::Value score, bool isShare, ScoreTransform how);

/// Rows of features: a list is one row.
mlir::Value getRows(NodeImporter &n);
/// The rows as floats: f64 stays, all else is f32.
mlir::Value getFloatRows(NodeImporter &n);

/// The labels in `classlabels_strings`, or in the attribute of integers with this name. Throws for none, or both.
mlir::DenseElementsAttr readClassLabels(NodeImporter &n, llvm::StringRef integers);
/// The labels at these places, which are in range.
mlir::Value takeLabels(NodeImporter &n, mlir::DenseElementsAttr labels, mlir::Value places);
/// The second of two labels where `isSecond`, [rows], is true. Of one label the integers 1 and 0 are the two.
mlir::Value chooseLabel(NodeImporter &n, mlir::DenseElementsAttr labels, mlir::Value isSecond);
/// The label of the first greatest score of each row.
mlir::Value labelGreatest(NodeImporter &n, mlir::DenseElementsAttr labels, mlir::Value scores);

/// A constant of f32s. `shape` has as many elements as `values`.
mlir::Value emitFloats(NodeImporter &n, llvm::ArrayRef<float> values, llvm::ArrayRef<int64_t> shape);

} // namespace vx::onnx

#endif
