// Optimizers as graphs.
#ifndef VX_LIB_AUTODIFF_OPTIMIZERS_H
#define VX_LIB_AUTODIFF_OPTIMIZERS_H

#include "vx/Autodiff/Training.h"
#include "vx/Dialect/VX/Gradient/Expression.h"

namespace vx {

/// The names of what an optimizer keeps of each parameter, as "m" and "v".
llvm::SmallVector<llvm::StringRef> getOptimizerState(const OptimizerSpec &spec);

/// What all steps start with, in each place of a state; mostly 0.
double getInitialState(const OptimizerSpec &spec);

struct OptimizerUpdate {
  Expression parameters;
  llvm::SmallVector<Expression> state; // in the order of getOptimizerState
};

/// One step. `parameters`, `gradients` and each of `state` are of one type of f32; `rate`, and `step`, which counts
/// from 1, are scalars of f32. Where parameters, gradients and state are 0, the new ones are.
OptimizerUpdate buildOptimizer(const OptimizerSpec &spec, Expression parameters, Expression gradients,
                               llvm::ArrayRef<Expression> state, Expression rate, Expression step);

/// The root of the sum of the squares of all elements.
Expression buildNorm(Expression gradients);

/// The gradients, clipped: first by their norm, then each by its value. `norm` is that of `gradients`, where it is
/// known. With `scale`, a number, they are divided by it first.
Expression buildClip(const OptimizerSpec &spec, Expression gradients, std::optional<Expression> norm = {},
                     std::optional<Expression> scale = {});

} // namespace vx

#endif
