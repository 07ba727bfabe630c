// Sizes that a model computes with floats, as exporters write `ceil(length / stride)`: followed as expressions as long
// as the float's arithmetic gives the exact answer, which the call checks.
#ifndef VX_FRONTEND_ONNX_FLOATSIZES_H
#define VX_FRONTEND_ONNX_FLOATSIZES_H

#include "DimMath.h"

namespace vx::onnx {

class NodeImporter;

/// The exact value of one float: numerator / divisor. Where the divisor is a power of two, the float is that; else it
/// is near enough for its whole part to be right. Both under the conditions that are kept beside it.
struct FloatSize {
  /// A value on the way. Its numerator is to be small, the more so when each operation since the division rounds.
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
  /// Values that have to be exact, and those that may be rounded.
  llvm::SmallVector<Step, 4> exact, rounded;
  /// What was asked of values that were rounded to whole numbers since.
  llvm::SmallVector<Bound, 2> bounds;

  bool isExact() const { return rounded.empty(); }
};

/// Of each element of a list, or nothing.
using FloatSizes = std::vector<FloatSize>;

enum class FloatFunction { add, sub, mul, div };
enum class WholeFunction { floor, ceil, round };

/// Whole numbers as floats.
FloatSizes makeFloatSizes(llvm::ArrayRef<DimAttr> numbers);
/// Input `index` of a node, a constant of floats or what a node before made of sizes.
FloatSizes getFloatSizes(NodeImporter &n, unsigned index);
/// To be called behind setOutput: follows what the node makes of its inputs.
void followFloats(NodeImporter &n, FloatFunction function);
void followWhole(NodeImporter &n, WholeFunction function);
void followReshape(NodeImporter &n);
/// The whole numbers that input 0 of a node is cast to, which leaves out a fraction. The call checks that the floats
/// are what the expressions say. Nothing where that is not known.
std::optional<Dims> castFloatSizes(NodeImporter &n);
/// The whole numbers that the inputs are, under the same checks, where all of them are such scalars.
std::optional<Dims> getWholeFloats(NodeImporter &n);

} // namespace vx::onnx

#endif
