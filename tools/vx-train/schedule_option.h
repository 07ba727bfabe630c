// The learning rate of a command line.
#ifndef VX_TRAIN_TOOL_SCHEDULE_OPTION_H
#define VX_TRAIN_TOOL_SCHEDULE_OPTION_H

#include "vx/train/schedule.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::tools {

// "constant", "cosine[:END]", "step:EVERY[,FACTOR]", "exponential:FACTOR" or "one-cycle[:PART]", with `warmup` steps
// before it. Throws a usage error.
vx::train::Schedule scheduleOption(const std::string &text, double rate, uint64_t warmup);

// The numbers of "5,1e-4", which `flag` was given; at least `least` and at most `most` of them. Throws a usage error
// with the whole text and `wanted`.
std::vector<double> numbersOption(std::string_view flag, std::string_view text, size_t least, size_t most,
                                  std::string_view wanted);

} // namespace vx::tools

#endif
