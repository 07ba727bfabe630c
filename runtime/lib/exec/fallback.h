// A call that is run again on the next device where the first one fails.
#ifndef VX_RUNTIME_EXEC_FALLBACK_H
#define VX_RUNTIME_EXEC_FALLBACK_H

#include "exec/instance.h"

#include <functional>
#include <span>

namespace vx {

// Runs a function of an instance.
using InstanceRun = std::function<Status(Instance &instance)>;

// See vx_try_with_fallback: `run` on `instance`, and where that fails with VX_DEVICE_LOST, VX_OUT_OF_MEMORY or
// VX_UNSUPPORTED, once more on an instance on the next device, which takes the place of `instance` if it exists.
Status runWithFallback(Ref<Instance> &instance, std::span<hal::Driver *const> drivers, const InstanceRun &run);

} // namespace vx

#endif
