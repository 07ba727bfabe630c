// How messages name the kernels that a device was at.
#ifndef VX_RUNTIME_HAL_KERNEL_NAMES_H
#define VX_RUNTIME_HAL_KERNEL_NAMES_H

#include "hal/device.h"

namespace vx::hal {

// "'conv_relu' (conv1 (Conv), relu1 (Relu))": with the nodes of the user's model that it computes.
std::string describeKernel(const KernelImage &kernel);

// Names the kernels that a stream was given since it was last idle to the error of a lost device, each description once
// and the first few only. Other errors stay as they are.
Status nameKernels(Status status, std::span<const std::string_view> descriptions);

} // namespace vx::hal

#endif
