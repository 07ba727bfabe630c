// Follows the bytes that a call's commands read and write, to find what a schedule gets wrong even where the numbers
// happen to be right: commands that may run at once and touch the same bytes, and memory that is read after something
// else was written there.
#ifndef VX_RUNTIME_EXEC_SCHEDULE_CHECK_H
#define VX_RUNTIME_EXEC_SCHEDULE_CHECK_H

#include "exec/registers.h"
#include "module/module.h"

#include <map>
#include <memory>

namespace vx {

// Thread-compatible. Belongs to one place of calls.
class ScheduleCheck {
public:
  // Null unless VX_CHECK_SCHEDULE is set and not "0": the check costs more than many a call.
  static std::unique_ptr<ScheduleCheck> fromEnvironment();

  // Before each run.
  void reset() { written.clear(); }

  // The mark of a buffer that begins its life: an arena slice or an allocation.
  uint64_t begin() { return ++lastOrigin; }

  // The mark of a buffer that holds something from the start: an input whose memory a result takes over.
  uint64_t hold(const hal::BufferView &view) {
    const uint64_t origin = begin();
    write(view, origin);
    return origin;
  }

  // The commands of a segment, with the registers and views that they are about to use. VX_INVALID_MODULE names both
  // commands or the one that reads what it was not given.
  Status commands(const Program &program, const std::vector<Command> &commands, const Registers &registers,
                  std::span<const hal::CommandArguments> arguments, std::span<const Kernel> kernels);

  // A read by the host or by a copy outside of segments.
  Status read(const Program &program, const BufferRegister &buffer, std::string_view reader);

private:
  struct Span {
    uint64_t end;
    uint64_t origin;
  };
  // Of each allocation: the first byte of each run of bytes that one buffer was written to, and the run.
  std::map<const hal::Memory *, std::map<uint64_t, Span>> written;
  uint64_t lastOrigin = 0;

  void write(const hal::BufferView &view, uint64_t origin);
};

} // namespace vx

#endif
