#include "scores.h"

#include <algorithm>

namespace vx::train {

void add(Scores &sum, const Scores &batch) {
  const auto rows = static_cast<double>(batch.rows);
  sum.loss += batch.loss * rows;
  sum.rows += batch.rows;
  sum.metrics.resize(batch.metrics.size());
  for (size_t i = 0; i < batch.metrics.size(); ++i) {
    sum.metrics[i].first = batch.metrics[i].first;
    sum.metrics[i].second += batch.metrics[i].second * rows;
  }
}

void divide(Scores &sum) {
  const auto rows = static_cast<double>(std::max<int64_t>(sum.rows, 1));
  sum.loss /= rows;
  for (auto &[name, value] : sum.metrics)
    value /= rows;
}

} // namespace vx::train
