// From the LLVM dialect to machine code, for one variant.
#include "CPUTargetImpl.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;

namespace vx::cpu {

namespace {

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

/// Fails when the triple names no target that is linked in.
std::unique_ptr<llvm::TargetMachine> createMachine(const TargetSpec &spec, std::string &error) {
  initializeTargets();
  llvm::Triple triple(spec.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // A product and a sum join to one rounding only where the program says `fma`.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = true;
  options.DataSections = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, spec.cpu, spec.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

void setFunctionAttributes(llvm::Module &module, const TargetSpec &spec) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", spec.cpu);
    if (!spec.features.empty())
      function.addFnAttr("target-features", spec.features);
    function.addFnAttr("prefer-vector-width", std::to_string(spec.vectorBits));
    function.addFnAttr("no-trapping-math", "true");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr(llvm::Attribute::UWTable);
    if (!function.hasLocalLinkage() && module.getModuleFlag("vx.support"))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
}

} // namespace

FailureOr<llvm::SmallVector<char, 0>> compile(ModuleOp module, const TargetSpec &spec, Output output) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(spec, error);
  if (!machine)
    return module.emitError() << "target 'cpu' variant '" << spec.variant << "': " << error;

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "kernel");
  if (!code)
    return module.emitError() << "target 'cpu': kernel does not translate to LLVM IR";
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  code->setPICLevel(llvm::PICLevel::SmallPIC);
  setFunctionAttributes(*code, spec);

  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager sccAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(machine.get(), tuning);
  // An image has no C library: no loop may become a call of one.
  llvm::TargetLibraryInfoImpl library(machine->getTargetTriple());
  library.disableAllFunctions();
  functionAnalyses.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(moduleAnalyses);
  builder.registerCGSCCAnalyses(sccAnalyses);
  builder.registerFunctionAnalyses(functionAnalyses);
  builder.registerLoopAnalyses(loopAnalyses);
  builder.crossRegisterProxies(loopAnalyses, functionAnalyses, sccAnalyses, moduleAnalyses);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(*code, moduleAnalyses);

  llvm::SmallVector<char, 0> result;
  llvm::raw_svector_ostream stream(result);
  if (output == Output::LLVM) {
    code->print(stream, nullptr);
    return result;
  }
  llvm::legacy::PassManager emit;
  emit.add(new llvm::TargetLibraryInfoWrapperPass(library));
  auto type = output == Output::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  (void)machine->addPassesToEmitFile(emit, stream, nullptr, type); // x86 has both
  emit.run(*code);
  return result;
}

} // namespace vx::cpu
