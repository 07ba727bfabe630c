// What asks a run to end before it is done.
#ifndef VX_RUNTIME_BASE_STOP_REQUEST_H
#define VX_RUNTIME_BASE_STOP_REQUEST_H

#include "base/status.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace vx {

// Thread-safe, but for `setDeadline`, which comes first.
class StopRequest {
public:
  using Clock = std::chrono::steady_clock;

  void setDeadline(uint32_t milliseconds) {
    limit = milliseconds;
    deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  }
  void cancel() { isCancelled.store(true, std::memory_order_relaxed); }

  // Why to end here.
  Status check() const {
    if (isCancelled.load(std::memory_order_relaxed))
      return failure(VX_CANCELLED, "the run was cancelled");
    if (deadline && Clock::now() >= *deadline)
      return failure(VX_CANCELLED, "the run was not done after its deadline of {} ms", limit);
    return okStatus();
  }

private:
  std::atomic<bool> isCancelled = false;
  std::optional<Clock::time_point> deadline;
  uint32_t limit = 0;
};

} // namespace vx

#endif
