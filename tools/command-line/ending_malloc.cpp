// For programs over LLVM, which does not look at what malloc gave it: memory that cannot be had ends the process, with
// what was asked for and exit code 1, before main as well. Linked into a program, these go over the C library's.
#include "memory_failure.h"

#include <cstdlib>
#include <features.h>
#include <new>
#include <unistd.h>

// Other C libraries have no second name for their allocator.
#if defined(__GLIBC__) && !defined(VX_SANITIZER_ALLOCATES)
#include <cerrno>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void *orEnd(void *memory, size_t size) {
  if (memory || size == 0) [[likely]]
    return memory;
  vx::tools::setRefusedBytes(size);
  if (std::new_handler handler = std::get_new_handler())
    handler();
  vx::tools::writeOutOfMemory(program_invocation_short_name);
  ::_exit(1);
}

// The libraries shall see them.
#define VX_GOES_OVER __attribute__((visibility("default")))

VX_GOES_OVER void *malloc(size_t size) noexcept { return orEnd(__libc_malloc(size), size); }
VX_GOES_OVER void *calloc(size_t count, size_t size) noexcept {
  return orEnd(__libc_calloc(count, size), count * size);
}
VX_GOES_OVER void *realloc(void *memory, size_t size) noexcept { return orEnd(__libc_realloc(memory, size), size); }
VX_GOES_OVER void *aligned_alloc(size_t alignment, size_t size) noexcept {
  return orEnd(__libc_memalign(alignment, size), size);
}
}

#endif
