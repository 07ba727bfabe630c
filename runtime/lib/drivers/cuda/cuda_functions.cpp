#include "cuda_functions.h"

#include <cstring>

namespace vx::cuda {

using hal::gpu::Handle;
using hal::gpu::Transfer;

//===-- Life ----------------------------------------------------------------------------------===//

Status CudaFunctions::open(const Library &library, const PhysicalDevice &physical, const hal::DeviceOptions &options,
                           const std::string &cacheFolder, std::unique_ptr<hal::gpu::Api> &api) {
  std::unique_ptr<CudaFunctions> opened(new CudaFunctions(library, physical, options, cacheFolder));
  VX_RETURN_IF_ERROR(opened->initialise());
  api = std::move(opened);
  return okStatus();
}

Status CudaFunctions::initialise() {
  // The context that the process's other users of CUDA share: memory and streams of theirs are good here.
  VX_RETURN_IF_ERROR(call(vendor.DevicePrimaryCtxRetain, &context, physical.handle));
  hal::gpu::Scope scope(*this);
  return createPool(physical.handle);
}

CudaFunctions::~CudaFunctions() {
  if (!context || isHung())
    return;
  enter();
  destroyPool();
  leave();
  vendor.DevicePrimaryCtxRelease(physical.handle);
}

void CudaFunctions::enter() { vendor.CtxPushCurrent(context); }

void CudaFunctions::leave() {
  api::Context popped = nullptr;
  vendor.CtxPopCurrent(&popped);
}

//===-- Copies --------------------------------------------------------------------------------===//

Status CudaFunctions::copy(const Transfer &transfer, Handle stream) {
  return call(vendor.MemcpyAsync, transfer.destination, transfer.source, transfer.size, stream);
}

static api::Memcpy3D nodeParams(const Transfer &transfer) {
  api::Memcpy3D params;
  params.srcDevice = transfer.source;
  params.dstDevice = transfer.destination;
  params.srcPitch = params.dstPitch = params.WidthInBytes = transfer.size;
  params.srcHeight = params.dstHeight = 1;
  return params;
}

Status CudaFunctions::addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) {
  const api::Memcpy3D params = nodeParams(transfer);
  return call(vendor.GraphAddMemcpyNode, &node, graph, after.data(), after.size(), &params, context);
}

Status CudaFunctions::setCopy(Handle executable, Handle node, const Transfer &transfer) {
  const api::Memcpy3D params = nodeParams(transfer);
  return call(vendor.GraphExecMemcpyNodeSetParams, executable, node, &params, context);
}

//===-- Code ----------------------------------------------------------------------------------===//

Status CudaFunctions::assemble(const hal::CodeImage &image, std::vector<uint8_t> &cubin) {
  std::vector<char> log(16384);
  std::vector<api::JitOption> options = {api::JitErrorLogBuffer, api::JitErrorLogBufferSizeBytes};
  std::vector<void *> values = {log.data(), reinterpret_cast<void *>(static_cast<uintptr_t>(log.size()))};
  // Instructions of one generation only want a target that says so; the context's own does not.
  if (image.variant.ends_with('a')) {
    options.push_back(api::JitTarget);
    values.push_back(reinterpret_cast<void *>(static_cast<uintptr_t>(api::AcceleratedTargetBase) +
                                              static_cast<uintptr_t>(physical.major * 10 + physical.minor)));
  }
  api::LinkState state = nullptr;
  VX_RETURN_IF_ERROR(
      call(vendor.LinkCreate, static_cast<unsigned>(options.size()), options.data(), values.data(), &state));
  auto withLog = [&](Status status, std::string_view kernel) {
    std::string_view text(log.data());
    while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
      text.remove_suffix(1);
    std::string context = kernel.empty() ? "" : fmt::format("kernel '{}'", kernel);
    if (!text.empty())
      status = failure(status.code(), "{}: {}", status.message(), text);
    return kernel.empty() ? std::move(status) : Status(std::move(status).addContext(context));
  };
  Status status;
  for (const hal::KernelImage &kernel : image.kernels) {
    // The driver wants a text to end with a zero.
    std::string text(reinterpret_cast<const char *>(kernel.code.data()), kernel.code.size());
    const std::string name(kernel.entry);
    status = call(vendor.LinkAddData, state, api::JitInputPtx, text.data(), text.size() + 1, name.c_str(), 0U, nullptr,
                  nullptr);
    if (!status.ok()) {
      status = withLog(std::move(status), kernel.name);
      break;
    }
  }
  void *assembled = nullptr;
  size_t size = 0;
  if (status.ok()) {
    status = call(vendor.LinkComplete, state, &assembled, &size);
    if (!status.ok())
      status = withLog(std::move(status), "");
  }
  if (status.ok())
    cubin.assign(static_cast<const uint8_t *>(assembled), static_cast<const uint8_t *>(assembled) + size);
  vendor.LinkDestroy(state); // and with it what it assembled
  return status;
}

Status CudaFunctions::load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) {
  code.functions.clear();
  if (image.kernels.empty())
    return okStatus();
  const std::string assembler =
      fmt::format("CUDA {} {}.{} {}", library->version(), physical.major, physical.minor, image.variant);
  std::optional<std::vector<uint8_t>> cached = cache.load(image.bytes, assembler);
  std::vector<uint8_t> cubin;
  api::Module module = nullptr;
  if (cached) {
    // One that the driver does not take any more is made anew.
    cubin = std::move(*cached);
    if (vendor.ModuleLoadDataEx(&module, cubin.data(), 0, nullptr, nullptr) != api::Success)
      module = nullptr;
  }
  if (!module) {
    VX_RETURN_IF_ERROR(assemble(image, cubin));
    VX_RETURN_IF_ERROR(call(vendor.ModuleLoadDataEx, &module, cubin.data(), 0U, nullptr, nullptr));
    cache.store(image.bytes, assembler, cubin);
  }
  code.modules.push_back(module);
  for (const hal::KernelImage &kernel : image.kernels)
    VX_RETURN_IF_ERROR(findFunction(module, kernel, code.functions.emplace_back()));
  return okStatus();
}

} // namespace vx::cuda
