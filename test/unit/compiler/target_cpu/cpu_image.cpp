#include "cpu_image.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>
#include <unistd.h>

using namespace mlir;

namespace vx::test {

TargetSpec namedSpec(const std::string &variant) {
  std::string error;
  return createCPUTarget()->variants({variant}, error)->front();
}

std::vector<TargetSpec> runnableSpecs() {
  std::vector<TargetSpec> result;
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const char *name : {"avx512", "x86-64-v3", "x86-64-v2", "generic"}) {
    TargetSpec spec = namedSpec(name);
    if (llvm::all_of(spec.requires_, [&](const std::string &feature) { return host.lookup(feature); }))
      result.push_back(spec);
  }
  return result;
}

TargetSpec hostSpec() { return runnableSpecs().front(); }

FailureOr<KernelBinary> compileKernel(const std::string &text, const TargetSpec &spec, std::string &error) {
  DialectRegistry registry;
  registerCPUTargetDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error += (error.empty() ? "" : "\n") + diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return failure();
  PassManager pm(&context);
  buildCPULoweringPipeline(pm, spec);
  if (failed(pm.run(*module)))
    return failure();
  return createCPUTarget()->serialize(*module, spec, error);
}

FailureOr<LinkedImage> linkKernels(const std::vector<KernelBinary> &kernels, const TargetSpec &spec,
                                   std::string &error) {
  return createCPUTarget()->link(kernels, spec, error);
}

Image::~Image() {
  if (handle)
    dlclose(handle);
}

bool Image::build(const std::vector<std::string> &kernels, const TargetSpec &spec) {
  std::vector<KernelBinary> binaries;
  for (const std::string &text : kernels) {
    FailureOr<KernelBinary> binary = compileKernel(text, spec, error);
    if (failed(binary))
      return false;
    binaries.push_back(std::move(*binary));
  }
  FailureOr<LinkedImage> result = createCPUTarget()->link(binaries, spec, error);
  if (failed(result))
    return false;
  linked = std::move(*result);
  return load(linked);
}

bool Image::load(const LinkedImage &image) {
  llvm::SmallString<128> path;
  int descriptor = -1;
  if (llvm::sys::fs::createTemporaryFile("vx-image", "so", descriptor, path)) {
    error = "no temporary file";
    return false;
  }
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream.write(image.bytes.data(), image.bytes.size());
  }
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    error = dlerror();
  llvm::sys::fs::remove(path);
  return handle != nullptr;
}

vx_cpu_kernel Image::find(const std::string &entry) const {
  return reinterpret_cast<vx_cpu_kernel>(dlsym(handle, entry.c_str()));
}

void Dispatch::run(vx_cpu_kernel kernel) {
  std::vector<uint64_t> block = {reinterpret_cast<uint64_t>(&fault), reinterpret_cast<uint64_t>(workspace), workgroups,
                                 faultSite};
  for (void *buffer : buffers)
    block.push_back(reinterpret_cast<uint64_t>(buffer));
  for (int64_t scalar : scalars)
    block.push_back(static_cast<uint64_t>(scalar));
  uint64_t width = std::min<uint64_t>(workgroups, VX_GRID_X), height = (workgroups + VX_GRID_X - 1) / VX_GRID_X;
  for (uint64_t y = 0; y < height; ++y)
    for (uint64_t x = 0; x < width; ++x)
      kernel(block.data(), static_cast<uint32_t>(x), static_cast<uint32_t>(y));
}

} // namespace vx::test
