#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "vx/Target/Vulkan.h"

namespace vx {
#define GEN_PASS_REGISTRATION
#include "vx/Target/Vulkan/Passes.h.inc"

void registerVulkanTargetDialects(mlir::DialectRegistry &registry) {
  // The passes name the dialects that they create; this one is what `serialize` reads.
  registry.insert<mlir::spirv::SPIRVDialect>();
}

void registerVulkanPasses() {
  registerTargetVulkanPasses();
  mlir::PassPipelineRegistration<>("vx-vulkan-pipeline",
                                   "From a kernel of memrefs to SPIR-V, as the Vulkan backend does it",
                                   [](mlir::OpPassManager &pm) { buildVulkanPipeline(pm); });
}
} // namespace vx
