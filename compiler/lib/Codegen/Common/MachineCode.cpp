#include "vx/Codegen/Common/MachineCode.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

namespace vx {

std::unique_ptr<llvm::TargetMachine> createMachine(const TargetSpec &spec, llvm::CodeGenOptLevel level,
                                                   llvm::TargetOptions options, std::string &error) {
  llvm::Triple triple(spec.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, spec.cpu, spec.features, options, llvm::Reloc::PIC_, std::nullopt, level));
}

void setFunctionAttributes(llvm::Module &code, const TargetSpec &spec) {
  for (llvm::Function &function : code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", spec.cpu);
    if (!spec.features.empty())
      function.addFnAttr("target-features", spec.features);
    function.addFnAttr("no-trapping-math", "true");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr(llvm::Attribute::UWTable);
  }
}

static llvm::TargetLibraryInfoImpl getEmptyLibrary(const llvm::TargetMachine &machine) {
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  return library;
}

void optimize(llvm::Module &code, llvm::TargetMachine &machine, llvm::OptimizationLevel level,
              const llvm::PipelineTuningOptions &tuning) {
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager sccAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::TargetLibraryInfoImpl library = getEmptyLibrary(machine);
  functionAnalyses.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(moduleAnalyses);
  builder.registerCGSCCAnalyses(sccAnalyses);
  builder.registerFunctionAnalyses(functionAnalyses);
  builder.registerLoopAnalyses(loopAnalyses);
  builder.crossRegisterProxies(loopAnalyses, functionAnalyses, sccAnalyses, moduleAnalyses);
  builder.buildPerModuleDefaultPipeline(level).run(code, moduleAnalyses);
}

llvm::SmallVector<char, 0> emitCode(llvm::Module &code, llvm::TargetMachine &machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> result;
  llvm::raw_svector_ostream stream(result);
  llvm::legacy::PassManager emit;
  emit.add(new llvm::TargetLibraryInfoWrapperPass(getEmptyLibrary(machine)));
  (void)machine.addPassesToEmitFile(emit, stream, nullptr, type);
  emit.run(code);
  return result;
}

LinkedImage joinKernels(llvm::ArrayRef<KernelBinary> kernels, size_t alignment, char fill) {
  LinkedImage image;
  image.offsets.push_back(0);
  for (const KernelBinary &kernel : kernels) {
    image.bytes.insert(image.bytes.end(), kernel.code.begin(), kernel.code.end());
    image.bytes.resize(llvm::alignTo(image.bytes.size(), alignment), fill);
    image.offsets.push_back(image.bytes.size());
  }
  return image;
}

} // namespace vx
