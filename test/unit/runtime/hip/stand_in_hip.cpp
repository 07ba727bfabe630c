// A libamdhip64 of the tests, over host memory.
#include "hip_api.h"

#define VX_STAND_IN_FUNCTIONS VX_HIP_FUNCTIONS
#define VX_STAND_IN_GET_VERSION "hipRuntimeGetVersion"
#define VX_STAND_IN_VERSION 60200000

namespace vx::test {

using namespace hip::api;

struct Grid {
  unsigned x = 0, y = 0, threads = 0;
};
static Grid gridOf(const KernelNodeParams &params) { return {params.gridDim.x, params.gridDim.y, params.blockDim.x}; }

// Each thread starts on the first device.
static thread_local int current = 0;
static int currentDevice() { return current; }

} // namespace vx::test

#include "gpu/stand_in_functions.h"

namespace vx::test {

const char *GetErrorName(Result error) {
  switch (error) {
  case ErrorOutOfMemory:
    return "hipErrorOutOfMemory";
  case ErrorNoDevice:
    return "hipErrorNoDevice";
  case ErrorInvalidHandle:
    return "hipErrorInvalidHandle";
  case ErrorIllegalAddress:
    return "hipErrorIllegalAddress";
  case ErrorLaunchTimeOut:
    return "hipErrorLaunchTimeOut";
  default:
    return "hipErrorOther";
  }
}
const char *GetErrorString(Result error) { return errorText(error); }

Result GetDeviceProperties(DeviceProperties *properties, int device) {
  CALL(GetDeviceProperties, device);
  *properties = {};
  std::strcpy(properties->name, device == 0 ? "Stand-in 0" : "Stand-in 1");
  std::strcpy(properties->gcnArchName, device == 0 ? "gfx942:sramecc+:xnack-" : "gfx1100");
  properties->totalGlobalMem = vx_stand_in()->totalMemory;
  properties->sharedMemPerBlock = 65536;
  properties->warpSize = device == 0 ? 64 : 32;
  properties->multiProcessorCount = 304;
  return Success;
}
Result DeviceGetAttribute(int *value, DeviceAttribute attribute, int device) {
  CALL(DeviceGetAttribute, static_cast<int>(attribute), device);
  *value = attribute == AttributeIntegrated ? vx_stand_in()->sharesMemory : vx_stand_in()->readsPages;
  return Success;
}
Result SetDevice(int device) {
  current = device;
  return Success;
}
Result GetDevice(int *device) {
  *device = current;
  return Success;
}

Result MemcpyAsync(DevicePtr destination, DevicePtr source, size_t size, int, Stream stream) {
  return copyBytes(destination, source, size, stream);
}
Result MemsetAsync(DevicePtr destination, int value, size_t size, Stream stream) {
  return fillBytes(destination, value, size, stream);
}
Result GraphAddMemcpyNode(GraphNode *node, Graph graph, const GraphNode *, size_t dependencies, DevicePtr destination,
                          DevicePtr source, size_t size, int) {
  return addCopy(node, graph, dependencies, destination, source, size);
}
Result GraphExecMemcpyNodeSetParams(GraphExec executable, GraphNode node, DevicePtr destination, DevicePtr source,
                                    size_t size, int) {
  return setCopy(executable, node, destination, source, size);
}

Result ModuleLoadData(Module *module, const void *image) {
  CALL_ON_DEVICE(ModuleLoadData);
  *module = makeModule(image);
  return Success;
}

} // namespace vx::test
