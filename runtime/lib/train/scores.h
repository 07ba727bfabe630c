// Scores of several batches as one.
#ifndef VX_TRAIN_SCORES_H
#define VX_TRAIN_SCORES_H

#include "vx/train/history.hpp"

namespace vx::train {

// Adds the means of a batch times their counts to `sum`, which holds sums until `divide` makes means of them. A mean
// over nothing becomes `ofNothing`.
void add(Scores &sum, const Scores &batch);
void divide(Scores &sum, double ofNothing);

} // namespace vx::train

#endif
