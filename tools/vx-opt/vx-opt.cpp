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
#include "vx/Codegen/GPU.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Conversion/SchedulePasses.h"
#include "vx/Conversion/VXToLinalg.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Memory/Passes.h"
#include "vx/Pipelines/Pipelines.h"
#include "vx/Target/CUDA.h"
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include "vx/Target/ROCM.h"
#include "vx/Target/Vulkan.h"
#include "vx/Transforms/FusionPasses.h"
#include "vx/Transforms/Passes.h"
#include "vx/abi/version.h"
#include "vx/base/command_files.h"
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
  vx::registerCUDATargetDialects(registry);
  vx::registerROCMTargetDialects(registry);
  mlir::registerAllPasses();
  vx::registerAutodiffPasses();
  vx::registerTransformsPasses();
  vx::registerFusionPasses();
  vx::registerVXToLinalgPasses();
  vx::registerSchedulePasses();
  vx::registerMemoryPasses();
  vx::registerCodegenCommonPasses();
  vx::registerCPUCodegenPasses();
  vx::registerGPUCodegenPasses();
  vx::registerLLVMGPUPasses();
  vx::registerCPUTargetPasses();
  vx::registerCUDAPasses();
  vx::registerROCMPasses();
  vx::registerVulkanPasses();
  vx::registerPipelinesPasses();
  std::unique_ptr<vx::TargetBackend> backends[] = {vx::createCPUTarget(), vx::createCUDABackend(),
                                                   vx::createROCMBackend(), vx::createVulkanBackend()};
  vx::registerPhasePipelines([&](llvm::StringRef name) -> const vx::TargetBackend * {
    for (auto &backend : backends)
      if (backend->name() == name)
        return backend.get();
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
