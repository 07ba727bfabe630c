#include "base/log.h"

#include <atomic>
#include <mutex>

namespace vx {

namespace {

struct Log {
  std::mutex mutex; // held while the function runs, so that none runs any more when another one has been set
  vx_log_fn function = nullptr;
  void *user = nullptr;
  std::atomic<int> least = VX_LOG_NONE;
};

Log &getLog() {
  static auto *log = new Log; // also while the process ends
  return *log;
}

} // namespace

void setLog(vx_log_fn function, void *user, vx_log_level least) {
  Log &log = getLog();
  std::lock_guard lock(log.mutex);
  log.function = function;
  log.user = user;
  log.least.store(function ? least : VX_LOG_NONE, std::memory_order_relaxed);
}

bool isLogged(vx_log_level level) { return level >= getLog().least.load(std::memory_order_relaxed); }

void writeLog(vx_log_level level, const std::string &message) {
  Log &log = getLog();
  std::lock_guard lock(log.mutex);
  if (log.function && level >= log.least.load(std::memory_order_relaxed))
    log.function(log.user, level, message.c_str());
}

} // namespace vx
