// The functions that LLVM may call in place of code, since an image has no C library to call.
#include "CPUTargetImpl.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "vx/Target/LLVMCPU/Passes.h"

using namespace mlir;

namespace vx::cpu {

static constexpr llvm::StringLiteral supportSource =
#include "SupportSource.inc"
    ;

const llvm::StringSet<> &supportFunctions() {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> result;
    llvm::StringRef rest = supportSource, opening = "func.func @";
    for (size_t at = rest.find(opening); at != llvm::StringRef::npos; at = rest.find(opening)) {
      rest = rest.drop_front(at + opening.size());
      result.insert(rest.take_until([](char c) { return c == '('; }));
    }
    return result;
  }();
  return names;
}

FailureOr<llvm::SmallVector<char, 0>> compileSupportLibrary(const TargetSpec &spec, std::string &error) {
  DialectRegistry registry;
  registerCPUTargetDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error += (error.empty() ? "" : ": ") + diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(supportSource, &context, "support.mlir");
  if (!module)
    return failure();
  PassManager pm(&context);
  buildCPULoweringPipeline(pm, spec);
  if (failed(pm.run(*module)))
    return failure();
  for (auto function : module->getOps<LLVM::LLVMFuncOp>())
    function.setVisibility_(LLVM::Visibility::Hidden);
  return compile(*module, spec, Output::Object);
}

} // namespace vx::cpu
