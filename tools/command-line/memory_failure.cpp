#include "memory_failure.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
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

#ifndef VX_SANITIZER_ALLOCATES

static std::terminate_handler otherwise = nullptr;

// Before main nothing catches what is thrown, and there may be no memory for the exception itself.
static void endWithoutMemory() {
  bool isOutOfMemory = vx::tools::lastRefusedBytes() != 0;
  if (std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc &) {
    } catch (...) {
      isOutOfMemory = false;
    }
  }
  if (isOutOfMemory) {
    vx::tools::writeOutOfMemory(program_invocation_short_name);
    _exit(1);
  }
  otherwise();
}

// Before all other objects of the program are made.
[[gnu::constructor(101)]] static void installTerminateHandler() { otherwise = std::set_terminate(endWithoutMemory); }

// Asks `allocate` again for as long as there is a handler that may have freed something.
template <typename Allocate>
static void *allocateOrThrow(size_t size, Allocate allocate) {
  while (true) {
    if (void *memory = allocate())
      return memory;
    vx::tools::setRefusedBytes(size);
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
  }
}

// The standard's operators, which remember how much could not be had. Every other form of them calls one of these.
void *operator new(size_t size) {
  return allocateOrThrow(size, [&] { return std::malloc(size ? size : 1); });
}

void *operator new(size_t size, std::align_val_t alignment) {
  const size_t multiple = static_cast<size_t>(alignment);
  const size_t rounded = (size + multiple - 1) / multiple * multiple;
  return allocateOrThrow(
      size, [&] { return rounded < size ? nullptr : std::aligned_alloc(multiple, rounded ? rounded : multiple); });
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
