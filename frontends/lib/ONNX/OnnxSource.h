// The data of a model that an import stores for its export.
#ifndef VX_FRONTEND_ONNX_ONNXSOURCE_H
#define VX_FRONTEND_ONNX_ONNXSOURCE_H

#include "TensorReader.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace vx {

class OnnxSource {
public:
  /// A constant of the import.
  struct Value {
    std::string name; // its name in programs
    mlir::ElementsAttr elements;
  };

  OnnxSource(mlir::MLIRContext *context, std::shared_ptr<const onnx::ModelProto> model, llvm::StringRef folder)
      : context(context), model(std::move(model)), folder(folder) {}

  /// Records the elements that were read from a tensor or an attribute of floats. This may happen more than once, for
  /// repeated passes over a loop or a function.
  void record(const void *place, llvm::StringRef name, mlir::ElementsAttr elements);
  llvm::ArrayRef<Value> getValues(const void *place) const;

  mlir::MLIRContext *context;
  std::shared_ptr<const onnx::ModelProto> model;
  std::string folder;
  /// The module has variables that are not in the model.
  bool isPart = false;
  /// The bytes of the file, and their owner; null if the caller owns them.
  llvm::StringRef bytes;
  std::shared_ptr<const void> owner;
  llvm::MapVector<const void *, llvm::SmallVector<Value, 1>> values;
};

} // namespace vx

#endif
