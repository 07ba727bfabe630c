// The interface for functions that import one node: the node's inputs, attributes and outputs, and checked creation of
// vx ops. On failure each function here, also an inherited one of GraphBuilder, throws an ImportError with the expected
// and the given value.
#ifndef VX_FRONTEND_ONNX_NODEIMPORTER_H
#define VX_FRONTEND_ONNX_NODEIMPORTER_H

#include "ModelImporter.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx::onnx {

class NodeImporter : public GraphBuilder {
public:
  NodeImporter(ModelImporter &model, const NodeProto &proto, int64_t version, mlir::Location location,
               llvm::StringRef label)
      : GraphBuilder(model.builder, location), model(model), proto(proto), version(version), label(label) {}

  ModelImporter &model;
  const NodeProto &proto;
  /// The version of the node's domain that the model imports.
  const int64_t version;
  const llvm::StringRef label;

  // Inputs.
  unsigned getNumInputs() const { return proto.input_size(); }
  bool hasInput(unsigned index) const;
  Entry &getEntry(unsigned index);
  mlir::Value getInput(unsigned index);
  /// Returns the input for an op that broadcasts it. It may have two possible ranks (Entry::leastRank).
  mlir::Value getBroadcastInput(unsigned index);
  /// Returns the input as a tensor; throws for a sequence.
  mlir::Value getTensor(unsigned index);
  mlir::RankedTensorType getTensorType(unsigned index);
  mlir::Type getElementType(unsigned index);
  Dims getDims(unsigned index) { return vx::getDims(getTensorType(index)); }
  /// Throws for another shape. Sizes that are known at run time only are checked by the call.
  void requireShape(unsigned index, llvm::ArrayRef<DimAttr> dims);
  /// Returns the elements of an integer input, if they are known as expressions.
  std::optional<Dims> getContents(unsigned index) { return getContents(getEntry(index)); }
  static std::optional<Dims> getContents(Entry &entry);
  /// Returns the elements of a 1-D (or scalar) integer input as expressions; data is read back and bound to new
  /// symbols. With `count`, a list with a length that is known at run time only must have as many elements; without it,
  /// such a list is refused.
  Dims getIntegers(unsigned index, std::optional<int64_t> count = std::nullopt);
  /// Returns the one element of an integer input of rank 0 or 1. A length that is known at run time only is checked by
  /// the call.
  DimAttr getInteger(unsigned index);
  /// Refuses an input that cannot be a single number; `what` names it. A length that is known at run time only is
  /// checked by a reshape to rank 0.
  void checkIsSingle(unsigned index, llvm::StringRef what);
  /// Returns the same list as an i64 tensor of rank 1, for elements that are known at run time only.
  mlir::Value getRunTimeIntegers(unsigned index, std::optional<int64_t> count = std::nullopt);
  /// The same, of any length that is known at run time only.
  mlir::Value getRunTimeList(unsigned index);
  /// Returns the same elements if they are constants, also of an empty list.
  std::optional<llvm::SmallVector<int64_t>> getConstantIntegers(unsigned index);
  /// Returns the elements of a constant input as numbers; nullopt if it is not a constant of at most `maxContents`
  /// elements.
  std::optional<llvm::SmallVector<double>> getConstantNumbers(unsigned index);

  // Attributes. A default makes an attribute optional.
  const AttributeProto *findAttribute(llvm::StringRef name, AttributeProto::AttributeType type) const;
  bool hasAttribute(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, std::optional<int64_t> otherwise = std::nullopt) const;
  bool getFlag(llvm::StringRef name, bool otherwise) const { return getInt(name, otherwise) != 0; }
  float getFloat(llvm::StringRef name, std::optional<float> otherwise = std::nullopt) const;
  std::string getString(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name) const;
  /// Empty if there is none.
  llvm::SmallVector<float> getFloats(llvm::StringRef name) const;
  llvm::SmallVector<llvm::StringRef> getStrings(llvm::StringRef name) const;
  /// Returns the elements of a tensor attribute; nullopt if there is none.
  std::optional<mlir::DenseElementsAttr> getTensorAttribute(llvm::StringRef name) const;
  const GraphProto &getGraph(llvm::StringRef name) const;
  /// Returns an axis from attribute `name`, counted from the end if negative.
  int64_t getAxis(llvm::StringRef name, std::optional<int64_t> otherwise, int64_t rank) const;
  int64_t normalizeAxis(int64_t axis, int64_t rank, llvm::StringRef what) const;
  /// The same for a list; throws if an axis is named twice. The result is sorted.
  llvm::SmallVector<int64_t> normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank, llvm::StringRef what) const;

  // Outputs.
  bool wantsOutput(unsigned index) const;
  void setOutput(unsigned index, mlir::Value value);
  /// Sets output 0 to a value that all inputs were broadcast to. It has two possible ranks if an input has.
  void setBroadcastOutput(mlir::Value value);
  void setContents(unsigned index, Dims contents, mlir::RankedTensorType type);
  void setConstant(unsigned index, mlir::ElementsAttr constant);
  void setEntry(unsigned index, Entry entry);
  /// Throws if the node uses an output from `index` on; `what` names these outputs.
  void refuseOutputs(unsigned index, llvm::StringRef what) const;

  // Creation of ops, in addition to GraphBuilder's.
  /// Reads an integer scalar back and binds it to a new symbol. A value below `min` fails the call.
  DimAttr bindSymbol(mlir::Value scalar, const llvm::Twine &name, int64_t min = 0);
  /// The same for each element of a list of static length.
  Dims bindElements(mlir::Value list, const llvm::Twine &name, int64_t min = 0);
  /// An i64 tensor of rank 1 with these elements.
  mlir::Value emitList(llvm::ArrayRef<DimAttr> values);

private:
  void refuse(Refusal kind, const llvm::Twine &message) override;
  void refuseDiagnosed() override;
  bool checkSizes(llvm::ArrayRef<DimAttr> dims) override;
};

/// Throws for a sequence.
mlir::RankedTensorType typeOf(mlir::Value value);
inline mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
std::string describe(mlir::Type type);

} // namespace vx::onnx

#endif
