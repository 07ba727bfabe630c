// Kernels that no pipeline makes: what each target says instead of writing code.
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "vx/Target/CUDA.h"
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "vx/Target/ROCM.h"
#include "vx/Target/Vulkan.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace vx;

namespace {

/// A backend and the variant that it makes by itself.
struct Target {
  std::unique_ptr<TargetBackend> backend;
  void (*registerDialects)(DialectRegistry &);

  TargetSpec spec() const {
    std::string error;
    FailureOr<std::vector<TargetSpec>> specs = backend->variants({}, error);
    EXPECT_TRUE(succeeded(specs)) << error;
    return specs->front();
  }

  /// The errors of serialising `text`, one a line.
  std::string errorsOf(llvm::StringRef text, const TargetSpec &spec) const {
    DialectRegistry registry;
    registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    std::string errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors += (errors.empty() ? "" : "\n") + diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module) << errors;
    std::string failure;
    EXPECT_TRUE(failed(backend->serialize(*module, spec, failure)));
    EXPECT_EQ(failure, "");
    return errors;
  }
  std::string errorsOf(llvm::StringRef text) const { return errorsOf(text, spec()); }
};

Target cpu() { return {createCPUTarget(), registerCPUTargetDialects}; }
Target cuda() { return {createCUDABackend(), registerCUDATargetDialects}; }
Target rocm() { return {createROCMBackend(), registerROCMTargetDialects}; }
Target vulkan() { return {createVulkanBackend(), registerVulkanTargetDialects}; }

const char *const oneKernel = "llvm.func @k() { llvm.return }";

TEST(Serialize, wantsOneEntry) {
  for (const Target &target : {cpu(), cuda(), rocm()}) {
    EXPECT_EQ(target.errorsOf("module {}"), "kernel module has no entry");
    EXPECT_EQ(target.errorsOf("llvm.func @a() { llvm.return } llvm.func @b() { llvm.return }"),
              "'llvm.func' op is a second entry of one kernel, the first is 'a'");
  }
  EXPECT_EQ(vulkan().errorsOf("module {}"), "expects one 'spirv.module', got 0");
  EXPECT_EQ(vulkan().errorsOf("spirv.module Logical GLSL450 {}"), "expects one entry point, got 0");
}

TEST(Serialize, wantsATriple) {
  TargetSpec spec = cpu().spec();
  spec.triple = "abacus-unknown-none";
  EXPECT_EQ(cpu().errorsOf(oneKernel, spec).find("target 'cpu' variant '" + spec.variant + "': "), 0u);
}

TEST(Serialize, wantsWhatLLVMHas) {
  const char *const foreign = "llvm.func @k() { %0 = index.constant 1 llvm.return }";
  for (const Target &target : {cpu(), cuda(), rocm()}) {
    const std::string errors = target.errorsOf(foreign), name = target.backend->name().str();
    EXPECT_NE(errors.find("\ntarget '" + name + "': kernel does not translate to LLVM IR"), std::string::npos)
        << errors;
  }
}

TEST(Serialize, suppliesNoFunctions) {
  const char *const calls = "llvm.func @outside() llvm.func @k() { llvm.call @outside() : () -> () llvm.return }";
  for (const Target &target : {cuda(), rocm()})
    EXPECT_EQ(target.errorsOf(calls),
              "kernel calls 'outside', which vx does not supply on target '" + target.backend->name().str() + "'");
}

TEST(Link, wantsObjectCode) {
  std::string error;
  EXPECT_TRUE(failed(cpu().backend->link({KernelBinary{"k", {'t', 'e', 'x', 't'}, "", ""}}, cpu().spec(), error)));
  EXPECT_EQ(error.find("kernel 'k': object code: "), 0u) << error;
}

// An image of no kernel holds the support functions.
TEST(Link, saysWhyTheSupportFunctionsFail) {
  TargetSpec spec = cpu().spec();
  spec.variant = "mine";
  spec.triple = "abacus-unknown-none";
  std::string error;
  EXPECT_TRUE(failed(cpu().backend->link({}, spec, error)));
  EXPECT_EQ(error.find("support functions of variant 'mine': target 'cpu' variant 'mine': "), 0u) << error;
}

} // namespace
