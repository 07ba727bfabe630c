#include "memory_failure.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

namespace vx::tools {

static std::atomic<size_t> refusedBytes{0};

size_t lastRefusedBytes() { return refusedBytes; }
void setRefusedBytes(size_t bytes) { refusedBytes = bytes; }

static void write(const char *text, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(STDERR_FILENO, text, size);
    if (written <= 0)
      return;
    text += written;
    size -= static_cast<size_t>(written);
  }
}

void writeOutOfMemory(const char *tool) {
  char line[128];
  const size_t bytes = refusedBytes;
  const int length =
      bytes ? std::snprintf(line, sizeof(line), "%s: error: out of memory: asked for %zu bytes\n", tool, bytes)
            : std::snprintf(line, sizeof(line), "%s: error: out of memory\n", tool);
  write(line, std::min(static_cast<size_t>(length), sizeof(line) - 1));
}

void writeInternalError(const char *tool, const char *reason) {
  for (const char *part : {tool, ": error: internal error: ", reason ? reason : "unknown", "\n"})
    write(part, std::strlen(part));
}

} // namespace vx::tools

// A sanitizer's own operators find errors that these would hide.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define VX_SANITIZER_ALLOCATES
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VX_SANITIZER_ALLOCATES
#endif

#ifndef VX_SANITIZER_ALLOCATES

// The standard's operators, which remember how much could not be had. Every other form of them calls one of these.
void *operator new(size_t size) {
  while (true) {
    if (void *memory = std::malloc(size ? size : 1))
      return memory;
    vx::tools::setRefusedBytes(size);
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
  }
}

void *operator new(size_t size, std::align_val_t alignment) {
  const size_t multiple = static_cast<size_t>(alignment);
  const size_t rounded = (size + multiple - 1) / multiple * multiple;
  while (true) {
    if (void *memory = rounded < size ? nullptr : std::aligned_alloc(multiple, rounded ? rounded : multiple))
      return memory;
    vx::tools::setRefusedBytes(size);
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
  }
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
