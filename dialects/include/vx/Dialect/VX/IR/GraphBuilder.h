// Checked creation of vx ops, for all that make graphs: frontends, decompositions, gradients.
#ifndef VX_DIALECT_VX_IR_GRAPHBUILDER_H
#define VX_DIALECT_VX_IR_GRAPHBUILDER_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// Whose the fault is: of a graph that no compiler could take, or of this one, which does not know such graphs yet.
enum class Refusal { Invalid, Unsupported };

/// Makes ops at the insertion point of an OpBuilder. Each is checked when it is made: its result type follows from its
/// arguments or is stated, and its own rules hold, so that a mistake is told where it was made and not by what reads
/// the graph later. Where there is nothing to do (a cast to the type that a value has, a shape that it has) no op is
/// made.
///
/// What cannot be made is refused: `refuse` is told why, and the function at hand gives null. Each function that
/// takes a null value gives null and says nothing. So the caller of many looks at `hasRefused()` at its end; where an
/// override of `refuse` throws, it never gets there.
///
/// Sizes are expressions: each function works for static and dynamic shapes alike. Values that are combined must have
/// one shape and element type; `broadcastTogether`, `cast` and `widen` see to that. Thread-compatible.
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
  /// Creates any op. Whether what it reads is made before it is asked when the module is whole: a region that is still
  /// being made stands in no function, and nothing outside of it would be found.
  mlir::Operation *finish(mlir::OperationState &state);

  // Types and sizes.
  DimAttr dim(int64_t value) { return DimAttr::constant(context, value); }
  mlir::ArrayAttr toArray(llvm::ArrayRef<DimAttr> dims);
  /// A tensor type; refuses what `checkSizes` does.
  mlir::RankedTensorType makeType(llvm::ArrayRef<DimAttr> dims, mlir::Type elementType);
  /// The type of a tensor; refuses a sequence.
  mlir::RankedTensorType typeOf(mlir::Value value);
  /// Numpy's common shape of two shapes. Of sizes that may be equal or 1 the call decides: the ops that repeat to this
  /// shape want them to be.
  llvm::SmallVector<DimAttr> broadcastShapes(llvm::ArrayRef<DimAttr> lhs, llvm::ArrayRef<DimAttr> rhs);
  /// States what the graph wants of two sizes, of which a call that breaks it is told with this location; refuses what
  /// no call could fulfil.
  void require(ConstraintKind kind, DimAttr lhs, DimAttr rhs);

  // Constants.
  mlir::Value emitConstant(mlir::ElementsAttr elements);
  /// A scalar tensor of a float or integer type; refuses a number that an integer type cannot hold.
  mlir::Value emitScalar(double value, mlir::Type elementType);
  /// The value of an expression as a scalar tensor of a number type.
  mlir::Value emitDim(DimAttr value, mlir::Type elementType);
  /// One number in every place.
  mlir::Value splat(double value, mlir::RankedTensorType type);
  mlir::Value splatLike(double value, mlir::Value like);

  // Element types.
  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  /// `value` in the type that sums are kept in: f32 for narrower floats.
  mlir::Value widen(mlir::Value value);

  // Shapes.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<DimAttr> dims);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<DimAttr> starts, llvm::ArrayRef<DimAttr> sizes,
                    llvm::ArrayRef<int64_t> strides);
  /// Adds zeros before and after each dimension; a negative amount takes elements away.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<DimAttr> low, llvm::ArrayRef<DimAttr> high);
  /// Puts steps[d] - 1 zeros behind each place of dimension d. Each step is at least 1.
  mlir::Value spreadPlaces(mlir::Value value, llvm::ArrayRef<int64_t> steps);
  /// Repeats `value` to `dims`, its dimensions aligned with the last ones (numpy).
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<DimAttr> dims);
  /// As vx.broadcast: dimension d of `value` is `dimensions[d]` of the result.
  mlir::Value broadcastInDim(mlir::Value value, llvm::ArrayRef<DimAttr> dims, llvm::ArrayRef<int64_t> dimensions);
  /// Repeats what was reduced over `axes` along them, to `dims`.
  mlir::Value broadcastAlong(mlir::Value value, llvm::ArrayRef<DimAttr> dims, llvm::ArrayRef<int64_t> axes);
  /// Repeats all to their common shape.
  void broadcastTogether(llvm::MutableArrayRef<mlir::Value> values);

  // Reductions, over axes that increase; over none they give `value`.
  mlir::Value reduce(ReduceKind kind, mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// The sum by the number of elements that it sums, also where only the call knows that. Widen the value before.
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> axes);

protected:
  /// `message` says what was wanted and what came. Emits it as an error; an override that does not throw calls this.
  virtual void refuse(Refusal kind, const llvm::Twine &message);
  /// The same where the diagnostic of an op's inference or verifier has said why: the graph is invalid.
  virtual void refuseDiagnosed() { isRefused = true; }
  /// Whether there may be a tensor of these sizes, or for a single one such an expression; false when that was refused.
  /// Refuses sizes that are known to be negative.
  virtual bool checkSizes(llvm::ArrayRef<DimAttr> dims);

private:
  static mlir::Value getResult(mlir::Operation *op) { return op ? op->getResult(0) : mlir::Value(); }

  bool isRefused = false;
};

} // namespace vx

#endif
