// A failure that LLVM or the standard library cannot recover from ends the process with exit code 1 instead of a
// signal.
#ifndef VX_DRIVER_ENDONFAILURE_H
#define VX_DRIVER_ENDONFAILURE_H

namespace vx {

/// `say` gets the reason why the process ends: it may be called on any thread, must not allocate, and writes the
/// message. `reason` is the message of a library, or null. Files that are being written are removed after it.
using EndingFunction = void (*)(bool isOutOfMemory, const char *reason);

/// From now on, for the whole process: no memory or no thread is available, an exception without a handler, and LLVM's
/// fatal errors. A program calls it before it starts threads.
void endOnFailure(EndingFunction say);

} // namespace vx

#endif
