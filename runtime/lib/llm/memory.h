// The memory of a language model on a device.
#ifndef VX_LIB_LLM_MEMORY_H
#define VX_LIB_LLM_MEMORY_H

#include "vx/runtime/vx.hpp"

namespace vx::llm {

// Of the cache.
struct CacheRoom {
  size_t tokens = 0, pages = 0;
  size_t placesOfPage = 0; // tokens of a page
  size_t callTokens = 0;   // the most that one call computes
};

// Puts a module on a device, with the options' sizes of the cache. Throws Error (VX_OUT_OF_MEMORY) with the bytes of
// weights, cache and a call, and with the largest context that fits, where the memory does not suffice; else as the
// constructor of Instance.
Instance placeModel(const Module &module, const InstanceOptions &options, const CacheRoom &room);

} // namespace vx::llm

#endif
