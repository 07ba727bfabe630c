// The results of training, epoch by epoch.
#ifndef VX_TRAIN_HISTORY_HPP
#define VX_TRAIN_HISTORY_HPP

#include "vx/train/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vx::train {

// Means. Metrics have the names and the order of the module's training table.
struct VX_TRAIN_API Scores {
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;
  int64_t rows = 0; // of the batches that these are of
  // The divisors of the loss and of each metric: rows, or a count of the module, such as the labels that are not
  // ignored, or the sum of their weights. Means of several batches are weighted by them, so they equal those of one
  // batch of all rows. A mean over nothing is 0 for one step, and NaN for an epoch or an evaluation.
  double count = 0;
  std::vector<double> metric_counts;

  // "loss", or the name of a metric. Throws Error::argument with the names there are.
  double of(const std::string &name) const;
};

// The scale of the loss of a module that was compiled with --train and --precision=f16. Gradients are those of the loss
// times this factor, so that they do not vanish in f16, and are divided by it before they are used. A step is skipped
// if not all of its gradients are finite: it only halves the scale. 2000 other steps in a row double it. Losses and
// metrics are those of the loss itself.
struct LossScale {
  double scale = 1;
  uint64_t good = 0;    // steps since the scale changed last, in a row
  uint64_t skipped = 0; // steps since training began
};

struct VX_TRAIN_API Epoch {
  uint64_t epoch = 0; // from 1
  uint64_t step = 0;  // steps done since training began
  double rate = 0;    // of its last step
  Scores training;    // during the epoch: the model changes meanwhile
  std::optional<Scores> validation;
  double seconds = 0;
  // The scale at the end of the epoch, and how many of its steps were skipped. Nothing if the module does not scale its
  // loss.
  std::optional<LossScale> loss_scale;
  uint64_t skipped = 0;
};

struct VX_TRAIN_API History {
  std::vector<Epoch> epochs; // that this call of `fit` has finished
  std::string stopped;       // why training ended before its last epoch; empty if it did not
  std::vector<std::string> notes;
  std::string optimizer, loss, schedule;
  uint64_t seed = 0;
  std::string data;                 // Dataset::description
  std::vector<std::string> classes; // Dataset::classes

  // {"version":1,"optimizer":"adamw","loss":"cross_entropy","schedule":"constant(0.001)","seed":7,"stopped":null,"notes":[],
  //  "epochs":[{"epoch":1,"step":8,"rate":0.001,"seconds":0.5,"loss":1.5,"metrics":{"accuracy":0.5},
  //             "validation":{"loss":1.25,"metrics":{"accuracy":0.75}}}]}
  // Numbers that JSON does not have are the strings "nan", "inf" and "-inf". `validation` is null if there was none.
  // Epochs of a module that scales its loss have "loss_scale":65536,"skipped":0 as well. A training on images or on
  // labels that are text has "data":"images of ..." and "classes":["cat","dog"] before "epochs".
  std::string json() const;
  // Writes `json` beside the name and renames it. Throws Error::io.
  void save(const std::string &path) const;
};

} // namespace vx::train

#endif
