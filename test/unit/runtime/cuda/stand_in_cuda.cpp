// A libcuda of the tests: the functions of the driver that vx uses, over host memory. Work is done when it is queued,
// and a kernel runs the CPU kernel of the same name (../test_kernels.c). Every call is recorded, and any can be made to
// fail.
#include "stand_in.h"

#include "cuda_api.h"
#include "vx/abi/kernel.h"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace vx::cuda;
using api::Result;

extern "C" {
void scale_add(const uint64_t *block, uint32_t wx, uint32_t wy);
void gather(const uint64_t *block, uint32_t wx, uint32_t wy);
}

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Kernel = void (*)(const uint64_t *, uint32_t, uint32_t);

struct KernelEntry {
  const char *name;
  Kernel kernel;
};
constexpr KernelEntry kernels[] = {{"scale_add", scale_add}, {"gather", gather}};

vx::test::StandIn &state() {
  static auto &instance = *new vx::test::StandIn();
  return instance;
}

// Records a call and says what it shall answer.
template <typename... Numbers>
Result call(const char *name, Numbers... numbers) {
  auto &stand = state();
  std::lock_guard lock(stand.mutex);
  std::string text = name;
  ((text += " " + std::to_string(numbers)), ...);
  stand.calls.push_back(std::move(text));
  auto found = stand.failures.find(name);
  if (found == stand.failures.end() || found->second.after-- > 0)
    return api::Success;
  return static_cast<Result>(found->second.result);
}

#define CALL(...)                                                                                                      \
  if (Result answer = call(__VA_ARGS__); answer != api::Success)                                                       \
  return answer

void count(int change) {
  auto &stand = state();
  std::lock_guard lock(stand.mutex);
  stand.live += change;
}

template <typename T>
T make() {
  count(1);
  return reinterpret_cast<T>(new char);
}
template <typename T>
void drop(T object) {
  count(-1);
  delete reinterpret_cast<char *>(object);
}

struct Node {
  bool isKernel = false, isEnabled = true;
  Kernel kernel = nullptr;
  unsigned gridX = 0, gridY = 0;
  uint64_t block = 0;
  uint64_t destination = 0, source = 0, size = 0;

  void run() const {
    if (!isEnabled)
      return;
    if (!isKernel) {
      std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), size);
      return;
    }
    for (unsigned y = 0; y < gridY; ++y)
      for (unsigned x = 0; x < gridX; ++x)
        if (kernel)
          kernel(reinterpret_cast<const uint64_t *>(block), x, y);
  }
};

struct GraphData {
  std::vector<std::unique_ptr<Node>> nodes;
};

// Starts from the nodes' state; nodes are named by their address in the graph.
struct ExecData {
  std::vector<std::pair<const Node *, Node>> nodes;
  Node *find(api::GraphNode node) {
    for (auto &[original, copy] : nodes)
      if (original == reinterpret_cast<const Node *>(node))
        return &copy;
    return nullptr;
  }
};

void set(Node &node, const api::KernelNodeParams &params) {
  node.isKernel = true;
  node.kernel = reinterpret_cast<Kernel>(params.func);
  node.gridX = params.gridDimX;
  node.gridY = params.gridDimY;
  node.block = *static_cast<const uint64_t *>(params.kernelParams[0]);
}

void set(Node &node, const api::Memcpy3D &params) {
  node.destination = params.dstDevice;
  node.source = params.srcDevice;
  node.size = params.WidthInBytes * params.Height * params.Depth;
}

std::string linked; // what the last link made

} // namespace

EXPORT vx::test::StandIn *vx_stand_in() { return &state(); }

EXPORT Result cuDriverGetVersion(int *version) {
  CALL("cuDriverGetVersion");
  *version = state().driverVersion;
  return api::Success;
}
EXPORT Result cuInit(unsigned flags) { return call("cuInit", flags); }
EXPORT Result cuGetErrorName(Result error, const char **text) {
  *text = error == api::ErrorOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == api::ErrorIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == api::ErrorNoDevice       ? "CUDA_ERROR_NO_DEVICE"
                                              : "CUDA_ERROR_OTHER";
  return api::Success;
}
EXPORT Result cuGetErrorString(Result error, const char **text) {
  *text = error == api::ErrorOutOfMemory      ? "out of memory"
          : error == api::ErrorIllegalAddress ? "an illegal memory access was encountered"
          : error == api::ErrorNoDevice       ? "no CUDA-capable device is detected"
                                              : "as the test wanted";
  return api::Success;
}
EXPORT Result cuDeviceGetCount(int *count) {
  CALL("cuDeviceGetCount");
  *count = state().deviceCount;
  return api::Success;
}
EXPORT Result cuDeviceGet(api::Device *device, int ordinal) {
  CALL("cuDeviceGet", ordinal);
  *device = ordinal;
  return api::Success;
}
EXPORT Result cuDeviceGetName(char *name, int length, api::Device device) {
  CALL("cuDeviceGetName", device);
  std::strncpy(name, device == 0 ? "Stand-in 0" : "Stand-in 1", static_cast<size_t>(length));
  return api::Success;
}
EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, api::Device device) {
  CALL("cuDeviceTotalMem", device);
  *bytes = state().totalMemory;
  return api::Success;
}
EXPORT Result cuDeviceGetAttribute(int *value, api::DeviceAttribute attribute, api::Device) {
  CALL("cuDeviceGetAttribute", static_cast<int>(attribute));
  switch (attribute) {
  case api::AttributeMaxSharedMemoryPerBlock:
    *value = 49152;
    break;
  case api::AttributeMultiprocessorCount:
    *value = 132;
    break;
  case api::AttributeUnifiedAddressing:
  case api::AttributeMemoryPoolsSupported:
    *value = 1;
    break;
  case api::AttributeComputeCapabilityMajor:
    *value = state().capability / 10;
    break;
  case api::AttributeComputeCapabilityMinor:
    *value = state().capability % 10;
    break;
  }
  return api::Success;
}
EXPORT Result cuDevicePrimaryCtxRetain(api::Context *context, api::Device device) {
  CALL("cuDevicePrimaryCtxRetain", device);
  static char contexts[8];
  count(1);
  *context = reinterpret_cast<api::Context>(contexts + device);
  return api::Success;
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(api::Device device) {
  CALL("cuDevicePrimaryCtxRelease", device);
  count(-1);
  return api::Success;
}

// A function that works without a context would fail on a GPU.
static thread_local std::vector<api::Context> current;
static Result inContext(const char *name) {
  if (!current.empty())
    return api::Success;
  call(("no context is current in " + std::string(name)).c_str());
  return api::ErrorInvalidValue;
}
#define IN_CONTEXT(NAME)                                                                                               \
  if (Result answer = inContext(NAME); answer != api::Success)                                                         \
  return answer

EXPORT Result cuCtxPushCurrent_v2(api::Context context) {
  current.push_back(context);
  return api::Success;
}
EXPORT Result cuCtxPopCurrent_v2(api::Context *context) {
  if (current.empty())
    return api::ErrorInvalidValue;
  *context = current.back();
  current.pop_back();
  return api::Success;
}
EXPORT Result cuMemGetInfo_v2(size_t *available, size_t *total) {
  IN_CONTEXT("cuMemGetInfo");
  CALL("cuMemGetInfo");
  *available = 1000;
  *total = state().totalMemory;
  return api::Success;
}
EXPORT Result cuMemPoolCreate(api::MemoryPool *pool, const api::MemoryPoolProps *props) {
  CALL("cuMemPoolCreate", props->locationId);
  *pool = make<api::MemoryPool>();
  return api::Success;
}
EXPORT Result cuMemPoolDestroy(api::MemoryPool pool) {
  CALL("cuMemPoolDestroy");
  drop(pool);
  return api::Success;
}
EXPORT Result cuMemPoolSetAttribute(api::MemoryPool, int attribute, void *) {
  return call("cuMemPoolSetAttribute", attribute);
}
EXPORT Result cuMemPoolTrimTo(api::MemoryPool, size_t keep) { return call("cuMemPoolTrimTo", keep); }
EXPORT Result cuMemAllocFromPoolAsync(api::DevicePtr *address, size_t size, api::MemoryPool, api::Stream) {
  IN_CONTEXT("cuMemAllocFromPoolAsync");
  CALL("cuMemAllocFromPoolAsync", size);
  count(1);
  *address = reinterpret_cast<uint64_t>(std::aligned_alloc(512, (size + 511) / 512 * 512));
  return api::Success;
}
EXPORT Result cuMemFreeAsync(api::DevicePtr address, api::Stream) {
  IN_CONTEXT("cuMemFreeAsync");
  CALL("cuMemFreeAsync");
  count(-1);
  std::free(reinterpret_cast<void *>(address));
  return api::Success;
}
EXPORT Result cuMemHostAlloc(void **host, size_t size, unsigned flags) {
  IN_CONTEXT("cuMemHostAlloc");
  CALL("cuMemHostAlloc", size, flags);
  count(1);
  *host = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  return api::Success;
}
EXPORT Result cuMemFreeHost(void *host) {
  IN_CONTEXT("cuMemFreeHost");
  CALL("cuMemFreeHost");
  count(-1);
  std::free(host);
  return api::Success;
}
EXPORT Result cuMemHostGetDevicePointer_v2(api::DevicePtr *address, void *host, unsigned) {
  CALL("cuMemHostGetDevicePointer");
  *address = reinterpret_cast<uint64_t>(host);
  return api::Success;
}
EXPORT Result cuMemcpyAsync(api::DevicePtr destination, api::DevicePtr source, size_t size, api::Stream) {
  IN_CONTEXT("cuMemcpyAsync");
  CALL("cuMemcpyAsync", size);
  std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), size);
  return api::Success;
}
EXPORT Result cuMemsetD8Async(api::DevicePtr destination, unsigned char value, size_t size, api::Stream) {
  IN_CONTEXT("cuMemsetD8Async");
  CALL("cuMemsetD8Async", size);
  std::memset(reinterpret_cast<void *>(destination), value, size);
  return api::Success;
}
EXPORT Result cuStreamCreate(api::Stream *stream, unsigned flags) {
  IN_CONTEXT("cuStreamCreate");
  CALL("cuStreamCreate", flags);
  *stream = make<api::Stream>();
  return api::Success;
}
EXPORT Result cuStreamDestroy_v2(api::Stream stream) {
  CALL("cuStreamDestroy");
  drop(stream);
  return api::Success;
}
EXPORT Result cuStreamSynchronize(api::Stream) {
  IN_CONTEXT("cuStreamSynchronize");
  return call("cuStreamSynchronize");
}
EXPORT Result cuEventCreate(api::Event *event, unsigned flags) {
  IN_CONTEXT("cuEventCreate");
  CALL("cuEventCreate", flags);
  *event = make<api::Event>();
  return api::Success;
}
EXPORT Result cuEventDestroy_v2(api::Event event) {
  CALL("cuEventDestroy");
  drop(event);
  return api::Success;
}
EXPORT Result cuEventRecord(api::Event, api::Stream) {
  IN_CONTEXT("cuEventRecord");
  return call("cuEventRecord");
}
EXPORT Result cuEventSynchronize(api::Event) { return call("cuEventSynchronize"); }
EXPORT Result cuEventElapsedTime(float *milliseconds, api::Event, api::Event) {
  CALL("cuEventElapsedTime");
  *milliseconds = 0.25F;
  return api::Success;
}
static void writeLog(unsigned numOptions, const api::JitOption *options, void *const *values) {
  for (unsigned i = 0; i < numOptions; ++i)
    if (options[i] == api::JitErrorLogBuffer)
      std::strcpy(static_cast<char *>(values[i]), state().jitLog.c_str());
}
EXPORT Result cuLinkCreate_v2(unsigned numOptions, api::JitOption *options, void **values, api::LinkState *link) {
  IN_CONTEXT("cuLinkCreate");
  uintptr_t target = 0;
  for (unsigned i = 0; i < numOptions; ++i)
    if (options[i] == api::JitTarget)
      target = reinterpret_cast<uintptr_t>(values[i]);
  CALL("cuLinkCreate", target);
  writeLog(numOptions, options, values);
  linked = "cubin";
  *link = make<api::LinkState>();
  return api::Success;
}
EXPORT Result cuLinkAddData_v2(api::LinkState, api::JitInputType type, void *data, size_t size, const char *name,
                               unsigned, api::JitOption *, void **) {
  CALL("cuLinkAddData", static_cast<int>(type), size);
  const auto *text = static_cast<const char *>(data);
  if (std::strlen(text) + 1 != size)
    return api::ErrorInvalidValue;
  for (const KernelEntry &entry : kernels)
    if (std::strcmp(name, entry.name) == 0 && std::strstr(text, entry.name))
      linked += std::string(" ") + name;
  return api::Success;
}
EXPORT Result cuLinkComplete(api::LinkState, void **cubin, size_t *size) {
  CALL("cuLinkComplete");
  linked += " ";
  *cubin = linked.data();
  *size = linked.size() + 1;
  return api::Success;
}
EXPORT Result cuLinkDestroy(api::LinkState link) {
  CALL("cuLinkDestroy");
  drop(link);
  return api::Success;
}
EXPORT Result cuModuleLoadDataEx(api::Module *module, const void *image, unsigned, api::JitOption *, void **) {
  IN_CONTEXT("cuModuleLoadDataEx");
  CALL("cuModuleLoadDataEx");
  if (std::strncmp(static_cast<const char *>(image), "cubin", 5) != 0)
    return static_cast<Result>(200);
  count(1);
  *module = reinterpret_cast<api::Module>(new std::string(static_cast<const char *>(image)));
  return api::Success;
}
EXPORT Result cuModuleUnload(api::Module module) {
  IN_CONTEXT("cuModuleUnload");
  CALL("cuModuleUnload");
  count(-1);
  delete reinterpret_cast<std::string *>(module);
  return api::Success;
}
EXPORT Result cuModuleGetFunction(api::Function *function, api::Module module, const char *name) {
  CALL("cuModuleGetFunction");
  if (reinterpret_cast<std::string *>(module)->find(" " + std::string(name) + " ") != std::string::npos)
    for (const KernelEntry &entry : kernels)
      if (std::strcmp(name, entry.name) == 0) {
        *function = reinterpret_cast<api::Function>(entry.kernel);
        return api::Success;
      }
  return api::ErrorNotFound;
}
EXPORT Result cuLaunchKernel(api::Function function, unsigned gridX, unsigned gridY, unsigned, unsigned threads,
                             unsigned, unsigned, unsigned shared, api::Stream, void **parameters, void **) {
  IN_CONTEXT("cuLaunchKernel");
  CALL("cuLaunchKernel", gridX, gridY, threads, shared);
  api::KernelNodeParams params;
  params.func = function;
  params.gridDimX = gridX;
  params.gridDimY = gridY;
  params.kernelParams = parameters;
  Node node;
  set(node, params);
  node.run();
  return api::Success;
}
EXPORT Result cuGraphCreate(api::Graph *graph, unsigned) {
  CALL("cuGraphCreate");
  count(1);
  *graph = reinterpret_cast<api::Graph>(new GraphData());
  return api::Success;
}
EXPORT Result cuGraphDestroy(api::Graph graph) {
  CALL("cuGraphDestroy");
  count(-1);
  delete reinterpret_cast<GraphData *>(graph);
  return api::Success;
}
static Node &addNode(api::Graph graph, api::GraphNode *node) {
  auto &nodes = reinterpret_cast<GraphData *>(graph)->nodes;
  nodes.push_back(std::make_unique<Node>());
  *node = reinterpret_cast<api::GraphNode>(nodes.back().get());
  return *nodes.back();
}
EXPORT Result cuGraphAddKernelNode(api::GraphNode *node, api::Graph graph, const api::GraphNode *, size_t dependencies,
                                   const api::KernelNodeParams *params) {
  CALL("cuGraphAddKernelNode", dependencies, params->gridDimX, params->gridDimY, params->blockDimX);
  set(addNode(graph, node), *params);
  return api::Success;
}
EXPORT Result cuGraphAddMemcpyNode(api::GraphNode *node, api::Graph graph, const api::GraphNode *, size_t dependencies,
                                   const api::Memcpy3D *params, api::Context) {
  CALL("cuGraphAddMemcpyNode", dependencies, params->WidthInBytes);
  set(addNode(graph, node), *params);
  return api::Success;
}
EXPORT Result cuGraphAddEmptyNode(api::GraphNode *node, api::Graph graph, const api::GraphNode *, size_t dependencies) {
  CALL("cuGraphAddEmptyNode", dependencies);
  addNode(graph, node).isEnabled = false;
  return api::Success;
}
EXPORT Result cuGraphInstantiateWithFlags(api::GraphExec *executable, api::Graph graph, unsigned long long) {
  IN_CONTEXT("cuGraphInstantiateWithFlags");
  CALL("cuGraphInstantiateWithFlags");
  count(1);
  auto *data = new ExecData();
  for (const auto &node : reinterpret_cast<GraphData *>(graph)->nodes)
    data->nodes.emplace_back(node.get(), *node);
  *executable = reinterpret_cast<api::GraphExec>(data);
  return api::Success;
}
EXPORT Result cuGraphExecDestroy(api::GraphExec executable) {
  CALL("cuGraphExecDestroy");
  count(-1);
  delete reinterpret_cast<ExecData *>(executable);
  return api::Success;
}
EXPORT Result cuGraphExecKernelNodeSetParams(api::GraphExec executable, api::GraphNode node,
                                             const api::KernelNodeParams *params) {
  CALL("cuGraphExecKernelNodeSetParams", params->gridDimX, params->gridDimY);
  Node *found = reinterpret_cast<ExecData *>(executable)->find(node);
  if (!found || !found->isKernel)
    return api::ErrorInvalidValue;
  set(*found, *params);
  return api::Success;
}
EXPORT Result cuGraphExecMemcpyNodeSetParams(api::GraphExec executable, api::GraphNode node,
                                             const api::Memcpy3D *params, api::Context) {
  CALL("cuGraphExecMemcpyNodeSetParams", params->WidthInBytes);
  Node *found = reinterpret_cast<ExecData *>(executable)->find(node);
  if (!found || found->isKernel)
    return api::ErrorInvalidValue;
  set(*found, *params);
  return api::Success;
}
EXPORT Result cuGraphNodeSetEnabled(api::GraphExec executable, api::GraphNode node, unsigned enabled) {
  CALL("cuGraphNodeSetEnabled", enabled);
  Node *found = reinterpret_cast<ExecData *>(executable)->find(node);
  if (!found)
    return api::ErrorInvalidValue;
  found->isEnabled = enabled;
  return api::Success;
}
EXPORT Result cuGraphLaunch(api::GraphExec executable, api::Stream) {
  IN_CONTEXT("cuGraphLaunch");
  CALL("cuGraphLaunch");
  for (const auto &[original, node] : reinterpret_cast<ExecData *>(executable)->nodes)
    node.run();
  return api::Success;
}
