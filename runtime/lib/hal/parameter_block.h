// How a driver lays out the parameters of a dispatch (vx/abi/kernel.h).
#ifndef VX_RUNTIME_HAL_PARAMETER_BLOCK_H
#define VX_RUNTIME_HAL_PARAMETER_BLOCK_H

#include "hal/device.h"

namespace vx::hal {

inline uint64_t parameterWords(const CommandShape &dispatch) {
  return VX_BLOCK_FIRST_BUFFER + uint64_t(dispatch.bufferCount) + dispatch.scalarCount;
}

// Fills in the words of the block. `fault` is the address of the stream's fault record.
inline void writeParameterBlock(uint64_t *block, uint64_t fault, const CommandShape &dispatch,
                                const CommandArguments &arguments) {
  block[VX_BLOCK_FAULT] = fault;
  block[VX_BLOCK_WORKSPACE] = arguments.workspace.address();
  block[VX_BLOCK_WORKGROUPS] = arguments.workgroups;
  block[VX_BLOCK_FAULT_SITE] = arguments.faultSite;
  uint64_t *word = block + VX_BLOCK_FIRST_BUFFER;
  for (uint32_t buffer = 0; buffer < dispatch.bufferCount; ++buffer)
    *word++ = arguments.buffers[buffer].address();
  for (uint32_t scalar = 0; scalar < dispatch.scalarCount; ++scalar)
    *word++ = static_cast<uint64_t>(arguments.scalars[scalar]);
}

} // namespace vx::hal

#endif
