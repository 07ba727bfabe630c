// Facts about a kernel: results in the memory of operands, the visited tensor, the ranges of its symbols.
#ifndef VX_DIALECT_VX_IR_KERNELFACTS_H
#define VX_DIALECT_VX_IR_KERNELFACTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// An operand and a result of a kernel, by number, with a one-to-one relation of their elements. Each operand element
/// is read before the result element is written, so both may use the same memory.
struct InPlacePair {
  int64_t operand = 0;
  int64_t result = 0;

  bool operator==(const InPlacePair &) const = default;
};

/// Returns the pairs of the attribute `vx.in_place` of a kernel (operand, result, operand, result, ...); none without
/// it.
llvm::SmallVector<InPlacePair> getInPlacePairs(KernelOp kernel);

void setInPlacePairs(KernelOp kernel, llvm::ArrayRef<InPlacePair> pairs);

/// Array attribute of a kernel: min, max and multiple of each of its symbols, in order. Absent if none is known.
inline constexpr llvm::StringLiteral kSymbolRangesAttr = "vx.symbol_ranges";

/// Unit attribute of a kernel and of its dispatches: it does nothing after a kernel of the call has reported a fault.
/// So it may write a variable before the host knows of the fault.
inline constexpr llvm::StringLiteral kGuardedAttr = "vx.guarded";

/// Returns the op that makes a result of a kernel's or a fusion's body if it replaces elements of an operand; null
/// otherwise.
UpdateOpInterface getUpdate(mlir::Block &body, int64_t result);

/// Returns the number of the operand that a result of the kernel equals except for the elements that an
/// `UpdateOpInterface` replaces. The kernel writes these into the operand's memory. Returns nullopt for a result that
/// is written completely.
std::optional<int64_t> getUpdatedOperand(KernelOp kernel, int64_t result);

/// Returns true if the owner of `use` updates this operand: it names the kernel's operand and does not read its
/// elements.
bool isUpdated(mlir::OpOperand &use);

/// Returns true for elements that share bytes of memory, the first one in the low bits: integers of 4 and 2 bits,
/// f4E2M1FN.
bool isPacked(mlir::Type element);

/// Returns true for elements that kernels only move and convert: packed ones, and floats of 8 bits.
bool isNarrow(mlir::Type element);

/// Returns the type in which kernels compute with narrow elements. It represents all of their values: f32, or an
/// integer of 8 bits.
mlir::Type getWideType(mlir::Type narrow);

/// Returns the type of a tensor in memory. For packed elements this is a tensor of bytes.
mlir::RankedTensorType getStoredForm(mlir::RankedTensorType type);

/// Returns the tensor type that a kernel's or a fusion's body iterates over: the first result in its stored form, or
/// the updates of it.
mlir::RankedTensorType getVisitedType(mlir::Block &body);

} // namespace vx

#endif
