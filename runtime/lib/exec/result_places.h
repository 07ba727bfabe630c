// Results that go to memory of the caller.
#ifndef VX_RUNTIME_EXEC_RESULT_PLACES_H
#define VX_RUNTIME_EXEC_RESULT_PLACES_H

#include "exec/value.h"
#include "module/module.h"

#include <optional>

namespace vx {

// Host memory for one result, or an input whose memory it takes over; neither: the result gets memory of its own.
struct ResultPlace {
  void *data = nullptr;
  uint64_t size = 0;
  Value *value = nullptr;
};

// The input that the function declares as an alias of an output.
std::optional<size_t> aliasOf(const Function &function, size_t output);

// Checks before a call that each result fits its place, and that no place shares bytes with another one or with an
// input, but for the pairs that the function declares. `places` is one for each output, or empty.
Status checkPlaces(const Function &function, std::span<const int64_t> symbols, std::span<Value *const> inputs,
                   std::span<const ResultPlace> places);

} // namespace vx

#endif
