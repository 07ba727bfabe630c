// What is known of a kernel: which results lie where an operand lies, what it visits, what its symbols may be.
#ifndef VX_DIALECT_VX_IR_KERNELFACTS_H
#define VX_DIALECT_VX_IR_KERNELFACTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// An operand of a kernel, by number, whose elements meet those of a result one to one: each is read before the
/// result's is written, so that both may have the same memory.
struct InPlacePair {
  int64_t operand = 0;
  int64_t result = 0;

  bool operator==(const InPlacePair &) const = default;
};

/// What the attribute `vx.in_place` of a kernel says: operand, result, operand, result, ...; none without it.
llvm::SmallVector<InPlacePair> getInPlacePairs(KernelOp kernel);

void setInPlacePairs(KernelOp kernel, llvm::ArrayRef<InPlacePair> pairs);

/// Array attribute of a kernel: min, max and multiple of each of its symbols, in order. Absent where none is known.
inline constexpr llvm::StringLiteral kSymbolRangesAttr = "vx.symbol_ranges";

/// Unit attribute of a kernel and of its dispatches: it does nothing once a kernel of the call has reported a fault. So
/// it may write a variable before the host knows whether there was one.
inline constexpr llvm::StringLiteral kGuardedAttr = "vx.guarded";

/// The op that makes a result of a kernel's or a fusion's body, where it replaces elements of an operand; else null.
UpdateOpInterface getUpdate(mlir::Block &body, int64_t result);

/// The number of the operand that a result of the kernel is, but for the elements that an `UpdateOpInterface` replaces:
/// the kernel writes over memory that holds it. Nothing for a result that is written whole.
std::optional<int64_t> getUpdatedOperand(KernelOp kernel, int64_t result);

/// Whether an op reads `use` as what it updates: the kernel's operand, and not its elements.
bool isUpdated(mlir::OpOperand &use);

/// True for elements that share bytes of memory, the first one in the low bits: integers of 4 and 2 bits, f4E2M1FN.
bool isPacked(mlir::Type element);

/// True for elements that kernels only move and convert: packed ones, and floats of 8 bits.
bool isNarrow(mlir::Type element);

/// The type in which kernels compute with narrow elements, which holds all of their numbers: f32, or an integer of 8
/// bits.
mlir::Type getWideType(mlir::Type narrow);

/// A tensor as it lies in memory: of packed elements the bytes, which are the elements of another tensor then.
mlir::RankedTensorType getStoredForm(mlir::RankedTensorType type);

/// The tensor whose elements a kernel's or a fusion's body visits: the first result in its stored form, or the updates
/// of it.
mlir::RankedTensorType getVisitedType(mlir::Block &body);

} // namespace vx

#endif
