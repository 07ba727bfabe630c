// Reads the elements of ONNX tensors, inside of the model file or in external data files.
#ifndef VX_FRONTEND_ONNX_TENSORREADER_H
#define VX_FRONTEND_ONNX_TENSORREADER_H

#include "mlir/IR/BuiltinAttributes.h"
#include "onnx_wire.pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace vx::onnx {

/// Returns the element type with this number in TensorProto.DataType. Throws if vx does not have the type, or if the
/// number is unknown; `what` names the tensor in the message.
mlir::Type getElementType(mlir::MLIRContext *context, int32_t dataType, const llvm::Twine &what);
/// The newest element type.
constexpr int32_t newestDataType = TensorProto::FLOAT6E3M2;
/// Returns true for floats of 6 bits, which vx tensors do not have. A constant of them is read as f8E4M3FN, which has
/// all their values.
constexpr bool hasSixBits(int32_t dataType) {
  return dataType == TensorProto::FLOAT6E2M3 || dataType == TensorProto::FLOAT6E3M2;
}
/// Throws for a value of such a type; `what` names the value.
[[noreturn]] void refuseSixBits(int32_t dataType, const llvm::Twine &what);
/// The inverse of getElementType, for types that tensors of a model have.
int32_t getDataType(mlir::Type elementType);
/// Returns the name of an element type in the specification, e.g. "float16".
llvm::StringRef getDataTypeName(int32_t dataType);

class TensorReader {
public:
  /// `owner` owns the protobuf messages that are passed to `read`, since resources refer to their bytes. `folder` is
  /// the model's folder; if it is empty, external data is refused.
  TensorReader(mlir::MLIRContext *context, std::shared_ptr<const void> owner, llvm::StringRef folder,
               int64_t maxInlineElements)
      : context(context), owner(std::move(owner)), folder(folder), maxInlineElements(maxInlineElements) {}

  /// Reads the elements of `tensor`; `name` is its name in messages and that of its resource. Throws ImportError.
  mlir::ElementsAttr read(const TensorProto &tensor, llvm::StringRef name);
  /// The same for elements that the importer itself reads, with any number of elements.
  mlir::DenseElementsAttr readInline(const TensorProto &tensor, llvm::StringRef name);

  struct Bytes {
    llvm::ArrayRef<char> data;
    std::shared_ptr<const void> owner;
  };
  /// Returns the unchanged bytes of a tensor with external data. Throws ImportError.
  Bytes readExternal(const TensorProto &tensor, llvm::StringRef name);

private:
  mlir::RankedTensorType readType(const TensorProto &tensor, llvm::StringRef name);
  mlir::RankedTensorType readShape(const TensorProto &tensor, llvm::StringRef name, mlir::Type elementType);
  Bytes readBytes(const TensorProto &tensor, llvm::StringRef name, mlir::Type elementType, int64_t count);
  mlir::ElementsAttr readSixBits(const TensorProto &tensor, llvm::StringRef name);
  Bytes readExternal(const TensorProto &tensor, llvm::StringRef name, uint64_t want);
  Bytes readTyped(const TensorProto &tensor, llvm::StringRef name, mlir::Type elementType, int64_t count);
  std::shared_ptr<llvm::MemoryBuffer> open(llvm::StringRef location, llvm::StringRef name);

  mlir::MLIRContext *context;
  std::shared_ptr<const void> owner;
  std::string folder;
  int64_t maxInlineElements;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
};

} // namespace vx::onnx

#endif
