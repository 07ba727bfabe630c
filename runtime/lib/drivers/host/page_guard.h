// Memory whose end, or begin, stands at a page that nobody may touch, so that the first access outside of it ends the
// process; and what says then which kernel it was.
#ifndef VX_RUNTIME_DRIVERS_HOST_PAGE_GUARD_H
#define VX_RUNTIME_DRIVERS_HOST_PAGE_GUARD_H

#include "hal/device.h"
#include "hal/guard_pattern.h"

namespace vx::drivers {

enum class PageGuard {
  None,
  Behind, // an allocation ends at the page, as near as its alignment allows
  Before  // it begins after the page
};

// VX_CHECK_PAGES: unset, empty or "0" is None, "before" is Before, anything else Behind.
PageGuard pageGuardFromEnvironment();

// An allocation between two such pages. What is left of its own pages holds a pattern, and so do its bytes at first.
class GuardedPages {
public:
  // `bytes` stays null when the system has no more memory.
  GuardedPages(uint64_t size, PageGuard guard);
  ~GuardedPages();
  GuardedPages(const GuardedPages &) = delete;
  GuardedPages &operator=(const GuardedPages &) = delete;

  uint8_t *bytes() const { return data; }

  // Whether the rest of its pages still holds the pattern; else the first byte that does not, counted from the
  // allocation's first one.
  bool isIntact(int64_t &changed) const;

private:
  uint8_t *mapping = nullptr, *pages = nullptr, *pagesEnd = nullptr, *data = nullptr;
  uint64_t mappingSize = 0, size = 0;
  hal::GuardPattern pattern;
};

// What a thread computes, for the message: set around a kernel's workgroup. The title is as "kernel 'k0' (add_3)".
struct GuardedDispatch {
  const char *title;
  const hal::BufferView *buffers;
  uint32_t bufferCount;
  hal::BufferView workspace;
};
void setGuardedDispatch(const GuardedDispatch *dispatch);

// From now on a thread that touches a guard page says so on stderr before the process ends as it would have: by its
// signal, or as a handler that was there before wants.
void reportGuardedAccesses();

} // namespace vx::drivers

#endif
