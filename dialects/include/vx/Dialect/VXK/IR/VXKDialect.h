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
/// I64 array attribute of a kernel with several results: the numbers of the buffers that may lie over one another,
/// which are results and the operands whose places they may have. Each element is read before any result's is written
/// there. With one result this needs no words: what is read flows into what is written.
inline constexpr llvm::StringLiteral kInPlaceAttr = "vxk.in_place";
/// Unit attribute of a kernel that does nothing once a kernel of the call has reported a fault: it has no workgroups
/// then.
inline constexpr llvm::StringLiteral kGuardedAttr = "vxk.guarded";
/// Unit attribute of one linalg op of a kernel: what its anchor became. Of an anchor that became several ops it is the
/// sum of products, or the last.
inline constexpr llvm::StringLiteral kAnchorAttr = "vxk.anchor";
/// Of a linalg op that is a convolution: a WindowAttr.
inline constexpr llvm::StringLiteral kWindowAttr = "vxk.window";
/// Unit attribute of a linalg op whose factors may be rounded to tf32.
inline constexpr llvm::StringLiteral kTF32Attr = "vxk.tf32";
/// Of a linalg op that undoes a packing: an UnpackingAttr.
inline constexpr llvm::StringLiteral kUnpackingAttr = "vxk.unpacking";
/// Of a linalg op that is a part of attention: an AttentionPartAttr.
inline constexpr llvm::StringLiteral kAttentionPartAttr = "vxk.attention_part";

/// The op of a kernel's function that its anchor became, or null.
mlir::Operation *getAnchor(mlir::Operation *kernel);

} // namespace vxk

#endif
