// Whether a training step of a batch fits into the memory of its device.
#ifndef VX_TRAIN_STEP_MEMORY_H
#define VX_TRAIN_STEP_MEMORY_H

#include "feed.h"

#include <span>
#include <string>

namespace vx::train {

// Throws Error::argument where `functions`, each in a place of its own, take more for a batch of `batch` rows than
// there is, with the largest batch for which they do not. Gives what is to be noted where that is not known before they
// run, else "".
std::string checkMemory(const Instance &instance, std::span<const vx_function_info *const> functions, const Feed &feed,
                        int64_t batch);

} // namespace vx::train

#endif
