#include "drivers/host/page_guard.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

namespace vx::drivers {

PageGuard pageGuardFromEnvironment() {
  const char *value = std::getenv("VX_CHECK_PAGES");
  const std::string_view wanted = value ? value : "";
  if (wanted.empty() || wanted == "0")
    return PageGuard::None;
  return wanted == "before" ? PageGuard::Before : PageGuard::Behind;
}

GuardedPages::GuardedPages(uint64_t size, PageGuard guard) : size(size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t aligned = (size + VX_BUFFER_ALIGNMENT - 1) / VX_BUFFER_ALIGNMENT * VX_BUFFER_ALIGNMENT;
  const uint64_t inside = (aligned + page - 1) / page * page;
  void *mapped = mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return;
  mapping = static_cast<uint8_t *>(mapped);
  mappingSize = inside + 2 * page;
  pages = mapping + page;
  pagesEnd = pages + inside;
  if (inside && mprotect(pages, inside, PROT_READ | PROT_WRITE) != 0)
    return;
  pattern.fill({pages, inside}, 0);
  data = guard == PageGuard::Before ? pages : pagesEnd - aligned;
}

GuardedPages::~GuardedPages() {
  if (mapping)
    munmap(mapping, mappingSize);
}

bool GuardedPages::isIntact(int64_t &changed) const {
  const uint8_t *found = pages + pattern.firstChange({pages, data}, 0);
  if (found == data)
    found = data + size + pattern.firstChange({data + size, pagesEnd}, static_cast<uint64_t>(data + size - pages));
  changed = found - data;
  return found == pagesEnd;
}

static thread_local const GuardedDispatch *current = nullptr;

void setGuardedDispatch(const GuardedDispatch *dispatch) { current = dispatch; }

// By means that a signal handler may use.
static void report(const GuardedDispatch &dispatch, uint64_t address) {
  const hal::BufferView *nearest = nullptr;
  uint64_t least = UINT64_MAX;
  auto look = [&](const hal::BufferView &view) {
    if (!view.memory)
      return;
    const uint64_t begin = view.address(), end = begin + view.size;
    const uint64_t distance = address < begin ? begin - address : address >= end ? address - end : 0;
    if (distance < least) {
      least = distance;
      nearest = &view;
    }
  };
  for (uint32_t i = 0; i < dispatch.bufferCount; ++i)
    look(dispatch.buffers[i]);
  look(dispatch.workspace);
  char line[512];
  char *at = line, *const end = line + sizeof(line) - 1;
  auto text = [&](std::string_view part) {
    const size_t count = std::min(part.size(), static_cast<size_t>(end - at));
    std::memcpy(at, part.data(), count);
    at += count;
  };
  auto number = [&](auto value) { at = std::to_chars(at, end, value).ptr; };
  text("vx: ");
  text(std::string_view(dispatch.title).substr(0, 300));
  text(" touches ");
  if (nearest) {
    text("byte ");
    number(static_cast<int64_t>(address - nearest->address()));
    text(" of a buffer of ");
    number(nearest->size);
    text(" bytes\n");
  } else {
    text("memory that it was not given\n");
  }
  const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(at - line));
  (void)written;
}

static struct sigaction before[2];
static constexpr int signals[2] = {SIGSEGV, SIGBUS};

static void onAccess(int signal, siginfo_t *info, void *) {
  if (current)
    report(*current, reinterpret_cast<uint64_t>(info->si_addr));
  // The access is made again, and ends as it would have without this handler.
  sigaction(signal, &before[signal == signals[0] ? 0 : 1], nullptr);
}

void reportGuardedAccesses() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = onAccess;
    action.sa_flags = SA_SIGINFO;
    for (size_t i = 0; i < 2; ++i)
      sigaction(signals[i], &action, &before[i]);
  });
}

} // namespace vx::drivers
