// The table of the evaluators of single ops, and what the families share. Each family adds its ops.
#ifndef VX_LIB_REFERENCE_OPEVALUATORS_H
#define VX_LIB_REFERENCE_OPEVALUATORS_H

#include "vx/Dialect/VX/IR/OpFunctionTable.h"
#include "vx/Reference/Evaluate.h"
#include "llvm/ADT/Twine.h"

namespace vx::reference {

using Shape = llvm::SmallVector<int64_t>;
using Result = llvm::Expected<HostTensor>;

/// An error of the call at `op`: "<message> in '<source node>'".
llvm::Error callError(mlir::Operation *op, const llvm::Twine &message);

/// Fails at `op` for a type of tensors, sequences or optionals of what is neither a number nor a bool.
llvm::Error checkEvaluableTypes(mlir::Operation *op, mlir::TypeRange types);

/// "[2, 3]"
std::string describeShape(llvm::ArrayRef<int64_t> shape);

/// The element type of a value of tensor type, for values that `evaluate` has checked.
ElementType elementTypeOf(mlir::Value value);

/// The places of a row-major box, in order.
class IndexSpace {
public:
  explicit IndexSpace(llvm::ArrayRef<int64_t> sizes) : sizes(sizes) {
    for (int64_t size : sizes)
      count *= size;
  }
  int64_t getCount() const { return count; }
  /// Calls `visit(index, linear)` for each place.
  template <typename F>
  void forEach(F &&visit) const {
    Shape index(sizes.size());
    for (int64_t linear = 0; linear < count; ++linear) {
      visit(llvm::ArrayRef<int64_t>(index), linear);
      for (size_t d = sizes.size(); d-- > 0;) {
        if (++index[d] < sizes[d])
          break;
        index[d] = 0;
      }
    }
  }

private:
  Shape sizes;
  int64_t count = 1;
};

/// How far apart neighbours of each dimension are in row-major order.
Shape getStrides(llvm::ArrayRef<int64_t> shape);

/// Copies one element, whatever its type.
inline void copyElement(HostTensor &to, int64_t toIndex, const HostTensor &from, int64_t fromIndex) {
  to.setBits(toIndex, from.getBits(fromIndex));
}

/// All elements as f64.
std::vector<double> toFloats(const HostTensor &tensor);
std::vector<int64_t> toInts(const HostTensor &tensor);

/// The number of places of a window: floor((padded - extent) / stride) + 1, at least 0.
int64_t getWindowCount(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t low, int64_t high);

/// The value of an expression that `op` holds, and of several; errors name the op's source node.
llvm::Expected<int64_t> evaluateDimOf(mlir::Operation *op, DimAttr dim, const SymbolValues &symbols);
llvm::Expected<Shape> evaluateDimsOf(mlir::Operation *op, mlir::ArrayAttr dims, const SymbolValues &symbols);
/// The sizes of the op's first result.
llvm::Expected<Shape> evaluateResultShapeOf(mlir::Operation *op, const SymbolValues &symbols);

using OpResults = llvm::Expected<llvm::SmallVector<HostValue>>;
using OpEvaluator = OpResults (*)(mlir::Operation *op, llvm::ArrayRef<HostValue> operands, const SymbolValues &symbols);

/// The one evaluator of each op.
class EvaluatorTable : public OpFunctionTable<OpEvaluator> {
public:
  // For an op whose operands are not all tensors.
  using OpFunctionTable::add;

  /// `function` evaluates the ops of its first parameter's type. What follows the op in its parameters may be the first
  /// operands, each a `const HostTensor &`, or all as an `ArrayRef<HostTensor>`; then the values of symbols, as
  /// `const SymbolValues &`; then the result's sizes, as an `ArrayRef<int64_t>`. It gives the one result, or a vector
  /// of all.
  template <auto function>
  void add() {
    add<decltype(getOp(function))>(evaluate<function>);
  }

private:
  template <auto function>
  static OpResults evaluate(mlir::Operation *op, llvm::ArrayRef<HostValue> operands, const SymbolValues &symbols) {
    return call(function, op, operands, symbols);
  }

  template <typename Returned, typename Op, typename... Parameters>
  static Op getOp(Returned (*)(Op, Parameters...));

  template <typename Returned, typename Op, typename... Parameters>
  static OpResults call(Returned (*function)(Op, Parameters...), mlir::Operation *op,
                        llvm::ArrayRef<HostValue> operands, const SymbolValues &symbols) {
    llvm::SmallVector<HostTensor> tensors;
    for (const HostValue &operand : operands)
      tensors.push_back(std::get<HostTensor>(operand));
    Shape shape;
    if constexpr ((std::is_same_v<Parameters, llvm::ArrayRef<int64_t>> || ...)) {
      llvm::Expected<Shape> sizes = evaluateResultShapeOf(op, symbols);
      if (!sizes)
        return sizes.takeError();
      shape = *sizes;
    }
    size_t next = 0;
    auto take = [&]<typename Parameter>() -> Parameter {
      if constexpr (std::is_same_v<Parameter, const HostTensor &>)
        return tensors[next++];
      else if constexpr (std::is_same_v<Parameter, llvm::ArrayRef<HostTensor>>)
        return tensors;
      else if constexpr (std::is_same_v<Parameter, const SymbolValues &>)
        return symbols;
      else
        return llvm::ArrayRef<int64_t>(shape);
    };
    // A braced list is evaluated in order, unlike a call's arguments.
    std::tuple<Op, Parameters...> arguments{llvm::cast<Op>(op), take.template operator()<Parameters>()...};
    auto results = std::apply(function, arguments);
    if (!results)
      return results.takeError();
    if constexpr (std::is_same_v<Returned, Result>)
      return llvm::SmallVector<HostValue>{std::move(*results)};
    else
      return llvm::SmallVector<HostValue>(results->begin(), results->end());
  }
};

void addElementwiseEvaluators(EvaluatorTable &table);
void addShapeEvaluators(EvaluatorTable &table);
void addContractionEvaluators(EvaluatorTable &table);
void addReductionEvaluators(EvaluatorTable &table);
void addNormEvaluators(EvaluatorTable &table);
void addQuantizationEvaluators(EvaluatorTable &table);
void addAttentionEvaluators(EvaluatorTable &table);
void addIndexingEvaluators(EvaluatorTable &table);
void addSequenceEvaluators(EvaluatorTable &table);

} // namespace vx::reference

#endif
