// The vxk dialect: what a kernel sees of the outside.
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

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VXK/IR/VXKTypes.h.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXK/IR/VXKOps.h.inc"

namespace vxk {

/// Unit attribute of a function that is a kernel.
inline constexpr llvm::StringLiteral kKernelAttr = "vxk.kernel";
/// I64 attribute of a kernel: threads of one workgroup.
inline constexpr llvm::StringLiteral kThreadsAttr = "vxk.threads";
/// #vx.strategy attribute of a kernel.
inline constexpr llvm::StringLiteral kStrategyAttr = "vxk.strategy";
/// I64 array attribute of a kernel with several results: the numbers of the buffers that may lie over one another,
/// which are results and the operands whose places they may have. Each element is read before any result's is written
/// there. With one result this needs no words: what is read flows into what is written.
inline constexpr llvm::StringLiteral kInPlaceAttr = "vxk.in_place";
/// Unit attribute of a kernel that does nothing once a kernel of the call has reported a fault: it has no workgroups
/// then.
inline constexpr llvm::StringLiteral kGuardedAttr = "vxk.guarded";
/// Of a linalg op that is a convolution: its strides, dilations, pads_low, pads_high and groups, and channels_last.
inline constexpr llvm::StringLiteral kConvAttr = "vxk.conv";
/// Unit attribute of a linalg op whose factors may be rounded to tf32.
inline constexpr llvm::StringLiteral kTF32Attr = "vxk.tf32";
/// Of a linalg op that undoes a packing: the `dim` and `permutation` of its vx.unpack.
inline constexpr llvm::StringLiteral kUnpackAttr = "vxk.unpack";
/// Of a linalg op that is a part of attention: its name, "dots", "scores", "max", "sum", "values", "result" or
/// "log_sum_exp".
inline constexpr llvm::StringLiteral kAttentionAttr = "vxk.attention";

} // namespace vxk

#endif
