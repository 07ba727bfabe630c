// What an import keeps of a model so that it can be written again.
#ifndef VX_FRONTEND_ONNX_ONNXSOURCE_H
#define VX_FRONTEND_ONNX_ONNXSOURCE_H

#include "TensorReader.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace vx {

class OnnxSource {
public:
  /// A constant as the import knows it.
  struct Value {
    std::string name; // as programs have it
    mlir::ElementsAttr elements;
  };

  OnnxSource(mlir::MLIRContext *context, std::shared_ptr<const onnx::ModelProto> model, llvm::StringRef folder)
      : context(context), model(std::move(model)), folder(folder) {}

  /// The elements that were read of a tensor, or of an attribute of floats; often more than once, where a loop or a
  /// function is looked through again.
  void record(const void *place, llvm::StringRef name, mlir::ElementsAttr elements);
  llvm::ArrayRef<Value> getValues(const void *place) const;

  mlir::MLIRContext *context;
  std::shared_ptr<const onnx::ModelProto> model;
  std::string folder;
  /// The module has variables that the model knows nothing of.
  bool isPart = false;
  /// The file, and what keeps it; null where the caller does.
  llvm::StringRef bytes;
  std::shared_ptr<const void> owner;
  llvm::MapVector<const void *, llvm::SmallVector<Value, 1>> values;
};

} // namespace vx

#endif
