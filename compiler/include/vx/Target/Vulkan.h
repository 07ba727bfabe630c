// The Vulkan target: kernels as SPIR-V shaders.
#ifndef VX_TARGET_VULKAN_H
#define VX_TARGET_VULKAN_H

#include "vx/Target/TargetBackend.h"
#include <memory>

namespace vx {

/// The backend "vulkan". It has no state; all functions are thread-safe.
std::unique_ptr<TargetBackend> createVulkanBackend();

/// The dialects that a context needs before `buildPipeline`'s passes or `serialize` run in it.
void registerVulkanTargetDialects(mlir::DialectRegistry &registry);

/// The features that a device must report to run this SPIR-V code, as the runtime's Vulkan driver spells them ("bda",
/// "int64", "float16"), in a fixed order. Empty for bytes that are not SPIR-V.
std::vector<std::string> getVulkanFeatures(llvm::ArrayRef<char> code);

std::unique_ptr<mlir::Pass> createConvertToSPIRVPass();
std::unique_ptr<mlir::Pass> createStoreBF16AsBitsPass();

/// Appends the passes from a kernel of memrefs (the output of code generation for GPUs) to a `spirv.module`.
void buildVulkanPipeline(mlir::OpPassManager &pm);

/// Registers the passes of this component with the tools. Thread-compatible.
void registerVulkanPasses();

} // namespace vx

#endif
