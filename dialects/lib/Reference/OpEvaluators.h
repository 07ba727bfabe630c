// The evaluators of single ops, by family; `evaluate` selects among them.
#ifndef VX_LIB_REFERENCE_OPEVALUATORS_H
#define VX_LIB_REFERENCE_OPEVALUATORS_H

#include "vx/Reference/Evaluate.h"
#include "llvm/ADT/Twine.h"

namespace vx::reference {

using Shape = llvm::SmallVector<int64_t>;
using Result = llvm::Expected<HostTensor>;

/// An error of the call at `op`: "<message> in '<source node>'".
llvm::Error callError(mlir::Operation *op, const llvm::Twine &message);

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

// Elementwise.
Result evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

// Shape.
Result evaluateIota(IotaOp op, llvm::ArrayRef<int64_t> resultShape);
Result evaluateReshape(ReshapeOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape);
Result evaluateTranspose(TransposeOp op, const HostTensor &input);
Result evaluatePack(PackOp op, const HostTensor &input);
Result evaluateUnpack(UnpackOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape);
Result evaluateBroadcast(BroadcastOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape);
Result evaluateSlice(SliceOp op, const HostTensor &input, llvm::ArrayRef<int64_t> starts,
                     llvm::ArrayRef<int64_t> resultShape);
Result evaluateConcat(ConcatOp op, llvm::ArrayRef<HostTensor> inputs);
Result evaluatePad(PadOp op, const HostTensor &input, const HostTensor &value, llvm::ArrayRef<int64_t> low,
                   llvm::ArrayRef<int64_t> high);

// Contraction.
Result evaluateContract(ContractOp op, const HostTensor &lhs, const HostTensor &rhs);
Result evaluateConv(ConvOp op, const HostTensor &input, const HostTensor &filter);

// Reduction.
Result evaluateReduce(ReduceOp op, const HostTensor &input);
Result evaluateArgReduce(ArgReduceOp op, const HostTensor &input);
Result evaluateReduceWindow(ReduceWindowOp op, const HostTensor &input);

/// The number of places of a window: floor((padded - extent) / stride) + 1, at least 0.
int64_t getWindowCount(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t low, int64_t high);

// Normalisation.
Result evaluateSoftmax(SoftmaxOp op, const HostTensor &input);
Result evaluateLayerNorm(LayerNormOp op, const HostTensor &input, const HostTensor &scale, const HostTensor &bias);
Result evaluateRmsNorm(RmsNormOp op, const HostTensor &input, const HostTensor &scale);

// Attention: the result, and the logarithm of the sum of exponentials where the op has that result. `mask` and `bias`
// may be null.
llvm::Expected<llvm::SmallVector<HostTensor>> evaluateAttention(AttentionOp op, const HostTensor &queries,
                                                                const HostTensor &keys, const HostTensor &values,
                                                                const HostTensor *mask, const HostTensor *bias,
                                                                int64_t past);

// Indexing.
Result evaluateGather(GatherOp op, const HostTensor &input, const HostTensor &indices);
Result evaluateCountNonzero(CountNonzeroOp op, const HostTensor &input);
Result evaluateNonzero(NonzeroOp op, const HostTensor &input, llvm::ArrayRef<int64_t> resultShape);

// Sequences.
llvm::Expected<HostValue> evaluateSequence(mlir::Operation *op, llvm::ArrayRef<HostValue> operands);

} // namespace vx::reference

#endif
