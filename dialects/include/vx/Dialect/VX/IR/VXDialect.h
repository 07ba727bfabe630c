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

class ConstraintCollector;
class GraphBuilder;
class Pullback;

/// Returns true if each pair of types differs at most in dimensions that may be equal.
bool areCompatibleTypes(mlir::TypeRange lhs, mlir::TypeRange rhs);
bool areCompatibleTypes(mlir::Type lhs, mlir::Type rhs);

/// Infers the result of an elementwise op: the operands' common shape, with the most precise dimension of all operands,
/// and `elementType`, or the first operand's if that is null. Fails if two shapes cannot be equal.
llvm::LogicalResult inferElementwise(std::optional<mlir::Location> location, mlir::ValueRange operands,
                                     mlir::Type elementType, llvm::SmallVectorImpl<mlir::Type> &types);

namespace OpTrait {
/// See VX_Elementwise: checks the shapes.
llvm::LogicalResult verifyElementwise(mlir::Operation *op);
/// Requires one shape of all operands and results.
void collectElementwise(mlir::Operation *op, ConstraintCollector &collector);

template <typename ConcreteType>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyElementwise(op); }
  void collectConstraints(ConstraintCollector &collector) { collectElementwise(this->getOperation(), collector); }
};

// VXBase.td has the meaning of each.
template <typename Op>
struct Pointwise : mlir::OpTrait::TraitBase<Op, Pointwise> {};
template <typename Op>
struct Anchor : mlir::OpTrait::TraitBase<Op, Anchor> {};
template <typename Op>
struct HostOp : mlir::OpTrait::TraitBase<Op, HostOp> {};
template <typename Op>
struct Layout : mlir::OpTrait::TraitBase<Op, Layout> {};
template <typename Op>
struct Container : mlir::OpTrait::TraitBase<Op, Container> {};
template <typename Op>
struct Directive : mlir::OpTrait::TraitBase<Op, Directive> {};
template <typename Op>
struct Product : mlir::OpTrait::TraitBase<Op, Product> {};
template <typename Op>
struct Reduces : mlir::OpTrait::TraitBase<Op, Reduces> {};
template <typename Op>
struct TakesPrologue : mlir::OpTrait::TraitBase<Op, TakesPrologue> {};
template <typename Op>
struct ScattersResult : mlir::OpTrait::TraitBase<Op, ScattersResult> {};
template <typename Op>
struct Serial : mlir::OpTrait::TraitBase<Op, Serial> {};
template <typename Op>
struct Moves : mlir::OpTrait::TraitBase<Op, Moves> {};
template <typename Op>
struct Chooses : mlir::OpTrait::TraitBase<Op, Chooses> {};
template <typename Op>
struct View : mlir::OpTrait::TraitBase<Op, View> {};
template <typename Op>
struct Expands : mlir::OpTrait::TraitBase<Op, Expands> {};
template <typename Op>
struct Free : mlir::OpTrait::TraitBase<Op, Free> {};
template <typename Op>
struct MayFault : mlir::OpTrait::TraitBase<Op, MayFault> {};
template <typename Op>
struct BindsResultSizes : mlir::OpTrait::TraitBase<Op, BindsResultSizes> {};
template <typename Op>
struct Unconstrained : mlir::OpTrait::TraitBase<Op, Unconstrained> {};
template <typename Op>
struct NonDifferentiable : mlir::OpTrait::TraitBase<Op, NonDifferentiable> {};
template <typename Op>
struct StatesResultType : mlir::OpTrait::TraitBase<Op, StatesResultType> {};
} // namespace OpTrait

/// Returns the number of elements of a tensor of floats; 0 for other elements. Null if a dimension is unknown.
DimAttr countFloats(mlir::Value tensor);

/// Returns the value of a vx.constant, with any names; null for any other value.
mlir::ElementsAttr getConstantValue(mlir::Value tensor);

/// Returns the number or bool that all elements of a constant have, also if it is moved or repeated: a FloatAttr or an
/// IntegerAttr. Null for any other value.
mlir::Attribute getSplatNumber(mlir::Value tensor);
/// The same for a float; nullopt for any other value.
std::optional<double> getFloatSplat(mlir::Value tensor);

/// Returns the least and the greatest value of an integer type of at most 32 bits.
std::pair<double, double> getBounds(mlir::IntegerType type);

/// The attribute of a module that describes its training: a TrainingAttr.
inline constexpr llvm::StringLiteral kTrainingAttr = "vx.training";
/// Checks the constraints of `#vx.training` on the module's functions.
llvm::LogicalResult verifyTraining(mlir::Operation *module, TrainingAttr training);

/// Unit attribute of the anchor of a `vx.fusion` or a `vx.kernel`. `vx.strings` of a module: the strings that its
/// tensors of string numbers refer to. `vx.is_string` of an input or result: it is such a tensor.
inline constexpr llvm::StringLiteral kStringsAttr = "vx.strings", kIsStringAttr = "vx.is_string";
inline constexpr llvm::StringLiteral kAnchorAttr = "vx.anchor";
/// Of a vx.contract whose rhs has numbers of blocks along the sum: they may be applied to the sum of a block in place
/// of each element of it.
inline constexpr llvm::StringLiteral kBlockSumsAttr = "vx.block_sums";
/// Of a product in the `fused` phase: how it is computed, a ProductAttr.
inline constexpr llvm::StringLiteral kProductAttr = "vx.product";
/// Returns the choice that was made for a product; null before.
ProductAttr getProduct(mlir::Operation *op);
/// Returns the op that is marked as the anchor of a fusion's or kernel's body; null without one.
mlir::Operation *getAnchor(mlir::Block &body);

} // namespace vx

#include "vx/Dialect/VX/IR/VXOpInterfaces.h.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOps.h.inc"

namespace vx {

/// The role of an op in the program: see the traits of these names in VXBase.td.
enum class Role { Pointwise, Anchor, Host, Layout, Container, Directive };

/// Returns nullopt for ops of other dialects.
std::optional<Role> getRole(mlir::OperationName op);
inline std::optional<Role> getRole(mlir::Operation *op) { return getRole(op->getName()); }

/// Returns true for ops that kernels compute.
inline bool isComputedByKernel(mlir::Operation *op) {
  std::optional<Role> role = getRole(op);
  return role == Role::Pointwise || role == Role::Anchor;
}

/// Returns true for ops that check data at run time, and so may fail a call. A kernel numbers its fault sites in the
/// order of these ops.
bool mayFault(mlir::Operation *op);

/// Attribute of a dispatch: the source node of each op of its kernel that may fault, in order.
inline constexpr llvm::StringLiteral kFaultSitesAttr = "vx.fault_sites";

} // namespace vx

#endif
