// A libcuda of the tests, over host memory.
#include "cuda_api.h"

#include <chrono>
#include <thread>
#include <vector>

#define VX_STAND_IN_FUNCTIONS VX_CUDA_FUNCTIONS
#define VX_STAND_IN_GET_VERSION "cuDriverGetVersion"
#define VX_STAND_IN_VERSION 12020

namespace vx::test {

using namespace cuda::api;

struct Grid {
  unsigned x = 0, y = 0, threads = 0;
};
static Grid gridOf(const KernelNodeParams &params) { return {params.gridDimX, params.gridDimY, params.blockDimX}; }

// A function that works without a context would fail on a GPU. A context is the place of its device here.
static char contexts[8];
static thread_local std::vector<Context> current;
static int currentDevice() {
  return current.empty() ? -1 : static_cast<int>(static_cast<char *>(current.back()) - contexts);
}

} // namespace vx::test

#include "gpu/stand_in_functions.h"

namespace vx::test {

Result GetErrorName(Result error, const char **text) {
  switch (error) {
  case ErrorOutOfMemory:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case ErrorNoDevice:
    *text = "CUDA_ERROR_NO_DEVICE";
    break;
  case ErrorInvalidHandle:
    *text = "CUDA_ERROR_INVALID_HANDLE";
    break;
  case ErrorIllegalAddress:
    *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
    break;
  case ErrorLaunchTimeout:
    *text = "CUDA_ERROR_LAUNCH_TIMEOUT";
    break;
  default:
    *text = "CUDA_ERROR_OTHER";
  }
  return Success;
}
Result GetErrorString(Result error, const char **text) {
  *text = errorText(error);
  return Success;
}

//===-- Devices and contexts ------------------------------------------------------------------===//

Result DeviceGet(Device *device, int ordinal) {
  CALL(DeviceGet, ordinal);
  *device = ordinal;
  return Success;
}
Result DeviceGetName(char *name, int length, Device device) {
  CALL(DeviceGetName, device);
  std::strncpy(name, device == 0 ? "Stand-in 0" : "Stand-in 1", static_cast<size_t>(length));
  return Success;
}
Result DeviceTotalMem(size_t *bytes, Device device) {
  CALL(DeviceTotalMem, device);
  *bytes = vx_stand_in()->totalMemory;
  return Success;
}
Result DeviceGetAttribute(int *value, DeviceAttribute attribute, Device) {
  CALL(DeviceGetAttribute, static_cast<int>(attribute));
  const GpuStandIn &stand = *vx_stand_in();
  switch (attribute) {
  case AttributeMaxThreadsPerBlock:
    *value = 1024;
    break;
  case AttributeMaxSharedMemoryPerBlock:
    *value = 49152;
    break;
  case AttributeMultiprocessorCount:
    *value = 132;
    break;
  case AttributeIntegrated:
    *value = stand.sharesMemory;
    break;
  case AttributePageableMemoryAccess:
    *value = stand.readsPages;
    break;
  case AttributeUnifiedAddressing:
    *value = stand.isUnified;
    break;
  case AttributeMemoryPoolsSupported:
    *value = stand.hasPools;
    break;
  case AttributeComputeCapabilityMajor:
    *value = stand.capability / 10;
    break;
  case AttributeComputeCapabilityMinor:
    *value = stand.capability % 10;
    break;
  }
  return Success;
}
Result DevicePrimaryCtxRetain(Context *context, Device device) {
  CALL(DevicePrimaryCtxRetain, device);
  *context = vx_stand_in()->made(contexts + device);
  return Success;
}
Result DevicePrimaryCtxRelease(Device device) {
  CALL(DevicePrimaryCtxRelease, device);
  vx_stand_in()->givenBack(contexts + device);
  return Success;
}
Result CtxPushCurrent(Context context) {
  current.push_back(context);
  return Success;
}
Result CtxPopCurrent(Context *context) {
  if (current.empty())
    return ErrorInvalidValue;
  *context = current.back();
  current.pop_back();
  return Success;
}

//===-- Copies --------------------------------------------------------------------------------===//

Result MemcpyAsync(DevicePtr destination, DevicePtr source, size_t size, Stream stream) {
  return copyBytes(destination, source, size, stream);
}
Result MemsetAsync(DevicePtr destination, unsigned char value, size_t size, Stream stream) {
  return fillBytes(destination, value, size, stream);
}
static uint64_t sizeOf(const Memcpy3D &params) { return params.WidthInBytes * params.Height * params.Depth; }
Result GraphAddMemcpyNode(GraphNode *node, Graph graph, const GraphNode *, size_t dependencies, const Memcpy3D *params,
                          Context) {
  return addCopy(node, graph, dependencies, params->dstDevice, params->srcDevice, sizeOf(*params));
}
Result GraphExecMemcpyNodeSetParams(GraphExec executable, GraphNode node, const Memcpy3D *params, Context) {
  return setCopy(executable, node, params->dstDevice, params->srcDevice, sizeOf(*params));
}

//===-- The assembler -------------------------------------------------------------------------===//

// The cubin of a link, and the place of its remarks.
struct Link {
  std::string cubin = "cubin", info;
  char *infoBuffer = nullptr;
  size_t infoSize = 0;
  bool isVerbose = false;
};

Result LinkCreate(unsigned numOptions, JitOption *options, void **values, LinkState *state) {
  uintptr_t target = 0;
  auto link = std::make_unique<Link>();
  for (unsigned i = 0; i < numOptions; ++i) {
    const auto number = reinterpret_cast<uintptr_t>(values[i]);
    switch (options[i]) {
    case JitTarget:
      target = number;
      break;
    case JitErrorLogBuffer:
      std::strcpy(static_cast<char *>(values[i]), vx_stand_in()->jitLog.c_str());
      break;
    case JitInfoLogBuffer:
      link->infoBuffer = static_cast<char *>(values[i]);
      break;
    case JitInfoLogBufferSizeBytes:
      link->infoSize = number;
      break;
    case JitLogVerbose:
      link->isVerbose = number;
      break;
    case JitErrorLogBufferSizeBytes:
      break;
    }
  }
  CALL_ON_DEVICE(LinkCreate, target);
  GpuStandIn &stand = *vx_stand_in();
  const int open = ++stand.openLinks;
  for (int most = stand.mostOpenLinks; most < open && !stand.mostOpenLinks.compare_exchange_weak(most, open);) {
  }
  *state = stand.made(link.release());
  return Success;
}
Result LinkAddData(LinkState state, JitInputType type, void *data, size_t size, const char *name, unsigned, JitOption *,
                   void **) {
  CALL(LinkAddData, static_cast<int>(type), size);
  const auto *text = static_cast<const char *>(data);
  if (std::strlen(text) + 1 != size)
    return ErrorInvalidValue;
  auto &link = *static_cast<Link *>(state);
  if (findKernel(name) && std::strstr(text, name))
    link.cubin += std::string(" ") + name;
  const auto &infos = vx_stand_in()->jitInfo;
  if (const auto found = infos.find(name); found != infos.end())
    link.info += found->second;
  return Success;
}
Result LinkComplete(LinkState state, void **cubin, size_t *size) {
  CALL(LinkComplete);
  GpuStandIn &stand = *vx_stand_in();
  for (int turn = 0; turn < 1000 && stand.mostOpenLinks < stand.linksAtOnce; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  auto &link = *static_cast<Link *>(state);
  if (link.infoBuffer && link.isVerbose)
    std::strncpy(link.infoBuffer, link.info.c_str(), link.infoSize);
  *cubin = link.cubin.data();
  *size = link.cubin.size() + 1;
  return Success;
}
Result LinkDestroy(LinkState state) {
  CALL(LinkDestroy);
  --vx_stand_in()->openLinks;
  vx_stand_in()->givenBack(state);
  delete static_cast<Link *>(state);
  return Success;
}
Result ModuleLoadDataEx(Module *module, const void *image, unsigned, JitOption *, void **) {
  CALL_ON_DEVICE(ModuleLoadDataEx);
  if (std::strncmp(static_cast<const char *>(image), "cubin", 5) != 0)
    return static_cast<Result>(200);
  *module = makeModule(image);
  return Success;
}

} // namespace vx::test
