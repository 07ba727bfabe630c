// Nothing here allocates.
#include "vx/Driver/EndOnFailure.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <unistd.h>

namespace vx {

namespace {

EndingFunction describe = nullptr;
std::atomic_flag isEnding = ATOMIC_FLAG_INIT;

// The first thread that gets here ends the process; others wait for that.
[[noreturn]] void end(bool isOutOfMemory, const char *reason) {
  static thread_local bool isMine = false;
  if (isEnding.test_and_set()) {
    if (isMine) // what ends it needs memory too
      ::_exit(1);
    while (true)
      ::pause();
  }
  isMine = true;
  describe(isOutOfMemory, reason);
  // Files that are being written.
  llvm::sys::RunInterruptHandlers();
  ::_exit(1);
}

// LLVM says "Allocation failed" or a name of a function; both mean the same.
void onBadAllocation(void *, const char *reason, bool) { end(true, reason); }

void onFatalError(void *, const char *reason, bool) {
  // Threads and pages that the system does not give are memory as well.
  const bool isResource = std::strstr(reason, "pthread") || std::strstr(reason, "Cannot allocate memory") ||
                          std::strstr(reason, "Resource temporarily unavailable");
  end(isResource, reason);
}

void onNewFailure() { end(true, nullptr); }

void onTerminate() {
  const char *reason = "an exception that nobody took";
  if (std::exception_ptr exception = std::current_exception()) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::bad_alloc &) {
      end(true, nullptr);
    } catch (const std::exception &error) {
      end(false, error.what());
    } catch (...) {
    }
  }
  end(false, reason);
}

} // namespace

void endOnFailure(EndingFunction say) {
  describe = say;
  std::set_new_handler(onNewFailure);
  std::set_terminate(onTerminate);
  llvm::install_bad_alloc_error_handler(onBadAllocation);
  llvm::install_fatal_error_handler(onFatalError);
}

} // namespace vx
