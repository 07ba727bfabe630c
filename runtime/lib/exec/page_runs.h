// Which pages of a module's files hold constants, for devices that read them there.
#ifndef VX_RUNTIME_EXEC_PAGE_RUNS_H
#define VX_RUNTIME_EXEC_PAGE_RUNS_H

#include "module/module.h"

namespace vx {

// Whole pages that follow each other in memory.
struct PageRun {
  const uint8_t *begin = nullptr;
  uint64_t size = 0;
  std::vector<size_t> constants;
};

// The runs that hold the `wanted` constants, of at most `most` bytes each where one constant has no more. Constants
// that share a page share a run, which a device may refuse to take twice. Left out are constants without bytes, those
// at an address that kernels do not take, and those of a module that was loaded from memory.
std::vector<PageRun> findPageRuns(const Module &module, const std::vector<bool> &wanted, uint64_t most);

// Why a constant with bytes is in no run; empty for one that is.
std::string_view whyNotInPlace(const Module &module, size_t constant);

} // namespace vx

#endif
