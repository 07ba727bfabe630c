#include "exec/schedule_check.h"

#include <cstdlib>

namespace vx {

std::unique_ptr<ScheduleCheck> ScheduleCheck::fromEnvironment() {
  const char *value = std::getenv("VX_CHECK_SCHEDULE");
  bool wanted = value && *value && std::string_view(value) != "0";
  return wanted ? std::make_unique<ScheduleCheck>() : nullptr;
}

static bool overlap(const hal::BufferView &a, const hal::BufferView &b) {
  return a.size && b.size && a.memory == b.memory && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

static bool same(const hal::BufferView &a, const hal::BufferView &b) {
  return a.memory == b.memory && a.offset == b.offset && a.size == b.size;
}

void ScheduleCheck::write(const hal::BufferView &view, uint64_t origin) {
  if (view.size == 0)
    return;
  std::map<uint64_t, Span> &spans = written[view.memory];
  const uint64_t first = view.offset, end = view.offset + view.size;
  // What older runs have in common with the new one is cut off them.
  auto next = spans.lower_bound(first);
  if (next != spans.begin()) {
    auto before = std::prev(next);
    Span old = before->second;
    if (old.end > first) {
      before->second.end = first;
      if (old.end > end)
        spans[end] = old;
    }
  }
  while (next != spans.end() && next->first < end) {
    Span old = next->second;
    next = spans.erase(next);
    if (old.end > end)
      next = spans.emplace(end, old).first;
  }
  spans[first] = {end, origin};
}

Status ScheduleCheck::read(const Program &program, const BufferRegister &buffer, std::string_view reader) {
  // Inputs, constants and variables live by rules of their own.
  if (buffer.origin == 0 || buffer.view.size == 0)
    return okStatus();
  const uint64_t end = buffer.view.offset + buffer.view.size;
  uint64_t at = buffer.view.offset;
  auto wrong = [&](std::string_view what) {
    return failure(VX_INVALID_MODULE, "program '{}': {} reads bytes {} to {} of its memory, but byte {} {}",
                   program.name, reader, buffer.view.offset, end, at, what);
  };
  std::map<uint64_t, Span> &spans = written[buffer.view.memory];
  while (at < end) {
    auto next = spans.upper_bound(at);
    if (next == spans.begin() || std::prev(next)->second.end <= at)
      return wrong("was never written");
    const Span &span = std::prev(next)->second;
    if (span.origin != buffer.origin)
      return wrong("is another buffer's by then");
    at = span.end;
  }
  return okStatus();
}

Status ScheduleCheck::commands(const Program &program, const std::vector<Command> &commands, const Registers &registers,
                               std::span<const hal::CommandArguments> arguments, std::span<const Kernel> kernels) {
  struct Access {
    size_t command;
    bool isWrite;
    hal::BufferView view;
  };
  std::vector<Access> sinceBarrier;
  auto nameOf = [&](size_t index) {
    return commands[index].kind == hal::CommandKind::Copy
               ? fmt::format("command {} (copy)", index)
               : fmt::format("command {} (kernel '{}')", index, kernels[commands[index].kernel].name);
  };
  for (size_t i = 0; i < commands.size(); ++i) {
    const Command &command = commands[i];
    if (command.barrier)
      sinceBarrier.clear();
    const bool isCopy = command.kind == hal::CommandKind::Copy;
    std::vector<Access> own;
    for (size_t b = 0; b < command.buffers.size(); ++b) {
      vx::Access access = isCopy ? (b == 0 ? vx::Access::Read : vx::Access::Write) : kernels[command.kernel].buffers[b];
      if (access != vx::Access::Write) {
        own.push_back({i, false, arguments[i].buffers[b]});
        VX_RETURN_IF_ERROR(read(program, registers.buffers[command.buffers[b]], nameOf(i)));
      }
      if (access != vx::Access::Read)
        own.push_back({i, true, arguments[i].buffers[b]});
    }
    if (arguments[i].workspace.memory)
      own.push_back({i, true, arguments[i].workspace});
    for (const Access &access : own) {
      for (const Access &earlier : sinceBarrier)
        if ((access.isWrite || earlier.isWrite) && overlap(access.view, earlier.view))
          return failure(
              VX_INVALID_MODULE, "program '{}': {} {} bytes {} to {} that {} {}, and no barrier stands between them",
              program.name, nameOf(i), access.isWrite ? "writes" : "reads", access.view.offset,
              access.view.offset + access.view.size, nameOf(earlier.command), earlier.isWrite ? "writes" : "reads");
      // A result may lie where an operand does, but not across it.
      for (const Access &other : own)
        if (access.isWrite && &access != &other && overlap(access.view, other.view) &&
            (other.isWrite || !same(access.view, other.view)))
          return failure(VX_INVALID_MODULE, "program '{}': {} writes bytes {} to {} across bytes {} to {} of its own",
                         program.name, nameOf(i), access.view.offset, access.view.offset + access.view.size,
                         other.view.offset, other.view.offset + other.view.size);
    }
    sinceBarrier.insert(sinceBarrier.end(), own.begin(), own.end());
    for (size_t b = 0; b < command.buffers.size(); ++b)
      if (isCopy ? b == 1 : kernels[command.kernel].buffers[b] != vx::Access::Read)
        write(arguments[i].buffers[b], registers.buffers[command.buffers[b]].origin);
  }
  return okStatus();
}

} // namespace vx
