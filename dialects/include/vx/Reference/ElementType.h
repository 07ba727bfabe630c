// Element types on the host, and the conversion of their bits to numbers and back.
#ifndef VX_REFERENCE_ELEMENTTYPE_H
#define VX_REFERENCE_ELEMENTTYPE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace vx::reference {

/// Every element type except strings, which no evaluator of vx computes with. `I` is two's complement, `U` unsigned.
enum class ElementType : uint8_t {
  Bool,
  I2,
  I4,
  I8,
  I16,
  I32,
  I64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  F4E2M1FN
};

/// The bits of one element in storage: 8 for a bool (0 or 1), 2 and 4 for the packed types.
unsigned getStorageBits(ElementType type);
bool isFloat(ElementType type);
/// Returns true for a signed integer type (two's complement).
bool isSigned(ElementType type);

/// The spelling of IR text without the `u`'s "i": "f32", "u8", "bool", "f8E4M3FN".
llvm::StringRef getName(ElementType type);
/// Returns the type of a spelling, ignoring case; nullopt for an unknown one.
std::optional<ElementType> parseElementType(llvm::StringRef name);
/// Returns the type of a vx tensor's element; nullopt for strings and for types that vx does not have as elements.
std::optional<ElementType> getElementType(mlir::Type type);
mlir::Type getType(mlir::MLIRContext *context, ElementType type);

/// The value of the low `getStorageBits(type)` bits of `bits`, exactly: every float type but f64 is a subset of f64.
double decodeFloat(ElementType type, uint64_t bits);

/// Returns the nearest number of the type, ties to even. A value above the greatest finite number gives an infinity if
/// the type has one, else NaN, or in f4E2M1FN the greatest finite number of its sign. NaN gives NaN, and in f4E2M1FN
/// the greatest number. f8E8M0FNU has powers of two only: a tie rounds up, 0 gives the least power, and a negative
/// number NaN.
uint64_t encodeFloat(ElementType type, double value);

/// The least and the greatest number of the type, infinities included.
double getLowestFloat(ElementType type);
double getHighestFloat(ElementType type);
/// For integers and bools; the greatest u64 is returned as its bits.
int64_t getLowestInt(ElementType type);
int64_t getHighestInt(ElementType type);

/// Returns `value` wrapped to the integer type: its low bits, extended to 64 bits by the signedness of the type.
int64_t wrapInt(ElementType type, int64_t value);

} // namespace vx::reference

#endif
