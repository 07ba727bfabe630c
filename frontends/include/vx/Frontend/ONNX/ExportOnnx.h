// Makes the export skeleton of an imported model, which an export with other weights completes.
#ifndef VX_FRONTEND_ONNX_EXPORTONNX_H
#define VX_FRONTEND_ONNX_EXPORTONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "vx/Dialect/VX/IR/ExportSkeleton.h"

#include <optional>
#include <string>

namespace vx {

/// The source of an imported model; stored if ImportOptions::keepSource is set.
class OnnxSource;

struct ExportOptions {
  /// A model with more bytes than this has its tensors in a second file: a reader of protobuf accepts 2 GiB.
  uint64_t largestModel = 1800000000;
  /// Only tensors of at least so many bytes go to the second file.
  uint64_t leastWeights = 1024;
};

/// Returns the model with a gap for each variable of `module` that is a parameter or a statistic and has the name of an
/// initializer or a Constant node. External data is in the model; all else is unchanged. The skeleton refers to the
/// file and its external data, which must not change while it is used. Returns nullopt, with the reason in `error`, if
/// a variable has no tensor of its own or external data cannot be read.
std::optional<ExportSkeleton> makeExportSkeleton(const OnnxSource &source, mlir::ModuleOp module,
                                                 const ExportOptions &options, std::string &error);

} // namespace vx

#endif
