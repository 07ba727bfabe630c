#include "exec/fallback.h"

#include "base/log.h"

#include <cstdio>

namespace vx {

static bool mayWorkElsewhere(vx_code code) {
  return code == VX_DEVICE_LOST || code == VX_OUT_OF_MEMORY || code == VX_UNSUPPORTED;
}

// To the function of vx_set_log where it takes warnings, else to standard error.
static void warn(const std::string &message) {
  if (isLogged(VX_LOG_WARNING))
    writeLog(VX_LOG_WARNING, message);
  else
    std::fputs(fmt::format("vx: {}\n", message).c_str(), stderr);
}

Status runWithFallback(Ref<Instance> &instance, std::span<hal::Driver *const> drivers, const InstanceRun &run) {
  Status failed = run(*instance);
  if (!mayWorkElsewhere(failed.code()))
    return failed;
  Ref<Instance> next;
  if (const Status made = instance->createOnNext(failed, drivers, next); !made.ok())
    return failure(failed.code(), "{}; no fallback: {}", failed.message(), made.message())
        .attachReport(std::string(made.report()))
        .attachDetails(std::string(failed.details()));
  const TakenDevice &from = *instance->report().taken, &to = *next->report().taken;
  const bool isCpu = to.backend == "cpu"; // which is one
  warn(printableLine(fmt::format("{}:{} failed ({}: {}); falling back to {}", from.backend, from.index,
                                 codeName(failed.code()), failed.message(),
                                 isCpu ? to.backend : fmt::format("{}:{}", to.backend, to.index))));
  instance = std::move(next);
  return run(*instance);
}

} // namespace vx
