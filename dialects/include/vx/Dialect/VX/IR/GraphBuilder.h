// Checked creation of vx ops, for frontends, decompositions and gradients.
#ifndef VX_DIALECT_VX_IR_GRAPHBUILDER_H
#define VX_DIALECT_VX_IR_GRAPHBUILDER_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// The kind of a refusal. Invalid: no compiler can accept the graph. Unsupported: this compiler does not.
enum class Refusal { Invalid, Unsupported };

/// Makes ops at the insertion point of an OpBuilder. Each op is checked when it is made: its result type is inferred
/// from its arguments or stated, and its verifier passes. So a mistake is reported where it is made, and not by a later
/// reader of the graph. No op is made if it would change nothing: a cast to the type or a reshape to the shape that the
/// value has.
///
/// If an op cannot be made, the function calls `refuse` with the reason and returns null. A function with a null
/// operand returns null without a message. So a caller of several functions checks `hasRefused()` once, at its end. It
/// need not if its override of `refuse` throws.
///
/// Sizes are expressions, so each function works for static and dynamic shapes. Values that are combined must have one
/// shape and one element type: `broadcastTogether`, `cast` and `widen` make them so. Thread-compatible.
class GraphBuilder {
public:
  /// `builder` outlives this; all ops get `location`.
  GraphBuilder(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location), context(builder.getContext()) {}
  virtual ~GraphBuilder() = default;
  GraphBuilder(const GraphBuilder &) = delete;
  GraphBuilder &operator=(const GraphBuilder &) = delete;

  mlir::OpBuilder &builder;
  const mlir::Location location;
  mlir::MLIRContext *const context;

  bool hasRefused() const { return isRefused; }
  /// Refuses the graph after an error that the caller has emitted. An override of `refuseDiagnosed` may throw.
  void fail() { refuseDiagnosed(); }

  // Any op.
  /// Creates an op whose result type follows from the arguments, which are those of its `build` after the type.
  template <typename Op, typename... Args>
  mlir::Value emit(Args &&...args) {
    mlir::OperationState state(location, Op::getOperationName());
    Op::build(builder, state, mlir::Type(), std::forward<Args>(args)...);
    state.types.clear();
    if (llvm::is_contained(state.operands, mlir::Value()))
      return {};
    llvm::SmallVector<mlir::Type> types;
    if (mlir::failed(Op::inferReturnTypes(context, location, state.operands, state.attributes.getDictionary(context),
                                          state.getRawProperties(), state.regions, types)))
      return refuseDiagnosed(), mlir::Value();
    state.addTypes(types);
    return getResult(finish(state));
  }
  /// Creates an op of the given result type; null for a null type.
  template <typename Op, typename... Args>
  mlir::Value emitAs(mlir::Type type, Args &&...args) {
    if (!type)
      return {};
    mlir::OperationState state(location, Op::getOperationName());
    Op::build(builder, state, type, std::forward<Args>(args)...);
    return getResult(finish(state));
  }
  /// Creates any op. Dominance is not checked here but when the module is complete: a region under construction is in
  /// no function yet, so values from outside would not be found.
  mlir::Operation *finish(mlir::OperationState &state);

  // Types and sizes.
  DimAttr dim(int64_t value) { return DimAttr::constant(context, value); }
  mlir::ArrayAttr toArray(llvm::ArrayRef<DimAttr> dims);
  /// A tensor type; refuses what `checkSizes` does.
  mlir::RankedTensorType makeType(llvm::ArrayRef<DimAttr> dims, mlir::Type elementType);
  /// The type of a tensor; refuses a sequence.
  mlir::RankedTensorType typeOf(mlir::Value value);
  /// Returns NumPy's common shape of two shapes. Sizes that are not known to be equal or 1 are checked by the call: the
  /// ops that repeat to this shape require it.
  llvm::SmallVector<DimAttr> broadcastShapes(llvm::ArrayRef<DimAttr> lhs, llvm::ArrayRef<DimAttr> rhs);
  /// Adds a constraint on two sizes. A call that violates it fails with a message that names this location. Refuses a
  /// constraint that no call can fulfil.
  void require(ConstraintKind kind, DimAttr lhs, DimAttr rhs);

  // Constants.
  mlir::Value emitConstant(mlir::ElementsAttr elements);
  /// A scalar tensor of a float or integer type; refuses a number that an integer type cannot hold.
  mlir::Value emitScalar(double value, mlir::Type elementType);
  /// The value of an expression as a scalar tensor of a number type.
  mlir::Value emitDim(DimAttr value, mlir::Type elementType);
  /// A tensor with one value in each element.
  mlir::Value splat(double value, mlir::RankedTensorType type);
  mlir::Value splatLike(double value, mlir::Value like);

  // Element types.
  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  /// Casts `value` to the type of its sums: f32 for narrower floats.
  mlir::Value widen(mlir::Value value);

  // Shapes.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<DimAttr> dims);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<DimAttr> starts, llvm::ArrayRef<DimAttr> sizes,
                    llvm::ArrayRef<int64_t> strides);
  /// Adds zeros before and after each dimension; a negative amount removes elements.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<DimAttr> low, llvm::ArrayRef<DimAttr> high);
  /// Inserts steps[d] - 1 zeros after each position of dimension d. Each step is at least 1.
  mlir::Value spreadPlaces(mlir::Value value, llvm::ArrayRef<int64_t> steps);
  /// Repeats `value` to `dims`, its dimensions aligned with the last ones (numpy).
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<DimAttr> dims);
  /// As vx.broadcast: dimension d of `value` is `dimensions[d]` of the result.
  mlir::Value broadcastInDim(mlir::Value value, llvm::ArrayRef<DimAttr> dims, llvm::ArrayRef<int64_t> dimensions);
  /// Repeats a value that was reduced over `axes` along these axes, to `dims`.
  mlir::Value broadcastAlong(mlir::Value value, llvm::ArrayRef<DimAttr> dims, llvm::ArrayRef<int64_t> axes);
  /// Repeats all values to their common shape.
  void broadcastTogether(llvm::MutableArrayRef<mlir::Value> values);

  // Reductions over axes in increasing order. Without axes the result is `value`.
  mlir::Value reduce(ReduceKind kind, mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// Divides the sum by the number of summed elements, which may be known at run time only. The caller widens the value
  /// first.
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> axes);

protected:
  /// Emits `message` as an error; it states the expected and the given value. An override that does not throw calls
  /// this.
  virtual void refuse(Refusal kind, const llvm::Twine &message);
  /// Refuses an invalid graph for which an op's inference or verifier has emitted a diagnostic.
  virtual void refuseDiagnosed() { isRefused = true; }
  /// Returns true if a tensor may have these sizes; a single size is checked as an expression. Otherwise refuses, and
  /// returns false. Refuses sizes that are known to be negative.
  virtual bool checkSizes(llvm::ArrayRef<DimAttr> dims);

private:
  static mlir::Value getResult(mlir::Operation *op) { return op ? op->getResult(0) : mlir::Value(); }

  bool isRefused = false;
};

} // namespace vx

#endif
