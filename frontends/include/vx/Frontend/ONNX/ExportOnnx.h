// From a model that was imported to what an export with other weights completes.
#ifndef VX_FRONTEND_ONNX_EXPORTONNX_H
#define VX_FRONTEND_ONNX_EXPORTONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "vx/Dialect/VX/IR/ExportSkeleton.h"

#include <optional>
#include <string>

namespace vx {

/// A model as it was imported, which ImportOptions::keepSource asks for.
class OnnxSource;

struct ExportOptions {
  /// Tensors go to a file beside the model where it would have more bytes than this: a reader of protobuf takes 2 GiB.
  uint64_t largestModel = 1800000000;
  /// Those of at least so many bytes do.
  uint64_t leastWeights = 1024;
};

/// The model with a place for each variable of `module` that is a parameter or a statistic and has the name of an
/// initializer or a Constant node; all else as it is, but that what lay in files of external data is in the model.
/// Refers to the file and its external data, which must stay as they are while the skeleton is used. Nothing, with the
/// reason in `error`, where a variable has no place of its own or external data cannot be read.
std::optional<ExportSkeleton> makeExportSkeleton(const OnnxSource &source, mlir::ModuleOp module,
                                                 const ExportOptions &options, std::string &error);

} // namespace vx

#endif
