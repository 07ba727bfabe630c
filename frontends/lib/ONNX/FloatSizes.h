// Sizes that a model computes with floats, as exporters write `ceil(length / stride)`. They are tracked as expressions
// while float arithmetic gives the exact result. The call checks the conditions for this.
#ifndef VX_FRONTEND_ONNX_FLOATSIZES_H
#define VX_FRONTEND_ONNX_FLOATSIZES_H

#include "DimMath.h"

namespace vx::onnx {

class NodeImporter;

/// The exact value of one float: numerator / divisor. If the divisor is a power of two, the float is equal to it.
/// Otherwise the float is near enough for its integer part to be right. Both hold under the conditions in this struct.
struct FloatSize {
  /// An intermediate value. Its numerator must be small, and smaller for each rounded operation since the division.
  struct Step {
    DimAttr numerator;
    int64_t divisor;
  };
  /// |number| <= most
  struct Bound {
    DimAttr number;
    int64_t most;
  };

  DimAttr numerator;
  int64_t divisor = 1;
  /// Intermediate values that must be exact, and those that may be rounded.
  llvm::SmallVector<Step, 4> exact, rounded;
  /// Conditions on values that have been rounded to integers since.
  llvm::SmallVector<Bound, 2> bounds;

  bool isExact() const { return rounded.empty(); }
};

/// The value of each element of a list; empty if unknown.
using FloatSizes = std::vector<FloatSize>;

enum class FloatFunction { add, sub, mul, div };
enum class WholeFunction { floor, ceil, round };

/// Integers as floats.
FloatSizes makeFloatSizes(llvm::ArrayRef<DimAttr> numbers);
/// Returns the values of input `index`: a constant of floats, or floats that an earlier node computed from sizes.
FloatSizes getFloatSizes(NodeImporter &n, unsigned index);
/// Tracks the node's result as a function of its inputs. To be called after setOutput.
void followFloats(NodeImporter &n, FloatFunction function);
void followWhole(NodeImporter &n, WholeFunction function);
void followReshape(NodeImporter &n);
/// Returns the integers that input 0 of a node is cast to, truncated. The call checks that the floats equal the
/// expressions. Nullopt if they are not known.
std::optional<Dims> castFloatSizes(NodeImporter &n);
/// Returns the integer values of the inputs, under the same checks, if all of them are such scalars.
std::optional<Dims> getWholeFloats(NodeImporter &n);

} // namespace vx::onnx

#endif
