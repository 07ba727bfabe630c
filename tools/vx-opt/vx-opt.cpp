// The MLIR driver of all dialects and passes of vx.

#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#ifdef HAVE_VX_TRANSFORMS
#include "vx/Transforms/Passes.h"
#endif
#ifdef HAVE_VX_CONVERSION
#include "vx/Conversion/VXToLinalg.h"
#endif
#ifdef HAVE_VX_CODEGEN_CPU
#include "vx/Codegen/CPU.h"
#endif
#ifdef HAVE_VX_CODEGEN
#include "vx/Codegen/Common/Passes.h"
#endif
#ifdef HAVE_VX_TARGET_CPU
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "vx/Target/LLVMCPU/Passes.h"
#endif
#ifdef HAVE_VX_CODEGEN_GPU
#include "vx/Codegen/GPU.h"
#endif
#ifdef HAVE_VX_TARGET_VULKAN
#include "vx/Target/Vulkan.h"
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<vx::VXDialect, vxk::VXKDialect>();
  mlir::registerAllPasses();
#ifdef HAVE_VX_TRANSFORMS
  vx::registerTransformsPasses();
#endif
#ifdef HAVE_VX_CONVERSION
  vx::registerVXToLinalgPasses();
#endif
#ifdef HAVE_VX_CODEGEN_CPU
  vx::registerCPUCodegenPasses();
#endif
#ifdef HAVE_VX_CODEGEN
  vx::registerCodegenCommonPasses();
#endif
#ifdef HAVE_VX_TARGET_CPU
  vx::registerCPUTargetDialects(registry);
  vx::registerCPUTargetPasses();
#endif
#ifdef HAVE_VX_CODEGEN_GPU
  vx::registerGPUCodegenPasses();
#endif
#ifdef HAVE_VX_TARGET_VULKAN
  vx::registerVulkanPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "vx modular optimizer driver\n", registry));
}
