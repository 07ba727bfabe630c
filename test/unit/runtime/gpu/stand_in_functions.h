// The functions of a vendor's library that are alike for CUDA and HIP, over host memory. Work is queued by stream and
// carried out when it is waited for (queued_work.h), and a kernel runs the CPU kernel of the same name
// (../test_kernels.c). Every call is recorded, and any can be made to fail; STAND_IN_CRASH names one that ends the
// process.
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
#include "queued_work.h"
#include "stand_in.h"

#include "vx/abi/kernel.h"

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

QueuedWork &work() {
  static auto &instance = *new QueuedWork();
  return instance;
}
using Uses = std::vector<QueuedWork::Range>;

// An object's place in the lists of what work uses.
QueuedWork::Range object(const void *address) { return {reinterpret_cast<uint64_t>(address)}; }

// Records a call and says what it shall answer. A device that an answer makes lost does nothing more.
template <typename... Numbers>
Result record(const char *name, Numbers... numbers) {
  static const char *const crash = std::getenv("STAND_IN_CRASH");
  if (crash && std::strcmp(crash, name) == 0)
    std::abort();
  std::string text;
  ((text += " " + std::to_string(numbers)), ...);
  const int answer = vx_stand_in()->record(name, text, currentDevice());
  if (answer >= 700)
    work().drop(currentDevice());
  return static_cast<Result>(answer);
}

// The memory that was allocated and not given back, by its address. Thread-safe.
class Allocations {
public:
  uint64_t make(size_t size, size_t alignment, bool isThere) {
    void *memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    std::memset(memory, unwritten, size);
    const auto address = reinterpret_cast<uint64_t>(vx_stand_in()->made(memory));
    std::lock_guard lock(mutex);
    pieces[address] = {size, isThere};
    return address;
  }
  void arrive(uint64_t address) {
    std::lock_guard lock(mutex);
    pieces.at(address).isThere = true;
  }
  QueuedWork::Range range(uint64_t address) {
    std::lock_guard lock(mutex);
    auto found = pieces.find(address);
    return {address, found == pieces.end() ? 0 : found->second.size};
  }
  // Its bytes are no other memory's before all that is queued now is done.
  void free(uint64_t address) {
    std::lock_guard lock(mutex);
    auto found = pieces.extract(address);
    if (found.empty())
      return; // the test sees it in the record
    auto *memory = reinterpret_cast<void *>(address);
    std::memset(memory, unwritten, found.mapped().size);
    work().afterQueued(found.mapped().size, [memory] { std::free(memory); });
  }
  // Somebody else's memory, while it is registered. False where some of its pages are already.
  bool adopt(uint64_t address, uint64_t size) {
    std::lock_guard lock(mutex);
    auto after = pieces.lower_bound(address);
    if ((after != pieces.end() && after->first < address + size) ||
        (after != pieces.begin() && std::prev(after)->first + std::prev(after)->second.size > address))
      return false;
    pieces[address] = {size, true};
    return true;
  }
  void giveUp(uint64_t address) {
    std::lock_guard lock(mutex);
    pieces.erase(address);
  }
  // Dies when the bytes are not those of memory that is there for work that runs now.
  void check(const char *who, uint64_t address, uint64_t size) {
    std::lock_guard lock(mutex);
    auto after = pieces.upper_bound(address);
    if (after != pieces.begin())
      if (const auto &[begin, piece] = *std::prev(after);
          piece.isThere && address - begin <= piece.size && size <= piece.size - (address - begin))
        return;
    if (!vx_stand_in()->readsPages)
      QueuedWork::die(std::string(who) + " uses memory that is not there");
  }

private:
  static constexpr int unwritten = 0xdd;
  struct Piece {
    uint64_t size = 0;
    bool isThere = true;
  };
  std::mutex mutex;
  std::map<uint64_t, Piece> pieces;
};
Allocations &allocations() {
  static auto &instance = *new Allocations();
  return instance;
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

// Loaded code: a text with the names of its kernels.
struct ModuleData;
struct LoadedKernel {
  Kernel kernel = nullptr;
  const ModuleData *module = nullptr;
};
struct ModuleData {
  std::string text;
  std::deque<LoadedKernel> kernels;
};

struct Node {
  bool isKernel = false, isEnabled = true;
  LoadedKernel kernel;
  Grid grid;
  uint64_t block = 0;
  uint64_t destination = 0, source = 0, size = 0;

  void set(const KernelNodeParams &params) {
    isKernel = true;
    kernel = *reinterpret_cast<const LoadedKernel *>(params.func);
    grid = gridOf(params);
    block = *static_cast<const uint64_t *>(params.kernelParams[0]);
  }
  void set(uint64_t copyDestination, uint64_t copySource, uint64_t copySize) {
    destination = copyDestination;
    source = copySource;
    size = copySize;
  }
  void addUses(Uses &uses) const {
    if (isKernel)
      uses.push_back(object(kernel.module));
    else if (isEnabled)
      uses.insert(uses.end(), {{destination, size}, {source, size}});
  }
  void run() const {
    if (!isEnabled)
      return;
    if (!isKernel) {
      allocations().check("a copy", destination, size);
      allocations().check("a copy", source, size);
      std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), size);
      return;
    }
    const unsigned buffers = bufferCountOf(kernel.kernel);
    allocations().check("a kernel", block, (VX_BLOCK_FIRST_BUFFER + buffers) * sizeof(uint64_t));
    const auto *words = reinterpret_cast<const uint64_t *>(block);
    allocations().check("a kernel", words[VX_BLOCK_FAULT], 1);
    for (unsigned buffer = 0; buffer < buffers; ++buffer)
      if (words[VX_BLOCK_FIRST_BUFFER + buffer])
        allocations().check("a kernel", words[VX_BLOCK_FIRST_BUFFER + buffer], 0);
    runKernel(kernel.kernel, block, grid.x, grid.y);
  }
};

// Work of these nodes, in this order.
void queue(std::vector<Node> nodes, Stream stream, const void *executable = nullptr) {
  Uses uses;
  if (executable)
    uses.push_back(object(executable));
  for (const Node &node : nodes)
    node.addUses(uses);
  auto run = [nodes = std::move(nodes)] {
    for (const Node &node : nodes)
      node.run();
    return 0;
  };
  work().add(stream, currentDevice(), std::move(run), std::move(uses));
}

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

//===-- Memory --------------------------------------------------------------------------------===//

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
// The address is known at once; the memory is there when the stream has come to it.
Result MemAllocFromPoolAsync(DevicePtr *address, size_t size, MemoryPool, Stream stream) {
  CALL_ON_DEVICE(MemAllocFromPoolAsync, size);
  if (!vx_stand_in()->allocate(size))
    return ErrorOutOfMemory;
  record("allocated on device", currentDevice());
  *address = allocations().make(size, 512, /*isThere=*/false);
  work().add(stream, currentDevice(), [address = *address] {
    allocations().arrive(address);
    return 0;
  });
  return Success;
}
Result MemFreeAsync(DevicePtr address, Stream stream) {
  CALL_ON_DEVICE(MemFreeAsync);
  vx_stand_in()->givenBack(reinterpret_cast<void *>(address));
  vx_stand_in()->givenBackToPool(allocations().range(address).size);
  work().giveBack("memory", allocations().range(address), stream);
  // Behind what its own stream still does, among that its allocation.
  if (work().isEmpty(stream))
    allocations().free(address);
  else
    work().add(stream, currentDevice(), [address] {
      allocations().free(address);
      return 0;
    });
  return Success;
}
Result MemHostAlloc(void **host, size_t size, unsigned flags) {
  CALL_ON_DEVICE(MemHostAlloc, size, flags);
  *host = reinterpret_cast<void *>(allocations().make(size, 4096, /*isThere=*/true));
  return Success;
}
Result MemFreeHost(void *host) {
  CALL_ON_DEVICE(MemFreeHost);
  vx_stand_in()->givenBack(host);
  const auto address = reinterpret_cast<uint64_t>(host);
  work().giveBack("memory of the host", allocations().range(address));
  allocations().free(address);
  return Success;
}
Result MemHostRegister(void *host, size_t size, unsigned flags) {
  CALL_ON_DEVICE(MemHostRegister, size, flags);
  const auto address = reinterpret_cast<uint64_t>(host);
  if (address % 4096 != 0 || size % 4096 != 0 || !allocations().adopt(address, size))
    return ErrorInvalidValue;
  vx_stand_in()->made(host);
  return Success;
}
Result MemHostUnregister(void *host) {
  CALL_ON_DEVICE(MemHostUnregister);
  vx_stand_in()->givenBack(host);
  const auto address = reinterpret_cast<uint64_t>(host);
  work().giveBack("pages of the host", allocations().range(address));
  allocations().giveUp(address);
  return Success;
}
Result MemHostGetDevicePointer(DevicePtr *address, void *host, unsigned) {
  CALL(MemHostGetDevicePointer);
  *address = reinterpret_cast<uint64_t>(host);
  return Success;
}
static Result copyBytes(DevicePtr destination, DevicePtr source, size_t size, Stream stream) {
  CALL_ON_DEVICE(MemcpyAsync, size);
  vx_stand_in()->copied(source, size);
  Node node;
  node.set(destination, source, size);
  queue({node}, stream);
  return Success;
}
static Result fillBytes(DevicePtr destination, int value, size_t size, Stream stream) {
  CALL_ON_DEVICE(MemsetAsync, size);
  auto fill = [=] {
    allocations().check("a fill", destination, size);
    std::memset(reinterpret_cast<void *>(destination), value, size);
    return 0;
  };
  work().add(stream, currentDevice(), fill, {{destination, size}});
  return Success;
}

//===-- Streams and events --------------------------------------------------------------------===//

Result StreamCreate(Stream *stream, unsigned flags) {
  CALL_ON_DEVICE(StreamCreate, flags);
  *stream = make();
  return Success;
}
Result StreamDestroy(Stream stream) {
  CALL(StreamDestroy);
  work().forgetStream(stream);
  return drop(stream);
}
Result StreamSynchronize(Stream stream) {
  CALL_ON_DEVICE(StreamSynchronize);
  return static_cast<Result>(work().finish(stream));
}
Result StreamQuery(Stream stream) {
  CALL_ON_DEVICE(StreamQuery);
  int error = 0;
  return work().poll(stream, error) ? static_cast<Result>(error) : ErrorNotReady;
}
Result EventQuery(Event event) {
  CALL_ON_DEVICE(EventQuery);
  int error = 0;
  return work().pollEvent(event, error) ? static_cast<Result>(error) : ErrorNotReady;
}
Result EventCreate(Event *event, unsigned flags) {
  CALL_ON_DEVICE(EventCreate, flags);
  *event = make();
  return Success;
}
Result EventDestroy(Event event) {
  CALL(EventDestroy);
  work().forgetEvent(event);
  return drop(event);
}
Result EventRecord(Event event, Stream stream) {
  CALL_ON_DEVICE(EventRecord);
  if (stream == vx_stand_in()->foreignStream)
    return ErrorInvalidHandle;
  work().record(event, stream);
  return Success;
}
Result EventSynchronize(Event event) {
  if (Result answer = record(names.EventSynchronize.name); answer != Success)
    return answer;
  return static_cast<Result>(work().finishEvent(event));
}
Result EventElapsedTime(float *milliseconds, Event begin, Event end) {
  CALL(EventElapsedTime);
  if (!work().isDone(begin) || !work().isDone(end))
    return ErrorNotReady;
  *milliseconds = 0.25F;
  return Success;
}

//===-- Code ----------------------------------------------------------------------------------===//

static Module makeModule(const void *image) {
  return vx_stand_in()->made(new ModuleData{static_cast<const char *>(image), {}});
}
Result ModuleUnload(Module module) {
  CALL_ON_DEVICE(ModuleUnload);
  vx_stand_in()->givenBack(module);
  work().giveBack("code", object(module));
  delete static_cast<ModuleData *>(module);
  return Success;
}
Result ModuleGetFunction(Function *function, Module module, const char *name) {
  CALL(ModuleGetFunction);
  auto &data = *static_cast<ModuleData *>(module);
  Kernel kernel = findKernel(name);
  if (!kernel || (" " + data.text + " ").find(" " + std::string(name) + " ") == std::string::npos)
    return ErrorNotFound;
  *function = reinterpret_cast<Function>(&data.kernels.emplace_back(LoadedKernel{kernel, &data}));
  return Success;
}
Result LaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned, unsigned threads, unsigned, unsigned,
                    unsigned shared, Stream stream, void **parameters, void **) {
  CALL_ON_DEVICE(LaunchKernel, gridX, gridY, threads, shared);
  Node node;
  node.isKernel = true;
  node.kernel = *reinterpret_cast<const LoadedKernel *>(function);
  node.grid = {gridX, gridY, threads};
  node.block = *static_cast<const uint64_t *>(parameters[0]);
  queue({node}, stream);
  return Success;
}

//===-- Graphs --------------------------------------------------------------------------------===//

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
  work().giveBack("a graph", object(executable));
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
  std::vector<Node> nodes;
  for (const auto &[original, node] : static_cast<ExecData *>(executable)->nodes)
    nodes.push_back(node);
  queue(std::move(nodes), stream, executable);
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
