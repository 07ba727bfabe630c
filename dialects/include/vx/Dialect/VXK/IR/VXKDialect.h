// The vxk dialect: the interface of a kernel to its dispatch.
#ifndef VX_DIALECT_VXK_IR_VXKDIALECT_H
#define VX_DIALECT_VXK_IR_VXKDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "vx/Dialect/VXK/IR/VXKDialect.h.inc"
#include "vx/Dialect/VXK/IR/VXKEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "vx/Dialect/VXK/IR/VXKAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VXK/IR/VXKTypes.h.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXK/IR/VXKOps.h.inc"

namespace vxk {

/// Unit attribute of a function that is a kernel.
inline constexpr llvm::StringLiteral kKernelAttr = "vxk.kernel";
/// I64 attribute of a kernel: threads of one workgroup.
inline constexpr llvm::StringLiteral kThreadsAttr = "vxk.threads";
/// The strategy of a kernel, a vx attribute.
inline constexpr llvm::StringLiteral kStrategyAttr = "vxk.strategy";
/// I64 array attribute of a kernel with several results: the numbers of the buffers that may share memory: results, and
/// the operands with which they may share it. Each operand element is read before a result element is written there. A
/// kernel with one result needs no attribute, since data flow orders its reads before its write.
inline constexpr llvm::StringLiteral kInPlaceAttr = "vxk.in_place";
/// Unit attribute of a kernel that does nothing once a kernel of the call has reported a fault: it has no workgroups in
/// that case.
inline constexpr llvm::StringLiteral kGuardedAttr = "vxk.guarded";
/// Unit attribute of the linalg op that a kernel's anchor is lowered to. Of several ops it is the sum of products, or
/// the last one.
inline constexpr llvm::StringLiteral kAnchorAttr = "vxk.anchor";
/// WindowAttr of a linalg op that is a convolution.
inline constexpr llvm::StringLiteral kWindowAttr = "vxk.window";
/// Unit attribute of a linalg op whose factors may be rounded to tf32.
inline constexpr llvm::StringLiteral kTF32Attr = "vxk.tf32";
/// Of an `arith.muli` of 32 bits: both factors are values of at most 16 bits, which some targets multiply faster.
inline constexpr llvm::StringLiteral kFewBitsAttr = "vxk.few_bits";
/// UnpackingAttr of a linalg op that undoes a packing.
inline constexpr llvm::StringLiteral kUnpackingAttr = "vxk.unpacking";
/// Of a contraction: as vx.block_sums.
inline constexpr llvm::StringLiteral kBlockSumsAttr = "vxk.block_sums";
/// AttentionPartAttr of a linalg op that is a part of attention.
inline constexpr llvm::StringLiteral kAttentionPartAttr = "vxk.attention_part";

/// Returns the op that the anchor of a kernel's function is lowered to; null without one.
mlir::Operation *getAnchor(mlir::Operation *kernel);

} // namespace vxk

#endif
