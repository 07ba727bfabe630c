// Functions that the host computes of the tensors of a list.
#ifndef VX_RUNTIME_EXEC_HOST_FUNCTIONS_H
#define VX_RUNTIME_EXEC_HOST_FUNCTIONS_H

#include "exec/string_pool.h"

#include <span>
#include <vector>

namespace vx {

// A tensor in host memory; strings by their numbers.
struct HostTensor {
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
};

// What `function` gives for `inputs`, and in `damage` why that is nothing where it says so. VX_FAULT where it has no
// result for an element, VX_INVALID_MODULE for tensors that it does not take, VX_OUT_OF_MEMORY, VX_UNSUPPORTED where a
// library is missing. `held` counts what it takes before it does.
Status computeHostFunction(const HostFunction &function, std::span<const HostTensor> inputs, StringPool &pool,
                           HostBytes &held, std::vector<HostTensor> &results, std::string &damage);

} // namespace vx

#endif
