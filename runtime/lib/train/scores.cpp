#include "scores.h"

namespace vx::train {

// The mean of nothing may be no number.
static double sumOf(double mean, double count) { return count > 0 ? mean * count : 0; }

void add(Scores &sum, const Scores &batch) {
  sum.loss += sumOf(batch.loss, batch.count);
  sum.count += batch.count;
  sum.rows += batch.rows;
  sum.metrics.resize(batch.metrics.size());
  sum.metric_counts.resize(batch.metrics.size());
  for (size_t i = 0; i < batch.metrics.size(); ++i) {
    sum.metrics[i].first = batch.metrics[i].first;
    sum.metrics[i].second += sumOf(batch.metrics[i].second, batch.metric_counts[i]);
    sum.metric_counts[i] += batch.metric_counts[i];
  }
}

void divide(Scores &sum, double ofNothing) {
  auto mean = [ofNothing](double total, double count) { return count > 0 ? total / count : ofNothing; };
  sum.loss = mean(sum.loss, sum.count);
  for (size_t i = 0; i < sum.metrics.size(); ++i)
    sum.metrics[i].second = mean(sum.metrics[i].second, sum.metric_counts[i]);
}

} // namespace vx::train
