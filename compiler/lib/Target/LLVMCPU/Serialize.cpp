// From the LLVM dialect to machine code, for one variant.
#include "CPUTargetImpl.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "vx/Codegen/Common/MachineCode.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
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

/// What only a CPU's functions need.
void setCPUFunctionAttributes(llvm::Module &code, const TargetSpec &spec) {
  for (llvm::Function &function : code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("prefer-vector-width", std::to_string(spec.vectorBits));
    if (!function.hasLocalLinkage() && code.getModuleFlag("vx.support"))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
}

} // namespace

FailureOr<llvm::SmallVector<char, 0>> compile(ModuleOp module, const TargetSpec &spec, Output output) {
  initializeTargets();
  llvm::TargetOptions options;
  options.FunctionSections = true;
  options.DataSections = true;
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(spec, llvm::CodeGenOptLevel::Default, options, error);
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
  setCPUFunctionAttributes(*code, spec);

  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  optimize(*code, *machine, llvm::OptimizationLevel::O2, tuning);

  if (output == Output::LLVM) {
    llvm::SmallVector<char, 0> result;
    llvm::raw_svector_ostream stream(result);
    code->print(stream, nullptr);
    return result;
  }
  return emitCode(*code, *machine,
                  output == Output::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile);
}

} // namespace vx::cpu
