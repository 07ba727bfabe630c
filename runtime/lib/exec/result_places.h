// Results that go to memory of the caller.
#ifndef VX_RUNTIME_EXEC_RESULT_PLACES_H
#define VX_RUNTIME_EXEC_RESULT_PLACES_H

#include "exec/value.h"
#include "module/module.h"

namespace vx {

// Host memory for one result; none: the result gets memory of its own.
struct ResultPlace {
  void *data = nullptr;
  uint64_t size = 0;
};

// Checks before a call that each result fits its place, and that no place shares bytes with another one or with an
// input, but for the pairs that the function declares. `places` is one for each output, or empty.
Status checkPlaces(const Function &function, std::span<const int64_t> symbols, std::span<Value *const> inputs,
                   std::span<const ResultPlace> places);

} // namespace vx

#endif
