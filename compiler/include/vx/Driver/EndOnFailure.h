// What LLVM and the standard library cannot come back from ends the process with exit code 1 instead of a signal.
#ifndef VX_DRIVER_ENDONFAILURE_H
#define VX_DRIVER_ENDONFAILURE_H

namespace vx {

/// `say` gets why the process ends: it may be called on any thread, must not allocate, and writes the message. `reason`
/// is what a library said, or null. Files that are being written are removed after it.
using EndingFunction = void (*)(bool isOutOfMemory, const char *reason);

/// From now on: memory or a thread that cannot be had, an exception that nobody takes, and LLVM's fatal errors. For the
/// whole process, so it is a program's to call, before it starts threads.
void endOnFailure(EndingFunction say);

} // namespace vx

#endif
