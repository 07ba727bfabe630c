// The learning rate of each step, as a function of the step alone.
#ifndef VX_TRAIN_SCHEDULE_HPP
#define VX_TRAIN_SCHEDULE_HPP

#include "vx/train/error.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace vx::train {

// Where training stands before a step.
struct Moment {
  uint64_t step = 0;            // steps done since training began
  uint64_t steps_per_epoch = 1; // 1 or more
  uint64_t total = 0;           // planned steps; a step may be after them
};

// Immutable, so thread-safe. Two schedules made alike give the same rates, bit by bit.
class VX_TRAIN_API Schedule {
public:
  // A constant rate, so that a number is a schedule.
  Schedule(double rate = 1e-3);
  // A user's own: `rate` must depend on the moment alone. `text` describes it in checkpoints and histories.
  Schedule(std::string text, std::function<double(const Moment &)> rate);

  double rate(const Moment &moment) const { return function(moment); }
  const std::string &text() const { return description; }

private:
  std::string description;
  std::function<double(const Moment &)> function;
};

// The functions below throw Error::argument for numbers that are not finite or out of their range. Rates are 0 or more.

VX_TRAIN_API Schedule constant(double rate);
// rate * factor^floor(epochs done / every); `every` is 1 or more.
VX_TRAIN_API Schedule step(double rate, uint64_t every, double factor = 0.1);
// rate * factor^(epochs done), also between epochs.
VX_TRAIN_API Schedule exponential(double rate, double factor);
// Half a wave of a cosine from `rate` at step 0 to `end` at the last step's end.
VX_TRAIN_API Schedule cosine(double rate, double end = 0);
// `steps` steps in which the rate grows linearly to the first rate of `then`, beginning with 1 / steps of it. Step 0 of
// `then` is the step after them.
VX_TRAIN_API Schedule warmup(uint64_t steps, Schedule then);
// Half a wave from rate / `divisor` up to `rate` in the first `part` of all steps, and half a wave from there down to
// rate / divisor / `final_divisor`.
VX_TRAIN_API Schedule one_cycle(double rate, double part = 0.3, double divisor = 25, double final_divisor = 1e4);

} // namespace vx::train

#endif
