// The tensors of a model that a training module has variables for.
#ifndef VX_FRONTEND_ONNX_TRAINEDPLACES_H
#define VX_FRONTEND_ONNX_TRAINEDPLACES_H

#include "OnnxSource.h"
#include "mlir/IR/BuiltinOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

#include <optional>

namespace vx::onnx {

/// The variable that starts with a tensor of the model.
struct Trained {
  llvm::StringRef variable;
  mlir::RankedTensorType type;

  uint64_t getSize() const { return static_cast<uint64_t>(type.getNumElements()) * type.getElementTypeBitWidth() / 8; }
};

/// The tensors of the parameters and statistics of a module, as the import has recorded them. Throws ImportError for a
/// variable without a tensor of its own.
class TrainedPlaces {
public:
  TrainedPlaces(const OnnxSource &source, mlir::ModuleOp module);

  /// Returns the variable of a TensorProto or an AttributeProto of floats; null if it has none.
  const Trained *find(const void *place) const;

  /// If tensors have other dimensions than in the model: the dimensions of its outputs, by name. Otherwise nullopt. A
  /// dimension that is not a number is ShapedType::kDynamic.
  using OutputSizes = llvm::StringMap<llvm::SmallVector<int64_t>>;
  const std::optional<OutputSizes> &getOutputSizes() const { return outputs; }

private:
  void add(VariableOp variable);
  void checkSizes() const;
  void readOutputs(mlir::ModuleOp module);

  const OnnxSource &source;
  llvm::StringMap<llvm::SetVector<const void *>> byName;
  llvm::DenseMap<const void *, Trained> places;
  llvm::SmallSet<int64_t, 4> changedSizes; // of the model
  std::optional<OutputSizes> outputs;
};

} // namespace vx::onnx

#endif
