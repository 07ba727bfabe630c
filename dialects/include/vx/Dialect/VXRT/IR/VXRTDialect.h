// The vxrt dialect: the host program of a model for one target.
#ifndef VX_DIALECT_VXRT_IR_VXRTDIALECT_H
#define VX_DIALECT_VXRT_IR_VXRTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "vx/Dialect/VXRT/IR/VXRTDialect.h.inc"
#include "vx/Dialect/VXRT/IR/VXRTEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VXRT/IR/VXRTTypes.h.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXRT/IR/VXRTOps.h.inc"

#endif
