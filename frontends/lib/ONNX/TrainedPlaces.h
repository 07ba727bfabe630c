// Which tensors of a model a training module has variables for.
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

/// The variable that a tensor of the model holds the beginning of.
struct Trained {
  llvm::StringRef variable;
  mlir::RankedTensorType type;

  uint64_t getSize() const { return static_cast<uint64_t>(type.getNumElements()) * type.getElementTypeBitWidth() / 8; }
};

/// The places of the parameters and statistics of a module, by what the import has recorded. Throws ImportError for
/// one that has none of its own.
class TrainedPlaces {
public:
  TrainedPlaces(const OnnxSource &source, mlir::ModuleOp module);

  /// Of a TensorProto, or an AttributeProto of floats; null for another one.
  const Trained *find(const void *place) const;

  /// Where tensors have other dimensions than in the model, those of its outputs, by name; else nothing. One that is no
  /// number is ShapedType::kDynamic.
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
