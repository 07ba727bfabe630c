// What the Vulkan backend answers about vx ops.
#ifndef VX_TARGET_VULKAN_CHOOSESTRATEGY_H
#define VX_TARGET_VULKAN_CHOOSESTRATEGY_H

#include "vx/Target/TargetBackend.h"

namespace vx::vulkan {

llvm::LogicalResult checkSupported(mlir::Operation *op);

} // namespace vx::vulkan

#endif
