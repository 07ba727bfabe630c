// The state of the conversion of one kernel, and what the lowerings of ops share.
#ifndef VX_CONVERSION_VXTOLINALG_KERNELLOWERING_H
#define VX_CONVERSION_VXTOLINALG_KERNELLOWERING_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/OpFunctionTable.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {

using BodyBuilder =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange arguments)>;

class KernelLowering {
public:
  KernelLowering(mlir::OpBuilder &builder) : builder(builder) {}

  /// Converts `kernel` to a function beside it.
  mlir::LogicalResult run(KernelOp kernel);

  /// The lowered value of a vx value.
  mlir::Value get(mlir::Value value) const { return values.lookup(value); }
  void set(mlir::Value value, mlir::Value lowered) { values.map(value, lowered); }

  /// The value of a dimension expression, an index computed once at the function's level.
  mlir::Value dim(mlir::Location loc, DimAttr dim);
  mlir::Value size(mlir::Location loc, mlir::Value vxValue, int64_t dimension);
  mlir::Value index(mlir::Location loc, int64_t value);
  llvm::SmallVector<mlir::Value> sizes(mlir::Location loc, mlir::RankedTensorType type);
  /// The number of elements along `dimensions`, as an index.
  mlir::Value count(mlir::Location loc, mlir::Value vxValue, llvm::ArrayRef<int64_t> dimensions);

  /// An uninitialised tensor of the shape of `type`; another element type than its own when given.
  mlir::Value empty(mlir::Location loc, mlir::RankedTensorType type, mlir::Type elementType = {});
  mlir::Value filled(mlir::Location loc, mlir::RankedTensorType type, mlir::TypedAttr value);

  /// A parallel linalg.generic that computes every element of a tensor shaped as `type` from the operands' elements at
  /// the places that `maps` (of rank(type) dimensions) tell.
  mlir::Value parallel(mlir::Location loc, mlir::RankedTensorType type, mlir::Type elementType,
                       mlir::ValueRange operands, llvm::ArrayRef<mlir::AffineMap> maps, BodyBuilder body);
  /// The same with operands of the result's shape.
  mlir::Value elementwise(mlir::Location loc, mlir::RankedTensorType type, mlir::Type elementType,
                          mlir::ValueRange operands, BodyBuilder body);

  /// Writes the elements of a vx value to memory of its shape.
  void write(mlir::Location loc, mlir::Value value, mlir::Value destination);

  /// Marks what `op` became, where `op` is the kernel's anchor.
  void markAnchor(mlir::Operation *op, mlir::Operation *lowered) const;

  /// The next number of a fault site.
  int64_t takeFaultSite() { return faultSites++; }

  mlir::OpBuilder &builder;
  /// Where results go: the write buffer of a value that is yielded, for ops that write it themselves.
  llvm::DenseMap<mlir::Value, mlir::Value> destinations;

private:
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  /// A tensor of packed elements from its bytes, and back.
  mlir::Value unpackBytes(mlir::Location loc, mlir::RankedTensorType type, mlir::Value bytes);
  mlir::Value packBytes(mlir::Location loc, mlir::RankedTensorType type, mlir::Value elements);

  mlir::IRMapping values;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> symbols;
  llvm::DenseMap<DimAttr, mlir::Value> dims;
  int64_t faultSites = 0;
};

/// The element type of lowered tensors: as in vx, but signless, and a byte for narrow elements: of floats the bits, of
/// integers the number.
mlir::Type getBodyType(mlir::Type vxElement);
/// The element type of buffers: one byte for a bool.
mlir::Type getStorageType(mlir::Type vxElement);
/// The type in which sums of elements of `type` are accumulated: f32 for narrower floats.
mlir::Type getAccumulatorType(mlir::Type type);

/// Body helpers. A comparison, a conversion and so on of scalars of vx element types.
mlir::Value convertScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type vxFrom,
                          mlir::Type vxTo);
/// The same bits, of types that take as many of them in memory.
mlir::Value bitcastScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type vxFrom,
                          mlir::Type vxTo);
mlir::Value compareScalars(mlir::OpBuilder &builder, mlir::Location loc, ComparePredicate predicate, mlir::Value lhs,
                           mlir::Value rhs, mlir::Type vxType);
mlir::Value combineScalars(mlir::OpBuilder &builder, mlir::Location loc, ReduceKind kind, mlir::Value lhs,
                           mlir::Value rhs, mlir::Type vxType);
/// The value of a reduction over no element, in the type `accumulator`.
mlir::TypedAttr getIdentity(ReduceKind kind, mlir::Type vxType, mlir::Type accumulator);
mlir::Value constantScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);
/// The byte that stands for a packed element, of which `value` has the low bits.
mlir::Value wrapPacked(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type vxType);
/// The number of the element that an iteration of a `linalg.generic` is at, in a tensor of these sizes.
mlir::Value getFlatPlace(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<mlir::Value> sizes);
/// Extends a float narrower than f32; gives others back.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
/// Rounds `value` to the float `type` when it is wider.
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);
/// Rounds an accumulated tensor to the op's type.
mlir::Value roundTo(KernelLowering &lowering, mlir::Location loc, mlir::Value accumulated, mlir::RankedTensorType type);
/// `inside ? tensor[indices] : otherwise`, with one condition for each entry of `conditions`, tested outermost first.
mlir::Value guardedRead(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<mlir::Value> conditions,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &)> read,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &)> otherwise, mlir::Type type);
/// `0 <= index < size` as an i1.
mlir::Value isInside(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value index, mlir::Value size);
/// One dimension of a window that moves over a tensor.
struct WindowDim {
  int64_t stride, dilation, padLow, padHigh;
};
/// Where element `inWindow` of window number `at` lies in a dimension of `size`: at * stride + inWindow * dilation -
/// padLow. A window of one element has no `inWindow`. With pads, the place may lie outside: `conditions` gets its test.
mlir::Value getWindowPlace(mlir::OpBuilder &builder, mlir::Location loc, const WindowDim &window, mlir::Value at,
                           mlir::Value inWindow, mlir::Value size, llvm::SmallVectorImpl<mlir::Value> &conditions);

/// Floats of 8 bits and less, by their bits (NarrowFloats.cpp). The one as f32, which holds it.
mlir::Value decodeNarrowFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value code, mlir::FloatType type);
/// `value`, an f32 or f64, rounded once to `type`: as vx.cast says.
mlir::Value encodeNarrowFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::FloatType type);

/// Where an op that computes its kernel's result writes that itself. Fails if something else uses the result.
llvm::FailureOr<mlir::Value> getOwnDestination(KernelLowering &lowering, mlir::Operation *op);

using OpLowering = mlir::LogicalResult (*)(KernelLowering &lowering, mlir::Operation *op);

/// The one lowering of each op.
class LoweringTable : public OpFunctionTable<OpLowering> {
public:
  /// `function` lowers ops of the type `Op`: it gives the lowered value of the one result, or sets the results itself
  /// and says whether it could.
  template <typename Op, auto function>
  void add() {
    OpFunctionTable::add<Op>(run<Op, function>);
  }

private:
  template <typename Op, auto function>
  static mlir::LogicalResult run(KernelLowering &lowering, mlir::Operation *op) {
    auto typed = llvm::cast<Op>(op);
    if constexpr (std::is_same_v<decltype(function(lowering, typed)), mlir::LogicalResult>) {
      return function(lowering, typed);
    } else {
      lowering.set(typed.getResult(), function(lowering, typed));
      return mlir::success();
    }
  }
};

// Each family adds its ops.
void addElementwiseLowerings(LoweringTable &table);
void addShapeLowerings(LoweringTable &table);
void addContractionLowerings(LoweringTable &table);
void addReductionLowerings(LoweringTable &table);
void addNormLowerings(LoweringTable &table);
void addAttentionLowerings(LoweringTable &table);
void addIndexingLowerings(LoweringTable &table);

} // namespace vx

#endif
