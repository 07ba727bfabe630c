// What a tool says when there is no more memory: how much it asked for, by means that need none.
#ifndef VX_TOOLS_MEMORY_FAILURE_H
#define VX_TOOLS_MEMORY_FAILURE_H

#include <cstddef>

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
