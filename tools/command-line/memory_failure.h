// What a tool says when there is no more memory: how much it asked for, by means that need none.
#ifndef VX_TOOLS_MEMORY_FAILURE_H
#define VX_TOOLS_MEMORY_FAILURE_H

#include <cstddef>

// A sanitizer's own allocator and operators find errors that ours would hide.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define VX_SANITIZER_ALLOCATES
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VX_SANITIZER_ALLOCATES
#endif

namespace vx::tools {

// The bytes that were asked for and could not be had, the last time that this happened; 0 where nobody knows.
size_t lastRefusedBytes();
void setRefusedBytes(size_t bytes);

// "vx-run: error: out of memory: asked for 4096 bytes" on stderr. Allocates nothing.
void writeOutOfMemory(const char *tool);

// "vx-compile: error: internal error: REASON". Allocates nothing.
void writeInternalError(const char *tool, const char *reason);

} // namespace vx::tools

#endif
