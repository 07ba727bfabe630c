// Scores of several batches as one.
#ifndef VX_TRAIN_SCORES_H
#define VX_TRAIN_SCORES_H

#include "vx/train/history.hpp"

namespace vx::train {

// Adds the sums over the rows of a batch to `sum`, which holds sums until `divide` makes means of them.
void add(Scores &sum, const Scores &batch);
void divide(Scores &sum);

} // namespace vx::train

#endif
