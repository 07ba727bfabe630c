#include "cuda_functions.h"

#include "base/log.h"
#include "base/thread_pool.h"

#include <cstring>
#include <system_error>
#include <thread>

namespace vx::cuda {

using hal::gpu::Handle;
using hal::gpu::Transfer;

//===-- Life ----------------------------------------------------------------------------------===//

Status CudaFunctions::open(const Library &library, const PhysicalDevice &physical, const hal::DeviceOptions &options,
                           const DriverOptions &driverOptions, std::unique_ptr<hal::gpu::Api> &api) {
  std::unique_ptr<CudaFunctions> opened(new CudaFunctions(library, physical, options, driverOptions));
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

// The text of a log's buffer, without the line feeds at its end.
static std::string_view textOf(const std::vector<char> &log) {
  std::string_view text(log.data(), strnlen(log.data(), log.size()));
  while (!text.empty() && text.back() == '\n')
    text.remove_suffix(1);
  return text;
}

Status CudaFunctions::assemble(const hal::CodeImage &image, AssembledPart &part, std::string &log) {
  std::vector<char> errors(16384), remarks(16384 + 1024 * part.kernels.size());
  auto number = [](uintptr_t value) { return reinterpret_cast<void *>(value); };
  std::vector<api::JitOption> options = {api::JitErrorLogBuffer, api::JitErrorLogBufferSizeBytes, api::JitInfoLogBuffer,
                                         api::JitInfoLogBufferSizeBytes, api::JitLogVerbose};
  std::vector<void *> values = {errors.data(), number(errors.size()), remarks.data(), number(remarks.size()),
                                number(1)}; // only then are spills in it
  // Instructions of one generation only want a target that says so; the context's own does not.
  if (image.variant.ends_with('a')) {
    options.push_back(api::JitTarget);
    values.push_back(number(api::AcceleratedTargetBase + static_cast<uintptr_t>(physical.major * 10 + physical.minor)));
  }
  api::LinkState state = nullptr;
  VX_RETURN_IF_ERROR(
      call(vendor.LinkCreate, static_cast<unsigned>(options.size()), options.data(), values.data(), &state));
  auto withLog = [&](Status status, std::string_view kernel) {
    const std::string_view text = textOf(errors);
    if (!text.empty())
      status = failure(status.code(), "{}: {}", status.message(), text);
    return kernel.empty() ? std::move(status)
                          : Status(std::move(status).addContext(fmt::format("kernel '{}'", kernel)));
  };
  Status status;
  for (uint32_t index : part.kernels) {
    const hal::KernelImage &kernel = image.kernels[index];
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
  if (status.ok()) {
    part.cubin.assign(static_cast<const uint8_t *>(assembled), static_cast<const uint8_t *>(assembled) + size);
    log = textOf(remarks);
  }
  vendor.LinkDestroy(state); // and with it what it assembled
  return status;
}

// More threads than that gain nothing on the largest networks.
static constexpr uint32_t MostAssemblers = 16;

Status CudaFunctions::assembleAll(const hal::CodeImage &image, std::vector<AssembledPart> &parts) {
  const uint32_t most = assemblers ? assemblers : std::min(usableCores(), MostAssemblers);
  for (std::vector<uint32_t> &kernels : shareKernels(image.kernels, most))
    parts.push_back({std::move(kernels), {}});
  std::vector<Status> results(parts.size());
  std::vector<std::string> logs(parts.size());
  auto work = [&](size_t i) {
    hal::gpu::Scope scope(*this);
    results[i] = assemble(image, parts[i], logs[i]);
  };
  std::vector<std::thread> threads;
  std::vector<size_t> own = {0};
  for (size_t i = 1; i < parts.size(); ++i) {
    try {
      threads.emplace_back(work, i);
    } catch (const std::system_error &) { // the system has no more threads
      own.push_back(i);
    }
  }
  for (size_t i : own)
    work(i);
  for (std::thread &thread : threads)
    thread.join();
  // One error, the same each time.
  for (Status &result : results)
    VX_RETURN_IF_ERROR(std::move(result));
  for (const std::string &log : logs)
    VX_RETURN_IF_ERROR(judge(image, log));
  return okStatus();
}

Status CudaFunctions::judge(const hal::CodeImage &image, std::string_view log) const {
  for (const CodeFinding &finding : findingsOf(log)) {
    std::string_view name = "?";
    for (const hal::KernelImage &kernel : image.kernels)
      if (kernel.entry == finding.entry)
        name = kernel.name;
    if (checksCode)
      return failure(VX_UNSUPPORTED, "kernel '{}': the assembler says '{}', which VX_CHECK_CODE makes an error", name,
                     finding.text);
    vx::log(VX_LOG_WARNING, "{}: kernel '{}' of variant '{}' is slower than it could be: the assembler says '{}'",
            image.file, name, image.variant, finding.text);
  }
  return okStatus();
}

Status CudaFunctions::loadParts(const hal::CodeImage &image, std::span<const AssembledPart> parts,
                                hal::gpu::LoadedCode &code) {
  code.functions.assign(image.kernels.size(), nullptr);
  for (const AssembledPart &part : parts) {
    api::Module module = nullptr;
    VX_RETURN_IF_ERROR(call(vendor.ModuleLoadDataEx, &module, part.cubin.data(), 0U, nullptr, nullptr));
    code.modules.push_back(module);
    for (uint32_t kernel : part.kernels)
      VX_RETURN_IF_ERROR(findFunction(module, image.kernels[kernel], code.functions[kernel]));
  }
  return okStatus();
}

Status CudaFunctions::load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) {
  code.functions.clear();
  if (image.kernels.empty())
    return okStatus();
  // A caller that checks code takes none that was not checked.
  const std::string assembler = fmt::format("CUDA {} {}.{} {} in parts{}", library->version(), physical.major,
                                            physical.minor, image.variant, checksCode ? ", checked" : "");
  if (const std::optional<std::vector<uint8_t>> cached = cache.load(image.bytes, assembler))
    if (const std::optional<std::vector<AssembledPart>> parts = unpackParts(*cached, image.kernels.size())) {
      if (Status status = loadParts(image, *parts, code); status.ok() || status.code() == VX_DEVICE_LOST)
        return status;
      // Code that the driver does not take any more is made anew.
      for (Handle module : code.modules)
        unload(module);
      code.modules.clear();
    }
  std::vector<AssembledPart> parts;
  VX_RETURN_IF_ERROR(assembleAll(image, parts));
  VX_RETURN_IF_ERROR(loadParts(image, parts, code));
  cache.store(image.bytes, assembler, packParts(parts));
  return okStatus();
}

} // namespace vx::cuda
