#include "cuda_functions.h"

#include <cstring>

namespace vx::cuda {

using hal::gpu::Launch;
using hal::gpu::Transfer;

// An error after which the context is of no use any more.
static bool isFatal(api::Result result) {
  switch (result) {
  case api::ErrorEccUncorrectable:
  case api::ErrorNvlinkUncorrectable:
  case api::ErrorContained:
  case api::ErrorIllegalAddress:
  case api::ErrorLaunchTimeout:
  case api::ErrorContextIsDestroyed:
  case api::ErrorAssert:
  case api::ErrorHardwareStackError:
  case api::ErrorIllegalInstruction:
  case api::ErrorMisalignedAddress:
  case api::ErrorInvalidAddressSpace:
  case api::ErrorInvalidPc:
  case api::ErrorLaunchFailed:
  case api::ErrorUnknown:
    return true;
  default:
    return false;
  }
}

Status CudaFunctions::check(api::Result result, const char *call) {
  if (result == api::Success)
    return okStatus();
  const std::string words = describeResult(cuda, result);
  if (isFatal(result)) {
    lost.store(true, std::memory_order_relaxed);
    return failure(VX_DEVICE_LOST, "device '{}' was lost: {}: {}", physical.info.name, call, words);
  }
  return failure(result == api::ErrorOutOfMemory ? VX_OUT_OF_MEMORY : VX_INTERNAL, "{} failed with {}", call, words);
}

//===-- Life
//----------------------------------------------------------------------------------------------------------===//

Status CudaFunctions::open(const Library &library, const PhysicalDevice &physical, const std::string &cacheFolder,
                           std::unique_ptr<CudaFunctions> &functions) {
  std::unique_ptr<CudaFunctions> opened(new CudaFunctions(library, physical, cacheFolder));
  VX_RETURN_IF_ERROR(opened->initialise());
  functions = std::move(opened);
  return okStatus();
}

Status CudaFunctions::initialise() {
  // The context that the process's other users of CUDA share: memory and streams of theirs are good here.
  VX_RETURN_IF_ERROR(check(cuda.DevicePrimaryCtxRetain(&context, physical.handle), "cuDevicePrimaryCtxRetain"));
  hal::gpu::Scope scope(*this);
  VX_RETURN_IF_ERROR(check(cuda.StreamCreate(&allocations, api::StreamNonBlocking), "cuStreamCreate"));
  // A pool of our own, since how much the common one keeps is not ours to say.
  api::MemoryPoolProps props;
  props.locationId = physical.handle;
  VX_RETURN_IF_ERROR(check(cuda.MemPoolCreate(&pool, &props), "cuMemPoolCreate"));
  uint64_t keepAll = UINT64_MAX;
  return check(cuda.MemPoolSetAttribute(pool, api::PoolAttributeReleaseThreshold, &keepAll), "cuMemPoolSetAttribute");
}

CudaFunctions::~CudaFunctions() {
  if (!context)
    return;
  enter();
  if (allocations)
    cuda.StreamSynchronize(allocations);
  if (pool)
    cuda.MemPoolDestroy(pool);
  if (allocations)
    cuda.StreamDestroy(allocations);
  leave();
  cuda.DevicePrimaryCtxRelease(physical.handle);
}

void CudaFunctions::enter() { cuda.CtxPushCurrent(context); }

void CudaFunctions::leave() {
  api::Context popped = nullptr;
  cuda.CtxPopCurrent(&popped);
}

//===-- Memory
//--------------------------------------------------------------------------------------------------------===//

Status CudaFunctions::allocate(uint64_t size, uint64_t &address) {
  VX_RETURN_IF_ERROR(check(cuda.MemAllocFromPoolAsync(&address, size, pool, allocations), "cuMemAllocFromPoolAsync"));
  return check(cuda.StreamSynchronize(allocations), "cuStreamSynchronize");
}

void CudaFunctions::free(uint64_t address) { cuda.MemFreeAsync(address, allocations); }

void CudaFunctions::trim() {
  cuda.StreamSynchronize(allocations);
  cuda.MemPoolTrimTo(pool, 0);
}

Status CudaFunctions::memoryInfo(uint64_t &available, uint64_t &total) {
  size_t freeBytes = 0, totalBytes = 0;
  VX_RETURN_IF_ERROR(check(cuda.MemGetInfo(&freeBytes, &totalBytes), "cuMemGetInfo"));
  available = freeBytes;
  total = totalBytes;
  return okStatus();
}

Status CudaFunctions::allocateHost(uint64_t size, void *&host, uint64_t &address) {
  VX_RETURN_IF_ERROR(
      check(cuda.MemHostAlloc(&host, size, api::HostAllocPortable | api::HostAllocDeviceMap), "cuMemHostAlloc"));
  Status status = check(cuda.MemHostGetDevicePointer(&address, host, 0), "cuMemHostGetDevicePointer");
  if (!status.ok())
    freeHost(host);
  return status;
}

void CudaFunctions::freeHost(void *host) { cuda.MemFreeHost(host); }

//===-- Streams and events
//--------------------------------------------------------------------------------------------===//

Status CudaFunctions::createStream(Handle &stream) {
  api::Stream created = nullptr;
  VX_RETURN_IF_ERROR(check(cuda.StreamCreate(&created, api::StreamNonBlocking), "cuStreamCreate"));
  stream = created;
  return okStatus();
}

void CudaFunctions::destroyStream(Handle stream) { cuda.StreamDestroy(static_cast<api::Stream>(stream)); }

Status CudaFunctions::synchronize(Handle stream) {
  return check(cuda.StreamSynchronize(static_cast<api::Stream>(stream)), "cuStreamSynchronize");
}

Status CudaFunctions::createEvent(bool timed, Handle &event) {
  api::Event created = nullptr;
  VX_RETURN_IF_ERROR(
      check(cuda.EventCreate(&created, timed ? api::EventDefault : api::EventDisableTiming), "cuEventCreate"));
  event = created;
  return okStatus();
}

void CudaFunctions::destroyEvent(Handle event) { cuda.EventDestroy(static_cast<api::Event>(event)); }

Status CudaFunctions::recordEvent(Handle event, Handle stream) {
  return check(cuda.EventRecord(static_cast<api::Event>(event), static_cast<api::Stream>(stream)), "cuEventRecord");
}

Status CudaFunctions::waitForEvent(Handle event) {
  return check(cuda.EventSynchronize(static_cast<api::Event>(event)), "cuEventSynchronize");
}

Status CudaFunctions::elapsed(Handle begin, Handle end, double &nanoseconds) {
  float milliseconds = 0;
  VX_RETURN_IF_ERROR(
      check(cuda.EventElapsedTime(&milliseconds, static_cast<api::Event>(begin), static_cast<api::Event>(end)),
            "cuEventElapsedTime"));
  nanoseconds = static_cast<double>(milliseconds) * 1e6;
  return okStatus();
}

//===-- Work
//----------------------------------------------------------------------------------------------------------===//

Status CudaFunctions::copy(const Transfer &transfer, Handle stream) {
  return check(cuda.MemcpyAsync(transfer.destination, transfer.source, transfer.size, static_cast<api::Stream>(stream)),
               "cuMemcpyAsync");
}

Status CudaFunctions::fillZero(uint64_t address, uint64_t size, Handle stream) {
  return check(cuda.MemsetD8Async(address, 0, size, static_cast<api::Stream>(stream)), "cuMemsetD8Async");
}

Status CudaFunctions::launch(const Launch &launch, Handle stream) {
  uint64_t block = launch.block;
  void *parameters[] = {&block};
  return check(cuda.LaunchKernel(static_cast<api::Function>(launch.function), launch.gridX, launch.gridY, 1,
                                 launch.threads, 1, 1, 0, static_cast<api::Stream>(stream), parameters, nullptr),
               "cuLaunchKernel");
}

//===-- Code
//----------------------------------------------------------------------------------------------------------===//

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
  VX_RETURN_IF_ERROR(check(
      cuda.LinkCreate(static_cast<unsigned>(options.size()), options.data(), values.data(), &state), "cuLinkCreate"));
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
    status = check(
        cuda.LinkAddData(state, api::JitInputPtx, text.data(), text.size() + 1, name.c_str(), 0, nullptr, nullptr),
        "cuLinkAddData");
    if (!status.ok()) {
      status = withLog(std::move(status), kernel.name);
      break;
    }
  }
  void *assembled = nullptr;
  size_t size = 0;
  if (status.ok()) {
    status = check(cuda.LinkComplete(state, &assembled, &size), "cuLinkComplete");
    if (!status.ok())
      status = withLog(std::move(status), "");
  }
  if (status.ok())
    cubin.assign(static_cast<const uint8_t *>(assembled), static_cast<const uint8_t *>(assembled) + size);
  cuda.LinkDestroy(state); // and with it what it assembled
  return status;
}

Status CudaFunctions::load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) {
  code.functions.clear();
  if (image.kernels.empty())
    return okStatus();
  const std::string assembler =
      fmt::format("CUDA {} {}.{} {}", driverVersion, physical.major, physical.minor, image.variant);
  std::optional<std::vector<uint8_t>> cached = cache.load(image.bytes, assembler);
  std::vector<uint8_t> cubin;
  api::Module module = nullptr;
  if (cached) {
    // One that the driver does not take any more is made anew.
    cubin = std::move(*cached);
    if (cuda.ModuleLoadDataEx(&module, cubin.data(), 0, nullptr, nullptr) != api::Success)
      module = nullptr;
  }
  if (!module) {
    VX_RETURN_IF_ERROR(assemble(image, cubin));
    VX_RETURN_IF_ERROR(check(cuda.ModuleLoadDataEx(&module, cubin.data(), 0, nullptr, nullptr), "cuModuleLoadDataEx"));
    cache.store(image.bytes, assembler, cubin);
  }
  code.modules.push_back(module);
  for (const hal::KernelImage &kernel : image.kernels) {
    api::Function function = nullptr;
    const std::string entry(kernel.entry);
    const api::Result result = cuda.ModuleGetFunction(&function, module, entry.c_str());
    if (result == api::ErrorNotFound)
      return failure(VX_INVALID_MODULE, "code has no function '{}' for kernel '{}'", entry, kernel.name);
    VX_RETURN_IF_ERROR(check(result, "cuModuleGetFunction"));
    code.functions.push_back(function);
  }
  return okStatus();
}

void CudaFunctions::unload(Handle module) { cuda.ModuleUnload(static_cast<api::Module>(module)); }

//===-- Graphs
//--------------------------------------------------------------------------------------------------------===//

static std::vector<api::GraphNode> nodesOf(std::span<const Handle> handles) {
  std::vector<api::GraphNode> nodes;
  for (Handle handle : handles)
    nodes.push_back(static_cast<api::GraphNode>(handle));
  return nodes;
}

// `parameters` is what the result points to.
static api::KernelNodeParams nodeParams(const Launch &launch, void **parameters) {
  api::KernelNodeParams params;
  params.func = static_cast<api::Function>(launch.function);
  params.gridDimX = launch.gridX;
  params.gridDimY = launch.gridY;
  params.blockDimX = launch.threads;
  params.kernelParams = parameters;
  return params;
}

static api::Memcpy3D nodeParams(const Transfer &transfer) {
  api::Memcpy3D params;
  params.srcDevice = transfer.source;
  params.dstDevice = transfer.destination;
  params.srcPitch = params.dstPitch = params.WidthInBytes = transfer.size;
  params.srcHeight = params.dstHeight = 1;
  return params;
}

Status CudaFunctions::createGraph(Handle &graph) {
  api::Graph created = nullptr;
  VX_RETURN_IF_ERROR(check(cuda.GraphCreate(&created, 0), "cuGraphCreate"));
  graph = created;
  return okStatus();
}

void CudaFunctions::destroyGraph(Handle graph) { cuda.GraphDestroy(static_cast<api::Graph>(graph)); }

Status CudaFunctions::addKernel(Handle graph, std::span<const Handle> after, const Launch &launch, Handle &node) {
  const std::vector<api::GraphNode> dependencies = nodesOf(after);
  uint64_t block = launch.block;
  void *parameters[] = {&block};
  const api::KernelNodeParams params = nodeParams(launch, parameters);
  api::GraphNode created = nullptr;
  VX_RETURN_IF_ERROR(check(cuda.GraphAddKernelNode(&created, static_cast<api::Graph>(graph), dependencies.data(),
                                                   dependencies.size(), &params),
                           "cuGraphAddKernelNode"));
  node = created;
  return okStatus();
}

Status CudaFunctions::addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) {
  const std::vector<api::GraphNode> dependencies = nodesOf(after);
  const api::Memcpy3D params = nodeParams(transfer);
  api::GraphNode created = nullptr;
  VX_RETURN_IF_ERROR(check(cuda.GraphAddMemcpyNode(&created, static_cast<api::Graph>(graph), dependencies.data(),
                                                   dependencies.size(), &params, context),
                           "cuGraphAddMemcpyNode"));
  node = created;
  return okStatus();
}

Status CudaFunctions::addJoin(Handle graph, std::span<const Handle> after, Handle &node) {
  const std::vector<api::GraphNode> dependencies = nodesOf(after);
  api::GraphNode created = nullptr;
  VX_RETURN_IF_ERROR(
      check(cuda.GraphAddEmptyNode(&created, static_cast<api::Graph>(graph), dependencies.data(), dependencies.size()),
            "cuGraphAddEmptyNode"));
  node = created;
  return okStatus();
}

Status CudaFunctions::instantiate(Handle graph, Handle &executable) {
  api::GraphExec created = nullptr;
  VX_RETURN_IF_ERROR(check(cuda.GraphInstantiateWithFlags(&created, static_cast<api::Graph>(graph), 0),
                           "cuGraphInstantiateWithFlags"));
  executable = created;
  return okStatus();
}

void CudaFunctions::destroyExecutable(Handle executable) {
  cuda.GraphExecDestroy(static_cast<api::GraphExec>(executable));
}

Status CudaFunctions::setKernel(Handle executable, Handle node, const Launch &launch) {
  uint64_t block = launch.block;
  void *parameters[] = {&block};
  const api::KernelNodeParams params = nodeParams(launch, parameters);
  return check(cuda.GraphExecKernelNodeSetParams(static_cast<api::GraphExec>(executable),
                                                 static_cast<api::GraphNode>(node), &params),
               "cuGraphExecKernelNodeSetParams");
}

Status CudaFunctions::setCopy(Handle executable, Handle node, const Transfer &transfer) {
  const api::Memcpy3D params = nodeParams(transfer);
  return check(cuda.GraphExecMemcpyNodeSetParams(static_cast<api::GraphExec>(executable),
                                                 static_cast<api::GraphNode>(node), &params, context),
               "cuGraphExecMemcpyNodeSetParams");
}

Status CudaFunctions::setEnabled(Handle executable, Handle node, bool enabled) {
  return check(cuda.GraphNodeSetEnabled(static_cast<api::GraphExec>(executable), static_cast<api::GraphNode>(node),
                                        enabled ? 1 : 0),
               "cuGraphNodeSetEnabled");
}

Status CudaFunctions::launchGraph(Handle executable, Handle stream) {
  return check(cuda.GraphLaunch(static_cast<api::GraphExec>(executable), static_cast<api::Stream>(stream)),
               "cuGraphLaunch");
}

} // namespace vx::cuda
