// Checks a call's inputs against the signature, and finds the sizes of its symbols.
#ifndef VX_RUNTIME_EXEC_BINDING_H
#define VX_RUNTIME_EXEC_BINDING_H

#include "exec/value.h"
#include "module/module.h"

namespace vx {

// On success `symbols` has the value of each symbol of the function; a data-dependent one is 0. Every message names the
// input, what is wanted and what came.
Status bindInputs(const Function &function, std::span<Value *const> inputs, std::vector<int64_t> &symbols);

} // namespace vx

#endif
