// A libamdhip64 of the tests: the functions of the HIP runtime that vx uses, over host memory. Work is done when it is
// queued, and a kernel runs the CPU kernel of the same name (../test_kernels.c). Every call is recorded, and any can be
// made to fail.
#include "../cuda/stand_in.h"

#include "hip_api.h"
#include "vx/abi/kernel.h"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace vx::hip;
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
  node.gridX = params.gridDim.x;
  node.gridY = params.gridDim.y;
  node.block = *static_cast<const uint64_t *>(params.kernelParams[0]);
}

void set(Node &node, void *destination, const void *source, size_t size) {
  node.destination = reinterpret_cast<uint64_t>(destination);
  node.source = reinterpret_cast<uint64_t>(source);
  node.size = size;
}

} // namespace

EXPORT vx::test::StandIn *vx_stand_in() { return &state(); }

EXPORT Result hipRuntimeGetVersion(int *version) {
  CALL("hipRuntimeGetVersion");
  *version = state().driverVersion;
  return api::Success;
}
EXPORT Result hipInit(unsigned flags) { return call("hipInit", flags); }
EXPORT const char *hipGetErrorName(Result error) {
  return error == api::ErrorOutOfMemory      ? "hipErrorOutOfMemory"
         : error == api::ErrorIllegalAddress ? "hipErrorIllegalAddress"
         : error == api::ErrorNoDevice       ? "hipErrorNoDevice"
                                             : "hipErrorOther";
}
EXPORT const char *hipGetErrorString(Result error) {
  return error == api::ErrorOutOfMemory      ? "out of memory"
         : error == api::ErrorIllegalAddress ? "an illegal memory access was encountered"
         : error == api::ErrorNoDevice       ? "no ROCm-capable device is detected"
                                             : "as the test wanted";
}
EXPORT Result hipGetDeviceCount(int *count) {
  CALL("hipGetDeviceCount");
  *count = state().deviceCount;
  return api::Success;
}
EXPORT Result hipGetDeviceProperties(api::DeviceProperties *properties, int device) {
  CALL("hipGetDeviceProperties", device);
  *properties = {};
  std::strcpy(properties->name, device == 0 ? "Stand-in 0" : "Stand-in 1");
  std::strcpy(properties->gcnArchName, device == 0 ? "gfx942:sramecc+:xnack-" : "gfx1100");
  properties->totalGlobalMem = state().totalMemory;
  properties->sharedMemPerBlock = 65536;
  properties->warpSize = device == 0 ? 64 : 32;
  properties->multiProcessorCount = 304;
  return api::Success;
}

// A function that works on another device than it should would fail on a GPU.
static thread_local int current = 0;
EXPORT Result hipSetDevice(int device) {
  current = device;
  return api::Success;
}
EXPORT Result hipGetDevice(int *device) {
  *device = current;
  return api::Success;
}
EXPORT Result hipMemGetInfo(size_t *available, size_t *total) {
  CALL("hipMemGetInfo");
  *available = 1000;
  *total = state().totalMemory;
  return api::Success;
}
EXPORT Result hipMemPoolCreate(api::MemoryPool *pool, const api::MemoryPoolProps *props) {
  CALL("hipMemPoolCreate", props->locationId);
  *pool = make<api::MemoryPool>();
  return api::Success;
}
EXPORT Result hipMemPoolDestroy(api::MemoryPool pool) {
  CALL("hipMemPoolDestroy");
  drop(pool);
  return api::Success;
}
EXPORT Result hipMemPoolSetAttribute(api::MemoryPool, int attribute, void *) {
  return call("hipMemPoolSetAttribute", attribute);
}
EXPORT Result hipMemPoolTrimTo(api::MemoryPool, size_t keep) { return call("hipMemPoolTrimTo", keep); }
EXPORT Result hipMallocFromPoolAsync(void **address, size_t size, api::MemoryPool, api::Stream) {
  CALL("hipMallocFromPoolAsync", size);
  count(1);
  *address = std::aligned_alloc(512, (size + 511) / 512 * 512);
  call("allocated on device", current);
  return api::Success;
}
EXPORT Result hipFreeAsync(void *address, api::Stream) {
  CALL("hipFreeAsync");
  count(-1);
  std::free(address);
  return api::Success;
}
EXPORT Result hipHostMalloc(void **host, size_t size, unsigned flags) {
  CALL("hipHostMalloc", size, flags);
  count(1);
  *host = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  return api::Success;
}
EXPORT Result hipHostFree(void *host) {
  CALL("hipHostFree");
  count(-1);
  std::free(host);
  return api::Success;
}
EXPORT Result hipHostGetDevicePointer(void **address, void *host, unsigned) {
  CALL("hipHostGetDevicePointer");
  *address = host;
  return api::Success;
}
EXPORT Result hipMemcpyAsync(void *destination, const void *source, size_t size, int, api::Stream) {
  CALL("hipMemcpyAsync", size);
  std::memmove(destination, source, size);
  return api::Success;
}
EXPORT Result hipMemsetAsync(void *destination, int value, size_t size, api::Stream) {
  CALL("hipMemsetAsync", size);
  std::memset(destination, value, size);
  return api::Success;
}
EXPORT Result hipStreamCreateWithFlags(api::Stream *stream, unsigned flags) {
  CALL("hipStreamCreateWithFlags", flags);
  *stream = make<api::Stream>();
  return api::Success;
}
EXPORT Result hipStreamDestroy(api::Stream stream) {
  CALL("hipStreamDestroy");
  drop(stream);
  return api::Success;
}
EXPORT Result hipStreamSynchronize(api::Stream) { return call("hipStreamSynchronize"); }
EXPORT Result hipEventCreateWithFlags(api::Event *event, unsigned flags) {
  CALL("hipEventCreateWithFlags", flags);
  *event = make<api::Event>();
  return api::Success;
}
EXPORT Result hipEventDestroy(api::Event event) {
  CALL("hipEventDestroy");
  drop(event);
  return api::Success;
}
EXPORT Result hipEventRecord(api::Event, api::Stream) { return call("hipEventRecord"); }
EXPORT Result hipEventSynchronize(api::Event) { return call("hipEventSynchronize"); }
EXPORT Result hipEventElapsedTime(float *milliseconds, api::Event, api::Event) {
  CALL("hipEventElapsedTime");
  *milliseconds = 0.25F;
  return api::Success;
}
EXPORT Result hipModuleLoadData(api::Module *module, const void *image) {
  CALL("hipModuleLoadData");
  count(1);
  *module = reinterpret_cast<api::Module>(new std::string(static_cast<const char *>(image)));
  return api::Success;
}
EXPORT Result hipModuleUnload(api::Module module) {
  CALL("hipModuleUnload");
  count(-1);
  delete reinterpret_cast<std::string *>(module);
  return api::Success;
}
EXPORT Result hipModuleGetFunction(api::Function *function, api::Module module, const char *name) {
  CALL("hipModuleGetFunction");
  if (reinterpret_cast<std::string *>(module)->find(name) != std::string::npos)
    for (const KernelEntry &entry : kernels)
      if (std::strcmp(name, entry.name) == 0) {
        *function = reinterpret_cast<api::Function>(entry.kernel);
        return api::Success;
      }
  return api::ErrorNotFound;
}
EXPORT Result hipModuleLaunchKernel(api::Function function, unsigned gridX, unsigned gridY, unsigned, unsigned threads,
                                    unsigned, unsigned, unsigned shared, api::Stream, void **parameters, void **) {
  CALL("hipModuleLaunchKernel", gridX, gridY, threads, shared);
  api::KernelNodeParams params;
  params.func = reinterpret_cast<void *>(function);
  params.gridDim.x = gridX;
  params.gridDim.y = gridY;
  params.kernelParams = parameters;
  Node node;
  set(node, params);
  node.run();
  return api::Success;
}
EXPORT Result hipGraphCreate(api::Graph *graph, unsigned) {
  CALL("hipGraphCreate");
  count(1);
  *graph = reinterpret_cast<api::Graph>(new GraphData());
  return api::Success;
}
EXPORT Result hipGraphDestroy(api::Graph graph) {
  CALL("hipGraphDestroy");
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
EXPORT Result hipGraphAddKernelNode(api::GraphNode *node, api::Graph graph, const api::GraphNode *, size_t dependencies,
                                    const api::KernelNodeParams *params) {
  CALL("hipGraphAddKernelNode", dependencies, params->gridDim.x, params->gridDim.y, params->blockDim.x);
  set(addNode(graph, node), *params);
  return api::Success;
}
EXPORT Result hipGraphAddMemcpyNode1D(api::GraphNode *node, api::Graph graph, const api::GraphNode *,
                                      size_t dependencies, void *destination, const void *source, size_t size, int) {
  CALL("hipGraphAddMemcpyNode1D", dependencies, size);
  set(addNode(graph, node), destination, source, size);
  return api::Success;
}
EXPORT Result hipGraphAddEmptyNode(api::GraphNode *node, api::Graph graph, const api::GraphNode *,
                                   size_t dependencies) {
  CALL("hipGraphAddEmptyNode", dependencies);
  addNode(graph, node).isEnabled = false;
  return api::Success;
}
EXPORT Result hipGraphInstantiateWithFlags(api::GraphExec *executable, api::Graph graph, unsigned long long) {
  CALL("hipGraphInstantiateWithFlags");
  count(1);
  auto *data = new ExecData();
  for (const auto &node : reinterpret_cast<GraphData *>(graph)->nodes)
    data->nodes.emplace_back(node.get(), *node);
  *executable = reinterpret_cast<api::GraphExec>(data);
  return api::Success;
}
EXPORT Result hipGraphExecDestroy(api::GraphExec executable) {
  CALL("hipGraphExecDestroy");
  count(-1);
  delete reinterpret_cast<ExecData *>(executable);
  return api::Success;
}
EXPORT Result hipGraphExecKernelNodeSetParams(api::GraphExec executable, api::GraphNode node,
                                              const api::KernelNodeParams *params) {
  CALL("hipGraphExecKernelNodeSetParams", params->gridDim.x, params->gridDim.y);
  Node *found = reinterpret_cast<ExecData *>(executable)->find(node);
  if (!found || !found->isKernel)
    return api::ErrorInvalidValue;
  set(*found, *params);
  return api::Success;
}
EXPORT Result hipGraphExecMemcpyNodeSetParams1D(api::GraphExec executable, api::GraphNode node, void *destination,
                                                const void *source, size_t size, int) {
  CALL("hipGraphExecMemcpyNodeSetParams1D", size);
  Node *found = reinterpret_cast<ExecData *>(executable)->find(node);
  if (!found || found->isKernel)
    return api::ErrorInvalidValue;
  set(*found, destination, source, size);
  return api::Success;
}
EXPORT Result hipGraphNodeSetEnabled(api::GraphExec executable, api::GraphNode node, unsigned enabled) {
  CALL("hipGraphNodeSetEnabled", enabled);
  Node *found = reinterpret_cast<ExecData *>(executable)->find(node);
  if (!found)
    return api::ErrorInvalidValue;
  found->isEnabled = enabled;
  return api::Success;
}
EXPORT Result hipGraphLaunch(api::GraphExec executable, api::Stream) {
  CALL("hipGraphLaunch");
  for (const auto &[original, node] : reinterpret_cast<ExecData *>(executable)->nodes)
    node.run();
  return api::Success;
}
