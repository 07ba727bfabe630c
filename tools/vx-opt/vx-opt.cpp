// The MLIR driver of all dialects and passes of vx.

#include "source_commit.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Codegen/CPU.h"
#include "vx/Codegen/Common/Passes.h"
#ifdef VX_CODEGEN_GPU
#include "vx/Codegen/GPU.h"
#endif
#ifdef VX_CODEGEN_LLVMGPU
#include "vx/Codegen/LLVMGPU.h"
#endif
#include "vx/Conversion/SchedulePasses.h"
#include "vx/Conversion/VXToLinalg.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Memory/Passes.h"
#include "vx/Pipelines/Pipelines.h"
#ifdef VX_TARGET_CUDA
#include "vx/Target/CUDA.h"
#endif
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "vx/Target/LLVMCPU/Passes.h"
#ifdef VX_TARGET_ROCM
#include "vx/Target/ROCM.h"
#endif
#ifdef VX_TARGET_VULKAN
#include "vx/Target/Vulkan.h"
#endif
#include "vx/Transforms/FusionPasses.h"
#include "vx/Transforms/Passes.h"
#include "vx/abi/version.h"
#include "vx/base/command_files.h"
#include "vx/base/names.h"
#include "vx/base/printable.h"
#include "vx/base/regular_file.h"
#include "llvm/Support/CommandLine.h"

#include <unistd.h>

int main(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "vx " VX_VERSION_STRING << "\nmodule abi " << VX_MODULE_ABI_MAJOR << "." << VX_MODULE_ABI_MINOR << "\ncommit "
       << sourceCommit() << "\n";
  });
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<vx::VXDialect, vxk::VXKDialect, vxrt::VXRTDialect>();
  vx::registerCPUTargetDialects(registry);
  mlir::registerAllPasses();
  vx::registerAutodiffPasses();
  vx::registerTransformsPasses();
  vx::registerFusionPasses();
  vx::registerVXToLinalgPasses();
  vx::registerSchedulePasses();
  vx::registerMemoryPasses();
  vx::registerCodegenCommonPasses();
  vx::registerCPUCodegenPasses();
  vx::registerCPUTargetPasses();
  std::vector<std::unique_ptr<vx::TargetBackend>> backends;
  backends.push_back(vx::createCPUTarget());
#ifdef VX_CODEGEN_GPU
  vx::registerGPUCodegenPasses();
#endif
#ifdef VX_CODEGEN_LLVMGPU
  vx::registerLLVMGPUPasses();
#endif
#ifdef VX_TARGET_CUDA
  vx::registerCUDATargetDialects(registry);
  vx::registerCUDAPasses();
  backends.push_back(vx::createCUDABackend());
#endif
#ifdef VX_TARGET_ROCM
  vx::registerROCMTargetDialects(registry);
  vx::registerROCMPasses();
  backends.push_back(vx::createROCMBackend());
#endif
#ifdef VX_TARGET_VULKAN
  vx::registerVulkanPasses();
  backends.push_back(vx::createVulkanBackend());
#endif
  vx::registerPipelinesPasses();
  vx::registerPhasePipelines([&](llvm::StringRef name) -> const vx::TargetBackend * {
    std::vector<std::string> built;
    for (auto &backend : backends) {
      if (backend->name() == name)
        return backend.get();
      built.push_back(backend->name().str());
    }
    if (const std::string reason = vx::leftOutTarget(name, built); !reason.empty())
      llvm::errs() << "vx-opt: note: this vx-opt " << reason << "\n";
    return nullptr;
  });
  const auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "vx modular optimizer driver\n", registry);
  // To open a pipe that nobody writes takes for ever; one that is open already, as of <(command), ends.
  if (input != "-" && !vx::descriptorOf(input)) {
    vx::FileError reason;
    const int file = vx::openRegularFile(input, reason);
    if (file < 0 && reason.number == 0) {
      llvm::errs() << "vx-opt: error: the input '" << vx::printable(input) << "' " << reason.text << "\n";
      return 2;
    }
    if (file >= 0)
      ::close(file);
  }
  if (input != "-" && output != "-") {
    vx::CommandFiles files;
    files.addInput("the input", input);
    files.addOutput("the output", output, vx::CommandFiles::Kind::RegularFileOrStream);
    if (const std::string problem = files.problem(); !problem.empty()) {
      llvm::errs() << "vx-opt: error: " << vx::printable(problem) << "\n";
      return 2;
    }
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
