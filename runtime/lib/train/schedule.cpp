#include "vx/train/schedule.hpp"

#include "failure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vx::train {

static double wanted(const char *schedule, const char *what, double value, double least, bool isOpen = false) {
  if (!std::isfinite(value) || value < least || (isOpen && value == least))
    throw argumentError("schedule {}: expected {} {} {}, got {}", schedule, what, isOpen ? "above" : "of at least",
                        least, value);
  return value;
}

static double epochsOf(const Moment &moment) {
  return static_cast<double>(moment.step) / static_cast<double>(std::max<uint64_t>(moment.steps_per_epoch, 1));
}

// From `from` at 0 to `to` at 1 and beyond.
static double halfWave(double from, double to, double part) {
  const double weight = (1 + std::cos(std::numbers::pi * std::clamp(part, 0.0, 1.0))) / 2;
  return weight * from + (1 - weight) * to;
}

Schedule::Schedule(double rate) : Schedule(constant(rate)) {}

Schedule::Schedule(std::string text, std::function<double(const Moment &)> rate)
    : description(std::move(text)), function(std::move(rate)) {
  if (!function)
    throw argumentError("schedule {}: expected a function of the step, got none", description);
}

Schedule constant(double rate) {
  wanted("constant", "a rate", rate, 0);
  return {fmt::format("constant({})", rate), [=](const Moment &) { return rate; }};
}

Schedule step(double rate, uint64_t every, double factor) {
  wanted("step", "a rate", rate, 0);
  wanted("step", "a number of epochs", static_cast<double>(every), 1);
  wanted("step", "a factor", factor, 0, true);
  return {fmt::format("step({}, {}, {})", rate, every, factor), [=](const Moment &moment) {
            const uint64_t epochs = moment.step / std::max<uint64_t>(moment.steps_per_epoch, 1);
            return rate * std::pow(factor, static_cast<double>(epochs / every));
          }};
}

Schedule exponential(double rate, double factor) {
  wanted("exponential", "a rate", rate, 0);
  wanted("exponential", "a factor", factor, 0, true);
  return {fmt::format("exponential({}, {})", rate, factor),
          [=](const Moment &moment) { return rate * std::pow(factor, epochsOf(moment)); }};
}

Schedule cosine(double rate, double end) {
  wanted("cosine", "a rate", rate, 0);
  wanted("cosine", "an end", end, 0);
  return {fmt::format("cosine({}, {})", rate, end), [=](const Moment &moment) {
            return halfWave(
                rate, end, static_cast<double>(moment.step) / static_cast<double>(std::max<uint64_t>(moment.total, 1)));
          }};
}

Schedule warmup(uint64_t steps, Schedule then) {
  std::string text = fmt::format("warmup({}, {})", steps, then.text());
  return {std::move(text), [steps, then = std::move(then)](const Moment &moment) {
            Moment shifted = moment;
            shifted.step = moment.step < steps ? 0 : moment.step - steps;
            shifted.total = moment.total < steps ? 0 : moment.total - steps;
            const double rate = then.rate(shifted);
            return moment.step < steps ? rate * static_cast<double>(moment.step + 1) / static_cast<double>(steps)
                                       : rate;
          }};
}

Schedule one_cycle(double rate, double part, double divisor, double final_divisor) {
  wanted("one_cycle", "a rate", rate, 0);
  wanted("one_cycle", "a divisor", divisor, 0, true);
  wanted("one_cycle", "a final divisor", final_divisor, 0, true);
  if (!(part > 0 && part < 1))
    throw argumentError("schedule one_cycle: expected a part between 0 and 1, got {}", part);
  return {fmt::format("one_cycle({}, {}, {}, {})", rate, part, divisor, final_divisor), [=](const Moment &moment) {
            const double first = rate / divisor, last = first / final_divisor;
            const double total = static_cast<double>(moment.total), at = static_cast<double>(moment.step);
            // Its highest and its last step, counted from 0.
            const double top = part * total - 1, end = total - 1;
            if (at <= top)
              return halfWave(first, rate, top > 0 ? at / top : 1);
            return halfWave(rate, last, end > top ? (at - top) / (end - top) : 1);
          }};
}

} // namespace vx::train
