// Reads the elements of ONNX tensors, inside of the model file or in external data files.
#ifndef VX_FRONTEND_ONNX_TENSORREADER_H
#define VX_FRONTEND_ONNX_TENSORREADER_H

#include "mlir/IR/BuiltinAttributes.h"
#include "onnx_wire.pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace vx::onnx {

/// The element type with this number in TensorProto.DataType. Throws when vx has no such type, or none such exists;
/// `what` names the tensor in the message.
mlir::Type getElementType(mlir::MLIRContext *context, int32_t dataType, const llvm::Twine &what);
/// The newest element type.
constexpr int32_t newestDataType = TensorProto::FLOAT6E3M2;
/// True for the floats of 6 bits, of which vx has no tensors. A constant of them is read as f8E4M3FN, which has all
/// their numbers.
constexpr bool hasSixBits(int32_t dataType) {
  return dataType == TensorProto::FLOAT6E2M3 || dataType == TensorProto::FLOAT6E3M2;
}
/// Throws for a value of such a type, which `what` names.
[[noreturn]] void refuseSixBits(int32_t dataType, const llvm::Twine &what);
/// The inverse, of a type that tensors of a model have.
int32_t getDataType(mlir::Type elementType);
/// The name of an element type in the specification, e.g. "float16".
llvm::StringRef getDataTypeName(int32_t dataType);

class TensorReader {
public:
  /// `owner` keeps the protobuf messages alive that `read` is given: resources refer to their bytes. `folder` is the
  /// model's, empty when external data is refused.
  TensorReader(mlir::MLIRContext *context, std::shared_ptr<const void> owner, llvm::StringRef folder,
               int64_t maxInlineElements)
      : context(context), owner(std::move(owner)), folder(folder), maxInlineElements(maxInlineElements) {}

  /// The elements of `tensor`; `name` names it in messages and names its resource. Throws ImportError.
  mlir::ElementsAttr read(const TensorProto &tensor, llvm::StringRef name);
  /// The same for elements that the importer looks at, of any number.
  mlir::DenseElementsAttr readInline(const TensorProto &tensor, llvm::StringRef name);

  struct Bytes {
    llvm::ArrayRef<char> data;
    std::shared_ptr<const void> owner;
  };
  /// The bytes of a tensor whose elements are in a file of their own, as they are there. Throws ImportError.
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
