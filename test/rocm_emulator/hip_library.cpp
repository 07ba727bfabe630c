// The functions of the HIP runtime that the driver opens, over the emulator: device memory is host memory, work is
// queued by stream and carried out when it is waited for (gpu/queued_work.h), and a launch computes the kernel.
// VX_ROCM_EMULATOR_CHIP names the chip, gfx1100 without it.
#include "gpu/queued_work.h"
#include "hip_api.h"
#include "launch.h"

#include <cstdlib>
#include <deque>
#include <queue>

#define EXPORT __attribute__((visibility("default")))

namespace vx::rocm_emulator {

using namespace hip::api;

#define VX_DECLARE(MEMBER, NAME, VERSION, RESULT, PARAMETERS) EXPORT RESULT MEMBER PARAMETERS __asm__(NAME VERSION);
VX_HIP_FUNCTIONS(VX_DECLARE)
#undef VX_DECLARE
EXPORT Result getVersion(int *version) __asm__("hipRuntimeGetVersion");

namespace {

constexpr uint64_t totalMemory = uint64_t(64) << 30;
constexpr auto ErrorInvalidImage = static_cast<Result>(200);

Memory &memory() {
  // Never destroyed: the driver's objects may outlive everything.
  static auto &instance = *new Memory();
  return instance;
}

test::QueuedWork &work() {
  static auto &instance = *new test::QueuedWork();
  return instance;
}
using Uses = std::vector<test::QueuedWork::Range>;

// An object's place in the lists of what work uses.
test::QueuedWork::Range object(const void *address) { return {reinterpret_cast<uint64_t>(address)}; }

// Why the last call failed, in words that stay where they are.
std::mutex problemMutex;
const char *lastProblem = nullptr;

Result failed(Result result, std::string problem) {
  std::lock_guard lock(problemMutex);
  static auto &problems = *new std::deque<std::string>();
  problems.push_back(std::move(problem));
  lastProblem = problems.back().c_str();
  return result;
}

std::string chipName() {
  const char *name = std::getenv("VX_ROCM_EMULATOR_CHIP");
  return name && *name ? name : "gfx1100";
}

const Chip *chip() {
  static const Chip *const found = findChip(chipName());
  return found;
}

// An object that nothing is known of.
void *make() { return new char; }
Result drop(void *object) {
  delete static_cast<char *>(object);
  return Success;
}

Result copyBytes(DevicePtr destination, DevicePtr source, size_t size) {
  for (DevicePtr address : {destination, source})
    if (!memory().find(address).holds(address, size))
      return failed(ErrorIllegalAddress, "a copy leaves the allocations");
  std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), size);
  return Success;
}

Result run(Function function, Dim3 grid, Dim3 workgroup, unsigned sharedBytes, std::span<const uint8_t> arguments) {
  const Kernel &kernel = *static_cast<const Kernel *>(function);
  if (sharedBytes != 0)
    return failed(ErrorInvalidValue, "workgroup memory of a launch is not known");
  try {
    launch(kernel, {grid.x, grid.y, grid.z}, {workgroup.x, workgroup.y, workgroup.z}, arguments, memory());
  } catch (const Fault &fault) {
    return failed(ErrorLaunchFailure, fault.what());
  }
  return Success;
}

// The arguments as the kernel reads them, from an address for each.
std::vector<uint8_t> gather(const Kernel &kernel, void **parameters) {
  std::vector<uint8_t> bytes(kernel.argumentBytes);
  for (size_t k = 0; k < kernel.arguments.size(); ++k)
    std::memcpy(bytes.data() + kernel.arguments[k].offset, parameters[k], kernel.arguments[k].size);
  return bytes;
}

struct Node {
  enum Kind { Empty, Kernel, Copy } kind = Empty;
  std::vector<const Node *> after;
  Function function = nullptr;
  Dim3 grid, workgroup;
  unsigned sharedBytes = 0;
  std::vector<uint8_t> arguments;
  DevicePtr destination = 0, source = 0;
  size_t size = 0;
  bool isEnabled = true;

  void set(const KernelNodeParams &params) {
    kind = Kernel;
    function = params.func;
    grid = params.gridDim;
    workgroup = params.blockDim;
    sharedBytes = params.sharedMemBytes;
    arguments = gather(*static_cast<const rocm_emulator::Kernel *>(function), params.kernelParams);
  }
  void set(DevicePtr to, DevicePtr from, size_t bytes) {
    kind = Copy;
    destination = to;
    source = from;
    size = bytes;
  }
  void addUses(Uses &uses) const {
    if (kind == Kernel)
      uses.push_back(object(function));
    else if (kind == Copy && isEnabled)
      uses.insert(uses.end(), {{destination, size}, {source, size}});
  }
  Result run() const {
    if (!isEnabled || kind == Empty)
      return Success;
    return kind == Copy ? copyBytes(destination, source, size)
                        : rocm_emulator::run(function, grid, workgroup, sharedBytes, arguments);
  }
};

struct GraphData {
  std::deque<Node> nodes;

  Node &add(GraphNode *node, const GraphNode *after, size_t count) {
    Node &added = nodes.emplace_back();
    for (size_t k = 0; k < count; ++k)
      added.after.push_back(static_cast<const Node *>(after[k]));
    *node = &added;
    return added;
  }
};

// Starts from the nodes' state; nodes are named by their address in the graph.
struct ExecData {
  // What is launched keeps the nodes as they were then.
  std::shared_ptr<std::vector<Node>> current = std::make_shared<std::vector<Node>>();
  std::map<const void *, size_t> places;
  // Of those that may be next it is always the last one: who needs an earlier one and does not say so shall see it.
  std::vector<size_t> order;

  explicit ExecData(const GraphData &graph) {
    std::vector<Node> &nodes = *current;
    for (const Node &node : graph.nodes) {
      places[&node] = nodes.size();
      nodes.push_back(node);
    }
    std::vector<size_t> missing(nodes.size());
    std::vector<std::vector<size_t>> readers(nodes.size());
    std::priority_queue<size_t> ready;
    for (size_t k = 0; k < nodes.size(); ++k) {
      missing[k] = nodes[k].after.size();
      for (const Node *before : nodes[k].after)
        readers[places.at(before)].push_back(k);
      if (missing[k] == 0)
        ready.push(k);
    }
    while (!ready.empty()) {
      const size_t now = ready.top();
      ready.pop();
      order.push_back(now);
      for (size_t reader : readers[now])
        if (--missing[reader] == 0)
          ready.push(reader);
    }
  }

  static Node *find(GraphExec executable, GraphNode node, Node::Kind kind) {
    auto &data = *static_cast<ExecData *>(executable);
    auto found = data.places.find(node);
    return found == data.places.end() || (*data.current)[found->second].kind != kind ? nullptr
                                                                                     : data.change(found->second);
  }
  Node *change(size_t place) {
    if (current.use_count() > 1)
      current = std::make_shared<std::vector<Node>>(*current);
    return &(*current)[place];
  }
};

} // namespace

//===-- The device ----------------------------------------------------------------------------===//

Result getVersion(int *version) {
  *version = 60200000;
  return Success;
}
Result Init(unsigned) {
  if (chip())
    return Success;
  std::string names;
  for (const Chip &known : knownChips())
    names += " " + std::string(known.name);
  return failed(ErrorNoDevice, "VX_ROCM_EMULATOR_CHIP is '" + chipName() + "', known are:" + names);
}
const char *GetErrorName(Result error) {
  switch (static_cast<int>(error)) {
  case ErrorInvalidValue:
    return "hipErrorInvalidValue";
  case ErrorOutOfMemory:
    return "hipErrorOutOfMemory";
  case ErrorNoDevice:
    return "hipErrorNoDevice";
  case ErrorInvalidImage:
    return "hipErrorInvalidImage";
  case ErrorNotFound:
    return "hipErrorNotFound";
  case ErrorLaunchFailure:
    return "hipErrorLaunchFailure";
  default:
    return "hipErrorUnknown";
  }
}
const char *GetErrorString(Result error) {
  std::lock_guard lock(problemMutex);
  return lastProblem && error != ErrorOutOfMemory ? lastProblem : "no words for it";
}
Result DeviceGetCount(int *count) {
  *count = 1;
  return Success;
}
Result GetDeviceProperties(DeviceProperties *properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "Emulated %s", chipName().c_str());
  std::snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s", chipName().c_str());
  properties->totalGlobalMem = totalMemory;
  properties->sharedMemPerBlock = 65536;
  properties->warpSize = chip()->generation == Generation::Gfx11 ? 32 : 64;
  properties->multiProcessorCount = 1;
  return Success;
}
Result SetDevice(int device) { return device == 0 ? Success : ErrorInvalidValue; }
Result GetDevice(int *device) {
  *device = 0;
  return Success;
}

//===-- Memory --------------------------------------------------------------------------------===//

Result MemGetInfo(size_t *available, size_t *total) {
  *available = *total = totalMemory;
  return Success;
}
Result MemPoolCreate(MemoryPool *pool, const MemoryPoolProps *) {
  *pool = make();
  return Success;
}
Result MemPoolDestroy(MemoryPool pool) { return drop(pool); }
Result MemPoolSetAttribute(MemoryPool, int, void *) { return Success; }
Result MemPoolTrimTo(MemoryPool, size_t) { return Success; }
// The address is known at once; the memory is there when the stream has come to it.
Result MemAllocFromPoolAsync(DevicePtr *address, size_t size, MemoryPool, Stream stream) {
  void *allocated = memory().allocate(size);
  *address = reinterpret_cast<DevicePtr>(allocated);
  if (!allocated)
    return ErrorOutOfMemory;
  memory().remove(*address);
  work().add(stream, 0, [address = *address, size] {
    memory().add(address, size);
    return Success;
  });
  return Success;
}
static Result freeMemory(DevicePtr address) {
  const Memory::Range range = memory().free(address);
  if (range.end == 0)
    return failed(ErrorInvalidValue, "what was not allocated is freed");
  work().afterQueued(range.end - range.begin, [address] { memory().release(address); });
  return Success;
}
Result MemFreeAsync(DevicePtr address, Stream stream) {
  const Memory::Range range = memory().find(address);
  work().giveBack("memory", {address, range.end - range.begin}, stream);
  // Behind what its own stream still does, among that its allocation.
  if (work().isEmpty(stream))
    return freeMemory(address);
  work().add(stream, 0, [address] { return freeMemory(address); });
  return Success;
}
Result MemHostAlloc(void **host, size_t size, unsigned) {
  *host = memory().allocate(size);
  return *host ? Success : ErrorOutOfMemory;
}
Result MemFreeHost(void *host) {
  const auto address = reinterpret_cast<DevicePtr>(host);
  const Memory::Range range = memory().find(address);
  work().giveBack("memory of the host", {address, range.end - range.begin});
  return freeMemory(address);
}
// A card with memory of its own.
Result DeviceGetAttribute(int *value, DeviceAttribute, int) {
  *value = 0;
  return Success;
}
Result MemHostRegister(void *, size_t, unsigned) { return ErrorInvalidValue; }
Result MemHostUnregister(void *) { return ErrorInvalidValue; }
Result MemHostGetDevicePointer(DevicePtr *address, void *host, unsigned) {
  *address = reinterpret_cast<DevicePtr>(host);
  return Success;
}
Result MemcpyAsync(DevicePtr destination, DevicePtr source, size_t size, int, Stream stream) {
  work().add(stream, 0, [=] { return copyBytes(destination, source, size); }, {{destination, size}, {source, size}});
  return Success;
}
Result MemsetAsync(DevicePtr destination, int value, size_t size, Stream stream) {
  auto fill = [=] {
    if (!memory().find(destination).holds(destination, size))
      return failed(ErrorIllegalAddress, "a fill leaves the allocations");
    std::memset(reinterpret_cast<void *>(destination), value, size);
    return Success;
  };
  work().add(stream, 0, fill, {{destination, size}});
  return Success;
}

//===-- Streams and events --------------------------------------------------------------------===//

Result StreamCreate(Stream *stream, unsigned) {
  *stream = make();
  return Success;
}
Result StreamDestroy(Stream stream) {
  work().forgetStream(stream);
  return drop(stream);
}
Result StreamSynchronize(Stream stream) { return static_cast<Result>(work().finish(stream)); }
Result StreamQuery(Stream stream) {
  int error = 0;
  return work().poll(stream, error) ? static_cast<Result>(error) : ErrorNotReady;
}
Result EventCreate(Event *event, unsigned) {
  *event = make();
  return Success;
}
Result EventDestroy(Event event) {
  work().forgetEvent(event);
  return drop(event);
}
Result EventRecord(Event event, Stream stream) {
  work().record(event, stream);
  return Success;
}
Result EventSynchronize(Event event) { return static_cast<Result>(work().finishEvent(event)); }
Result EventQuery(Event event) {
  int error = 0;
  return work().pollEvent(event, error) ? static_cast<Result>(error) : ErrorNotReady;
}
Result EventElapsedTime(float *milliseconds, Event begin, Event end) {
  if (!work().isDone(begin) || !work().isDone(end))
    return ErrorNotReady;
  *milliseconds = 1;
  return Success;
}

//===-- Code ----------------------------------------------------------------------------------===//

Result ModuleLoadData(Module *module, const void *image) {
  try {
    *module = new CodeObject(*chip(), image, memory());
  } catch (const Fault &fault) {
    return failed(ErrorInvalidImage, fault.what());
  }
  return Success;
}
Result ModuleUnload(Module module) {
  const auto *code = static_cast<const CodeObject *>(module);
  for (const std::unique_ptr<Kernel> &kernel : code->all())
    work().giveBack("code", object(kernel.get()));
  delete code;
  return Success;
}
Result ModuleGetFunction(Function *function, Module module, const char *name) {
  *function = const_cast<Kernel *>(static_cast<const CodeObject *>(module)->find(name));
  return *function ? Success : failed(ErrorNotFound, "the code has no kernel '" + std::string(name) + "'");
}
Result LaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned threadsX,
                    unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, Stream stream, void **parameters,
                    void **) {
  auto launch = [=, arguments = gather(*static_cast<const Kernel *>(function), parameters)] {
    return run(function, {gridX, gridY, gridZ}, {threadsX, threadsY, threadsZ}, sharedBytes, arguments);
  };
  work().add(stream, 0, launch, {object(function)});
  return Success;
}

//===-- Graphs --------------------------------------------------------------------------------===//

Result GraphCreate(Graph *graph, unsigned) {
  *graph = new GraphData();
  return Success;
}
Result GraphDestroy(Graph graph) {
  delete static_cast<GraphData *>(graph);
  return Success;
}
Result GraphAddKernelNode(GraphNode *node, Graph graph, const GraphNode *after, size_t count,
                          const KernelNodeParams *params) {
  static_cast<GraphData *>(graph)->add(node, after, count).set(*params);
  return Success;
}
Result GraphAddMemcpyNode(GraphNode *node, Graph graph, const GraphNode *after, size_t count, DevicePtr destination,
                          DevicePtr source, size_t size, int) {
  static_cast<GraphData *>(graph)->add(node, after, count).set(destination, source, size);
  return Success;
}
Result GraphAddEmptyNode(GraphNode *node, Graph graph, const GraphNode *after, size_t count) {
  static_cast<GraphData *>(graph)->add(node, after, count);
  return Success;
}
Result GraphInstantiate(GraphExec *executable, Graph graph, unsigned long long) {
  *executable = new ExecData(*static_cast<const GraphData *>(graph));
  return Success;
}
Result GraphExecDestroy(GraphExec executable) {
  work().giveBack("a graph", object(executable));
  delete static_cast<ExecData *>(executable);
  return Success;
}
Result GraphExecKernelNodeSetParams(GraphExec executable, GraphNode node, const KernelNodeParams *params) {
  Node *found = ExecData::find(executable, node, Node::Kernel);
  if (!found)
    return ErrorInvalidValue;
  found->set(*params);
  return Success;
}
Result GraphExecMemcpyNodeSetParams(GraphExec executable, GraphNode node, DevicePtr destination, DevicePtr source,
                                    size_t size, int) {
  Node *found = ExecData::find(executable, node, Node::Copy);
  if (!found)
    return ErrorInvalidValue;
  found->set(destination, source, size);
  return Success;
}
Result GraphNodeSetEnabled(GraphExec executable, GraphNode node, unsigned enabled) {
  auto &data = *static_cast<ExecData *>(executable);
  auto found = data.places.find(node);
  if (found == data.places.end())
    return ErrorInvalidValue;
  data.change(found->second)->isEnabled = enabled;
  return Success;
}
Result GraphLaunch(GraphExec executable, Stream stream) {
  const auto &data = *static_cast<const ExecData *>(executable);
  Uses uses = {object(executable)};
  for (const Node &node : *data.current)
    node.addUses(uses);
  auto launch = [nodes = std::shared_ptr<const std::vector<Node>>(data.current), order = data.order] {
    for (size_t index : order)
      if (Result result = (*nodes)[index].run(); result != Success)
        return result;
    return Success;
  };
  work().add(stream, 0, launch, std::move(uses));
  return Success;
}

} // namespace vx::rocm_emulator
