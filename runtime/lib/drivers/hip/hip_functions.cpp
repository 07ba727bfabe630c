#include "hip_functions.h"

#include <cstring>

namespace vx::hip {

using hal::gpu::Launch;
using hal::gpu::Transfer;

// An error after which the device is of no use to this process any more.
static bool isFatal(api::Result result) {
  switch (result) {
  case api::ErrorEccNotCorrectable:
  case api::ErrorIllegalAddress:
  case api::ErrorLaunchTimeOut:
  case api::ErrorContextIsDestroyed:
  case api::ErrorAssert:
  case api::ErrorLaunchFailure:
  case api::ErrorUnknown:
    return true;
  default:
    return false;
  }
}

Status HipFunctions::check(api::Result result, const char *call) {
  if (result == api::Success)
    return okStatus();
  const std::string words = describeResult(hip, result);
  if (isFatal(result)) {
    lost.store(true, std::memory_order_relaxed);
    return failure(VX_DEVICE_LOST, "device '{}' was lost: {}: {}", physical.info.name, call, words);
  }
  return failure(result == api::ErrorOutOfMemory ? VX_OUT_OF_MEMORY : VX_INTERNAL, "{} failed with {}", call, words);
}

//===-- Life
//----------------------------------------------------------------------------------------------------------===//

Status HipFunctions::open(const Library &library, const PhysicalDevice &physical,
                          std::unique_ptr<HipFunctions> &functions) {
  std::unique_ptr<HipFunctions> opened(new HipFunctions(library, physical));
  VX_RETURN_IF_ERROR(opened->initialise());
  functions = std::move(opened);
  return okStatus();
}

Status HipFunctions::initialise() {
  hal::gpu::Scope scope(*this);
  VX_RETURN_IF_ERROR(
      check(hip.StreamCreateWithFlags(&allocations, api::StreamNonBlocking), "hipStreamCreateWithFlags"));
  // A pool of our own, since how much the common one keeps is not ours to say.
  api::MemoryPoolProps props;
  props.locationId = physical.ordinal;
  VX_RETURN_IF_ERROR(check(hip.MemPoolCreate(&pool, &props), "hipMemPoolCreate"));
  uint64_t keepAll = UINT64_MAX;
  return check(hip.MemPoolSetAttribute(pool, api::PoolAttributeReleaseThreshold, &keepAll), "hipMemPoolSetAttribute");
}

HipFunctions::~HipFunctions() {
  hal::gpu::Scope scope(*this);
  if (allocations)
    hip.StreamSynchronize(allocations);
  if (pool)
    hip.MemPoolDestroy(pool);
  if (allocations)
    hip.StreamDestroy(allocations);
}

// The device that was current on this thread before each `enter`.
static thread_local std::vector<int> entered;

void HipFunctions::enter() {
  int before = 0;
  if (hip.GetDevice(&before) != api::Success)
    before = physical.ordinal;
  entered.push_back(before);
  if (before != physical.ordinal)
    (void)hip.SetDevice(physical.ordinal);
}

void HipFunctions::leave() {
  if (entered.back() != physical.ordinal)
    (void)hip.SetDevice(entered.back());
  entered.pop_back();
}

//===-- Memory
//--------------------------------------------------------------------------------------------------------===//

Status HipFunctions::allocate(uint64_t size, uint64_t &address) {
  void *allocated = nullptr;
  VX_RETURN_IF_ERROR(check(hip.MallocFromPoolAsync(&allocated, size, pool, allocations), "hipMallocFromPoolAsync"));
  address = reinterpret_cast<uint64_t>(allocated);
  return check(hip.StreamSynchronize(allocations), "hipStreamSynchronize");
}

void HipFunctions::free(uint64_t address) { (void)hip.FreeAsync(reinterpret_cast<void *>(address), allocations); }

void HipFunctions::trim() {
  hip.StreamSynchronize(allocations);
  hip.MemPoolTrimTo(pool, 0);
}

Status HipFunctions::memoryInfo(uint64_t &available, uint64_t &total) {
  size_t freeBytes = 0, totalBytes = 0;
  VX_RETURN_IF_ERROR(check(hip.MemGetInfo(&freeBytes, &totalBytes), "hipMemGetInfo"));
  available = freeBytes;
  total = totalBytes;
  return okStatus();
}

Status HipFunctions::allocateHost(uint64_t size, void *&host, uint64_t &address) {
  VX_RETURN_IF_ERROR(
      check(hip.HostMalloc(&host, size, api::HostMallocPortable | api::HostMallocMapped), "hipHostMalloc"));
  void *mapped = nullptr;
  Status status = check(hip.HostGetDevicePointer(&mapped, host, 0), "hipHostGetDevicePointer");
  address = reinterpret_cast<uint64_t>(mapped);
  if (!status.ok())
    freeHost(host);
  return status;
}

void HipFunctions::freeHost(void *host) { (void)hip.HostFree(host); }

//===-- Streams and events
//--------------------------------------------------------------------------------------------===//

Status HipFunctions::createStream(Handle &stream) {
  api::Stream created = nullptr;
  VX_RETURN_IF_ERROR(check(hip.StreamCreateWithFlags(&created, api::StreamNonBlocking), "hipStreamCreateWithFlags"));
  stream = created;
  return okStatus();
}

void HipFunctions::destroyStream(Handle stream) { hip.StreamDestroy(static_cast<api::Stream>(stream)); }

Status HipFunctions::synchronize(Handle stream) {
  return check(hip.StreamSynchronize(static_cast<api::Stream>(stream)), "hipStreamSynchronize");
}

Status HipFunctions::createEvent(bool timed, Handle &event) {
  api::Event created = nullptr;
  VX_RETURN_IF_ERROR(check(hip.EventCreateWithFlags(&created, timed ? api::EventDefault : api::EventDisableTiming),
                           "hipEventCreateWithFlags"));
  event = created;
  return okStatus();
}

void HipFunctions::destroyEvent(Handle event) { hip.EventDestroy(static_cast<api::Event>(event)); }

Status HipFunctions::recordEvent(Handle event, Handle stream) {
  return check(hip.EventRecord(static_cast<api::Event>(event), static_cast<api::Stream>(stream)), "hipEventRecord");
}

Status HipFunctions::waitForEvent(Handle event) {
  return check(hip.EventSynchronize(static_cast<api::Event>(event)), "hipEventSynchronize");
}

Status HipFunctions::elapsed(Handle begin, Handle end, double &nanoseconds) {
  float milliseconds = 0;
  VX_RETURN_IF_ERROR(
      check(hip.EventElapsedTime(&milliseconds, static_cast<api::Event>(begin), static_cast<api::Event>(end)),
            "hipEventElapsedTime"));
  nanoseconds = static_cast<double>(milliseconds) * 1e6;
  return okStatus();
}

//===-- Work
//----------------------------------------------------------------------------------------------------------===//

Status HipFunctions::copy(const Transfer &transfer, Handle stream) {
  return check(hip.MemcpyAsync(reinterpret_cast<void *>(transfer.destination),
                               reinterpret_cast<const void *>(transfer.source), transfer.size, api::MemcpyDefault,
                               static_cast<api::Stream>(stream)),
               "hipMemcpyAsync");
}

Status HipFunctions::fillZero(uint64_t address, uint64_t size, Handle stream) {
  return check(hip.MemsetAsync(reinterpret_cast<void *>(address), 0, size, static_cast<api::Stream>(stream)),
               "hipMemsetAsync");
}

Status HipFunctions::launch(const Launch &launch, Handle stream) {
  uint64_t block = launch.block;
  void *parameters[] = {&block};
  return check(hip.ModuleLaunchKernel(static_cast<api::Function>(launch.function), launch.gridX, launch.gridY, 1,
                                      launch.threads, 1, 1, 0, static_cast<api::Stream>(stream), parameters, nullptr),
               "hipModuleLaunchKernel");
}

//===-- Code
//----------------------------------------------------------------------------------------------------------===//

Status HipFunctions::load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) {
  code.functions.clear();
  for (const hal::KernelImage &kernel : image.kernels) {
    api::Module module = nullptr;
    VX_RETURN_IF_ERROR(check(hip.ModuleLoadData(&module, kernel.code.data()), "hipModuleLoadData")
                           .addContext(fmt::format("kernel '{}'", kernel.name)));
    code.modules.push_back(module);
    api::Function function = nullptr;
    const std::string entry(kernel.entry);
    const api::Result result = hip.ModuleGetFunction(&function, module, entry.c_str());
    if (result == api::ErrorNotFound)
      return failure(VX_INVALID_MODULE, "code has no function '{}' for kernel '{}'", entry, kernel.name);
    VX_RETURN_IF_ERROR(check(result, "hipModuleGetFunction"));
    code.functions.push_back(function);
  }
  return okStatus();
}

void HipFunctions::unload(Handle module) { hip.ModuleUnload(static_cast<api::Module>(module)); }

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
  params.func = launch.function;
  params.gridDim.x = launch.gridX;
  params.gridDim.y = launch.gridY;
  params.blockDim.x = launch.threads;
  params.kernelParams = parameters;
  return params;
}

Status HipFunctions::createGraph(Handle &graph) {
  api::Graph created = nullptr;
  VX_RETURN_IF_ERROR(check(hip.GraphCreate(&created, 0), "hipGraphCreate"));
  graph = created;
  return okStatus();
}

void HipFunctions::destroyGraph(Handle graph) { hip.GraphDestroy(static_cast<api::Graph>(graph)); }

Status HipFunctions::addKernel(Handle graph, std::span<const Handle> after, const Launch &launch, Handle &node) {
  const std::vector<api::GraphNode> dependencies = nodesOf(after);
  uint64_t block = launch.block;
  void *parameters[] = {&block};
  const api::KernelNodeParams params = nodeParams(launch, parameters);
  api::GraphNode created = nullptr;
  VX_RETURN_IF_ERROR(check(hip.GraphAddKernelNode(&created, static_cast<api::Graph>(graph), dependencies.data(),
                                                  dependencies.size(), &params),
                           "hipGraphAddKernelNode"));
  node = created;
  return okStatus();
}

Status HipFunctions::addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) {
  const std::vector<api::GraphNode> dependencies = nodesOf(after);
  api::GraphNode created = nullptr;
  VX_RETURN_IF_ERROR(check(hip.GraphAddMemcpyNode1D(&created, static_cast<api::Graph>(graph), dependencies.data(),
                                                    dependencies.size(), reinterpret_cast<void *>(transfer.destination),
                                                    reinterpret_cast<const void *>(transfer.source), transfer.size,
                                                    api::MemcpyDefault),
                           "hipGraphAddMemcpyNode1D"));
  node = created;
  return okStatus();
}

Status HipFunctions::addJoin(Handle graph, std::span<const Handle> after, Handle &node) {
  const std::vector<api::GraphNode> dependencies = nodesOf(after);
  api::GraphNode created = nullptr;
  VX_RETURN_IF_ERROR(
      check(hip.GraphAddEmptyNode(&created, static_cast<api::Graph>(graph), dependencies.data(), dependencies.size()),
            "hipGraphAddEmptyNode"));
  node = created;
  return okStatus();
}

Status HipFunctions::instantiate(Handle graph, Handle &executable) {
  api::GraphExec created = nullptr;
  VX_RETURN_IF_ERROR(check(hip.GraphInstantiateWithFlags(&created, static_cast<api::Graph>(graph), 0),
                           "hipGraphInstantiateWithFlags"));
  executable = created;
  return okStatus();
}

void HipFunctions::destroyExecutable(Handle executable) {
  hip.GraphExecDestroy(static_cast<api::GraphExec>(executable));
}

Status HipFunctions::setKernel(Handle executable, Handle node, const Launch &launch) {
  uint64_t block = launch.block;
  void *parameters[] = {&block};
  const api::KernelNodeParams params = nodeParams(launch, parameters);
  return check(hip.GraphExecKernelNodeSetParams(static_cast<api::GraphExec>(executable),
                                                static_cast<api::GraphNode>(node), &params),
               "hipGraphExecKernelNodeSetParams");
}

Status HipFunctions::setCopy(Handle executable, Handle node, const Transfer &transfer) {
  return check(hip.GraphExecMemcpyNodeSetParams1D(
                   static_cast<api::GraphExec>(executable), static_cast<api::GraphNode>(node),
                   reinterpret_cast<void *>(transfer.destination), reinterpret_cast<const void *>(transfer.source),
                   transfer.size, api::MemcpyDefault),
               "hipGraphExecMemcpyNodeSetParams1D");
}

Status HipFunctions::setEnabled(Handle executable, Handle node, bool enabled) {
  return check(hip.GraphNodeSetEnabled(static_cast<api::GraphExec>(executable), static_cast<api::GraphNode>(node),
                                       enabled ? 1 : 0),
               "hipGraphNodeSetEnabled");
}

Status HipFunctions::launchGraph(Handle executable, Handle stream) {
  return check(hip.GraphLaunch(static_cast<api::GraphExec>(executable), static_cast<api::Stream>(stream)),
               "hipGraphLaunch");
}

} // namespace vx::hip
