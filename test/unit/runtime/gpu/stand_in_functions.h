// The functions of a vendor's library that are alike for CUDA and HIP, over host memory. Work is done when it is
// queued, and a kernel runs the CPU kernel of the same name (../test_kernels.c). Every call is recorded, and any can be
// made to fail.
//
// A stand-in includes this once, after it has
//   included its declarations and made them known in vx::test,
//   defined VX_STAND_IN_FUNCTIONS as the list of its functions, VX_STAND_IN_GET_VERSION as the one for the version, and
//   VX_STAND_IN_VERSION as what it answers,
//   defined currentDevice(), whose calls without a device (-1) fail, and gridOf(params).
// It adds the functions that only its vendor has.
#ifndef VX_TEST_UNIT_RUNTIME_GPU_STAND_IN_FUNCTIONS_H
#define VX_TEST_UNIT_RUNTIME_GPU_STAND_IN_FUNCTIONS_H

#include "cpu_kernels.h"
#include "stand_in.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#define EXPORT __attribute__((visibility("default")))

extern "C" EXPORT vx::test::GpuStandIn *vx_stand_in();

namespace vx::test {

// Every function of the list, under its member's name here and under its symbol in the library.
#define VX_DECLARE(MEMBER, NAME, VERSION, RESULT, PARAMETERS) EXPORT RESULT MEMBER PARAMETERS __asm__(NAME VERSION);
VX_STAND_IN_FUNCTIONS(VX_DECLARE)
#undef VX_DECLARE
EXPORT Result getVersion(int *version) __asm__(VX_STAND_IN_GET_VERSION);

namespace {

// What the functions are called in the records.
const Functions names;

// Records a call and says what it shall answer.
template <typename... Numbers>
Result record(const char *name, Numbers... numbers) {
  std::string text;
  ((text += " " + std::to_string(numbers)), ...);
  return static_cast<Result>(vx_stand_in()->record(name, text, currentDevice()));
}

// Leaves with the answer that the test wants, CALL(MemsetAsync, size).
#define CALL(MEMBER, ...)                                                                                              \
  if (Result answer = record(names.MEMBER.name __VA_OPT__(, ) __VA_ARGS__); answer != Success)                         \
  return answer
// The same for a function that needs a device.
#define CALL_ON_DEVICE(MEMBER, ...)                                                                                    \
  if (currentDevice() < 0) {                                                                                           \
    record("no device is current");                                                                                    \
    return ErrorInvalidValue;                                                                                          \
  }                                                                                                                    \
  CALL(MEMBER __VA_OPT__(, ) __VA_ARGS__)

// An object that nothing is known of.
void *make() { return vx_stand_in()->made(new char); }
Result drop(void *object) {
  vx_stand_in()->givenBack(object);
  delete static_cast<char *>(object);
  return Success;
}

struct Node {
  bool isKernel = false, isEnabled = true;
  Kernel kernel = nullptr;
  Grid grid;
  uint64_t block = 0;
  uint64_t destination = 0, source = 0, size = 0;

  void set(const KernelNodeParams &params) {
    isKernel = true;
    kernel = reinterpret_cast<Kernel>(params.func);
    grid = gridOf(params);
    block = *static_cast<const uint64_t *>(params.kernelParams[0]);
  }
  void set(uint64_t copyDestination, uint64_t copySource, uint64_t copySize) {
    destination = copyDestination;
    source = copySource;
    size = copySize;
  }
  void run() const {
    if (!isEnabled)
      return;
    if (!isKernel) {
      std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), size);
      return;
    }
    runKernel(kernel, block, grid.x, grid.y);
  }
};

struct GraphData {
  std::vector<std::unique_ptr<Node>> nodes;

  static Node &add(Graph graph, GraphNode *node) {
    auto &nodes = static_cast<GraphData *>(graph)->nodes;
    nodes.push_back(std::make_unique<Node>());
    *node = nodes.back().get();
    return *nodes.back();
  }
};

// Starts from the nodes' state; nodes are named by their address in the graph.
struct ExecData {
  std::vector<std::pair<const Node *, Node>> nodes;

  static Node *find(GraphExec executable, GraphNode node) {
    for (auto &[original, copy] : static_cast<ExecData *>(executable)->nodes)
      if (original == node)
        return &copy;
    return nullptr;
  }
};

// Words of the errors that tests quote, without the vendor's own spelling of the names.
const char *errorText(Result error) {
  switch (static_cast<int>(error)) {
  case 2:
    return "out of memory";
  case 100:
    return "no capable device is detected";
  case 400:
    return "invalid resource handle";
  case 700:
    return "an illegal memory access was encountered";
  case 702:
    return "the launch timed out and was terminated";
  default:
    return "as the test wanted";
  }
}

} // namespace

Result getVersion(int *version) {
  if (Result answer = record(VX_STAND_IN_GET_VERSION); answer != Success)
    return answer;
  *version = vx_stand_in()->version;
  return Success;
}
Result Init(unsigned flags) { return record(names.Init.name, flags); }
Result DeviceGetCount(int *count) {
  CALL(DeviceGetCount);
  *count = vx_stand_in()->deviceCount;
  return Success;
}

//===-- Memory
//--------------------------------------------------------------------------------------------------------===//

Result MemGetInfo(size_t *available, size_t *total) {
  CALL_ON_DEVICE(MemGetInfo);
  *available = 1000;
  *total = vx_stand_in()->totalMemory;
  return Success;
}
Result MemPoolCreate(MemoryPool *pool, const MemoryPoolProps *props) {
  CALL(MemPoolCreate, props->locationId);
  *pool = make();
  return Success;
}
Result MemPoolDestroy(MemoryPool pool) {
  CALL(MemPoolDestroy);
  return drop(pool);
}
Result MemPoolSetAttribute(MemoryPool, int attribute, void *) {
  return record(names.MemPoolSetAttribute.name, attribute);
}
Result MemPoolTrimTo(MemoryPool, size_t keep) { return record(names.MemPoolTrimTo.name, keep); }
Result MemAllocFromPoolAsync(DevicePtr *address, size_t size, MemoryPool, Stream) {
  CALL_ON_DEVICE(MemAllocFromPoolAsync, size);
  record("allocated on device", currentDevice());
  *address = reinterpret_cast<uint64_t>(vx_stand_in()->made(std::aligned_alloc(512, (size + 511) / 512 * 512)));
  return Success;
}
Result MemFreeAsync(DevicePtr address, Stream) {
  CALL_ON_DEVICE(MemFreeAsync);
  vx_stand_in()->givenBack(reinterpret_cast<void *>(address));
  std::free(reinterpret_cast<void *>(address));
  return Success;
}
Result MemHostAlloc(void **host, size_t size, unsigned flags) {
  CALL_ON_DEVICE(MemHostAlloc, size, flags);
  *host = vx_stand_in()->made(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096));
  return Success;
}
Result MemFreeHost(void *host) {
  CALL_ON_DEVICE(MemFreeHost);
  vx_stand_in()->givenBack(host);
  std::free(host);
  return Success;
}
Result MemHostGetDevicePointer(DevicePtr *address, void *host, unsigned) {
  CALL(MemHostGetDevicePointer);
  *address = reinterpret_cast<uint64_t>(host);
  return Success;
}
static Result copyBytes(DevicePtr destination, DevicePtr source, size_t size) {
  CALL_ON_DEVICE(MemcpyAsync, size);
  std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), size);
  return Success;
}
static Result fillBytes(DevicePtr destination, int value, size_t size) {
  CALL_ON_DEVICE(MemsetAsync, size);
  std::memset(reinterpret_cast<void *>(destination), value, size);
  return Success;
}

//===-- Streams and events
//--------------------------------------------------------------------------------------------===//

Result StreamCreate(Stream *stream, unsigned flags) {
  CALL_ON_DEVICE(StreamCreate, flags);
  *stream = make();
  return Success;
}
Result StreamDestroy(Stream stream) {
  CALL(StreamDestroy);
  return drop(stream);
}
Result StreamSynchronize(Stream) {
  CALL_ON_DEVICE(StreamSynchronize);
  return Success;
}
Result StreamQuery(Stream) {
  CALL_ON_DEVICE(StreamQuery);
  return Success;
}
Result EventQuery(Event) {
  CALL_ON_DEVICE(EventQuery);
  return Success;
}
Result EventCreate(Event *event, unsigned flags) {
  CALL_ON_DEVICE(EventCreate, flags);
  *event = make();
  return Success;
}
Result EventDestroy(Event event) {
  CALL(EventDestroy);
  return drop(event);
}
Result EventRecord(Event, Stream stream) {
  CALL_ON_DEVICE(EventRecord);
  return stream == vx_stand_in()->foreignStream ? ErrorInvalidHandle : Success;
}
Result EventSynchronize(Event) { return record(names.EventSynchronize.name); }
Result EventElapsedTime(float *milliseconds, Event, Event) {
  CALL(EventElapsedTime);
  *milliseconds = 0.25F;
  return Success;
}

//===-- Code. A loaded module is a text with the names of its kernels.
//------------------------------------------------===//

static Module makeModule(const void *image) {
  return vx_stand_in()->made(new std::string(static_cast<const char *>(image)));
}
Result ModuleUnload(Module module) {
  CALL_ON_DEVICE(ModuleUnload);
  vx_stand_in()->givenBack(module);
  delete static_cast<std::string *>(module);
  return Success;
}
Result ModuleGetFunction(Function *function, Module module, const char *name) {
  CALL(ModuleGetFunction);
  const std::string &text = *static_cast<std::string *>(module);
  if (Kernel kernel = findKernel(name); kernel && (" " + text + " ").find(" " + std::string(name) + " ") != text.npos) {
    *function = reinterpret_cast<Function>(kernel);
    return Success;
  }
  return ErrorNotFound;
}
Result LaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned, unsigned threads, unsigned, unsigned,
                    unsigned shared, Stream, void **parameters, void **) {
  CALL_ON_DEVICE(LaunchKernel, gridX, gridY, threads, shared);
  Node node;
  node.isKernel = true;
  node.kernel = reinterpret_cast<Kernel>(function);
  node.grid = {gridX, gridY, threads};
  node.block = *static_cast<const uint64_t *>(parameters[0]);
  node.run();
  return Success;
}

//===-- Graphs
//--------------------------------------------------------------------------------------------------------===//

Result GraphCreate(Graph *graph, unsigned) {
  CALL(GraphCreate);
  *graph = vx_stand_in()->made(new GraphData());
  return Success;
}
Result GraphDestroy(Graph graph) {
  CALL(GraphDestroy);
  vx_stand_in()->givenBack(graph);
  delete static_cast<GraphData *>(graph);
  return Success;
}
Result GraphAddKernelNode(GraphNode *node, Graph graph, const GraphNode *, size_t dependencies,
                          const KernelNodeParams *params) {
  const Grid grid = gridOf(*params);
  CALL(GraphAddKernelNode, dependencies, grid.x, grid.y, grid.threads);
  GraphData::add(graph, node).set(*params);
  return Success;
}
static Result addCopy(GraphNode *node, Graph graph, size_t dependencies, uint64_t destination, uint64_t source,
                      uint64_t size) {
  CALL(GraphAddMemcpyNode, dependencies, size);
  GraphData::add(graph, node).set(destination, source, size);
  return Success;
}
Result GraphAddEmptyNode(GraphNode *node, Graph graph, const GraphNode *, size_t dependencies) {
  CALL(GraphAddEmptyNode, dependencies);
  GraphData::add(graph, node).isEnabled = false;
  return Success;
}
Result GraphInstantiate(GraphExec *executable, Graph graph, unsigned long long) {
  CALL_ON_DEVICE(GraphInstantiate);
  auto *data = vx_stand_in()->made(new ExecData());
  for (const auto &node : static_cast<GraphData *>(graph)->nodes)
    data->nodes.emplace_back(node.get(), *node);
  *executable = data;
  return Success;
}
Result GraphExecDestroy(GraphExec executable) {
  CALL(GraphExecDestroy);
  vx_stand_in()->givenBack(executable);
  delete static_cast<ExecData *>(executable);
  return Success;
}
Result GraphExecKernelNodeSetParams(GraphExec executable, GraphNode node, const KernelNodeParams *params) {
  CALL(GraphExecKernelNodeSetParams, gridOf(*params).x, gridOf(*params).y);
  Node *found = ExecData::find(executable, node);
  if (!found || !found->isKernel)
    return ErrorInvalidValue;
  found->set(*params);
  return Success;
}
static Result setCopy(GraphExec executable, GraphNode node, uint64_t destination, uint64_t source, uint64_t size) {
  CALL(GraphExecMemcpyNodeSetParams, size);
  Node *found = ExecData::find(executable, node);
  if (!found || found->isKernel)
    return ErrorInvalidValue;
  found->set(destination, source, size);
  return Success;
}
Result GraphNodeSetEnabled(GraphExec executable, GraphNode node, unsigned enabled) {
  CALL(GraphNodeSetEnabled, enabled);
  Node *found = ExecData::find(executable, node);
  if (!found)
    return ErrorInvalidValue;
  found->isEnabled = enabled;
  return Success;
}
Result GraphLaunch(GraphExec executable, Stream stream) {
  CALL_ON_DEVICE(GraphLaunch);
  vx_stand_in()->launched(stream);
  for (const auto &[original, node] : static_cast<ExecData *>(executable)->nodes)
    node.run();
  return Success;
}

} // namespace vx::test

vx::test::GpuStandIn *vx_stand_in() {
  static auto &instance = *[] {
    auto *made = new vx::test::GpuStandIn();
    made->version = VX_STAND_IN_VERSION;
    return made;
  }();
  return &instance;
}

#endif
