// A tensor in host memory, for the reference evaluator, constant folding and tests.
#ifndef VX_REFERENCE_HOSTTENSOR_H
#define VX_REFERENCE_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "vx/Reference/ElementType.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace vx::reference {

/// A dense row-major tensor. Copies are cheap: they share the bytes until one of them is written.
///
/// Storage is that of the module file: a bool is one byte, 0 or 1; 4- and 2-bit elements are packed, low bits first,
/// and the unused bits of the last byte are 0; all else is little-endian. Thread-compatible.
class HostTensor {
public:
  /// A bool scalar, false.
  HostTensor() : HostTensor(ElementType::Bool, {}) {}
  /// Zeros. `shape` has no negative size.
  HostTensor(ElementType type, llvm::ArrayRef<int64_t> shape);

  static HostTensor scalar(int64_t value);
  static HostTensor scalar(bool value);

  ElementType getElementType() const { return elementType; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const { return numElements; }
  /// "f32[2,3]"
  std::string describe() const;

  llvm::ArrayRef<uint8_t> getBytes() const { return *bytes; }
  llvm::MutableArrayRef<uint8_t> getMutableBytes();

  /// The element with this row-major number, as raw bits in the low end of a word.
  uint64_t getBits(int64_t index) const;
  void setBits(int64_t index, uint64_t bits);

  /// Any element as f64: exact for floats; integers of more than 53 bits are rounded to odd, so that one more rounding
  /// to a float type that is narrower than f64 is right.
  double getFloat(int64_t index) const;
  /// For integers and bools; a u64 above the signed range is returned as its bits.
  int64_t getInt(int64_t index) const;
  /// Rounds once, as `encodeFloat` does. For float types only.
  void setFloat(int64_t index, double value);
  /// Stores the low bits; for a bool, whether `value` is not 0. For integers and bools only.
  void setInt(int64_t index, int64_t value);

  /// Returns the same elements with another shape of as many elements.
  HostTensor reshaped(llvm::ArrayRef<int64_t> newShape) const;

  bool operator==(const HostTensor &other) const {
    return elementType == other.elementType && shape == other.shape && *bytes == *other.bytes;
  }

private:
  ElementType elementType;
  llvm::SmallVector<int64_t> shape;
  int64_t numElements = 1;
  std::shared_ptr<std::vector<uint8_t>> bytes;
};

/// A value of a program: a tensor, a sequence of tensors, or an optional sequence. An optional tensor is a sequence of
/// at most one.
using HostSequence = std::vector<HostTensor>;
using HostOptionalSequence = std::optional<HostSequence>;
using HostValue = std::variant<HostTensor, HostSequence, HostOptionalSequence>;

/// Fails for a constant without a readable value: one of strings, one that is neither inline nor a resource, a resource
/// without its blob, and one with a blob of another size.
llvm::Error checkConstant(mlir::ElementsAttr attribute);

/// Returns the value of a constant, inline or resource. The blob of a resource has the storage of HostTensor. Fails as
/// `checkConstant` does.
llvm::Expected<HostTensor> getHostTensor(mlir::ElementsAttr attribute);

/// Returns `tensor` as an inline constant of static type `type`, which has the tensor's shape.
mlir::ElementsAttr getElementsAttr(mlir::RankedTensorType type, const HostTensor &tensor);

/// Returns `tensor` as a resource of that type. Its name is `name` and a hash of its bytes, so that equal tensors of a
/// context share one resource. Thread-safe.
mlir::ElementsAttr getResourceAttr(mlir::RankedTensorType type, const HostTensor &tensor, llvm::StringRef name);

} // namespace vx::reference

#endif
