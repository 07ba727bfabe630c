// The vx dialect: types, attributes and ops.
#ifndef VX_DIALECT_VX_IR_VXDIALECT_H
#define VX_DIALECT_VX_IR_VXDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "vx/Dialect/VX/IR/VXAttributes.h"

#include "vx/Dialect/VX/IR/VXDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VX/IR/VXTypes.h.inc"

namespace vx {

/// True when each pair of types differs at most in dimensions that may be equal.
bool areCompatibleTypes(mlir::TypeRange lhs, mlir::TypeRange rhs);
bool areCompatibleTypes(mlir::Type lhs, mlir::Type rhs);

/// The result of an elementwise op: the operands' common shape, each dimension as well known as any operand knows it,
/// with `elementType` or, when that is null, the first operand's. Fails when two shapes cannot be equal.
llvm::LogicalResult inferElementwise(std::optional<mlir::Location> location, mlir::ValueRange operands,
                                     mlir::Type elementType, llvm::SmallVectorImpl<mlir::Type> &types);

namespace OpTrait {
/// See VX_Elementwise: checks the shapes.
llvm::LogicalResult verifyElementwise(mlir::Operation *op);

template <typename ConcreteType>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyElementwise(op); }
};
} // namespace OpTrait
} // namespace vx

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOps.h.inc"

namespace vx {

/// True for ops that check data while they run, and so may fail a call. A kernel numbers its sites in the order of
/// these ops.
inline bool mayFault(mlir::Operation *op) { return mlir::isa<GatherOp>(op); }

/// Attribute of a dispatch: for each op of its kernel that may fault, in order, the source node that it came from.
inline constexpr llvm::StringLiteral kFaultSitesAttr = "vx.fault_sites";

} // namespace vx

#endif
