// The functions of the HIP runtime that vx uses, declared here so that no SDK is needed to build. Names, numbers and
// layouts are those of its binary interface; a test compares them with AMD's header where that is installed.
#ifndef VX_DRIVERS_HIP_HIP_API_H
#define VX_DRIVERS_HIP_HIP_API_H

#include "hal/gpu/vendor_function.h"

#include <cstddef>
#include <cstdint>

namespace vx::hip::api {

// An address on the device; the header has void *, which is passed alike.
using DevicePtr = uint64_t;
using Stream = void *;
using Event = void *;
using Module = void *;
using Function = void *;
using MemoryPool = void *;
using Graph = void *;
using GraphNode = void *;
using GraphExec = void *;

enum Result : int {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorOutOfMemory = 2,
  ErrorNoDevice = 100,
  ErrorEccNotCorrectable = 214,
  ErrorInvalidHandle = 400,
  ErrorNotFound = 500,
  ErrorNotReady = 600,
  ErrorIllegalAddress = 700,
  ErrorLaunchTimeOut = 702,
  ErrorContextIsDestroyed = 709,
  ErrorAssert = 710,
  ErrorLaunchFailure = 719,
  ErrorUnknown = 999,
};

enum DeviceAttribute : int {
  AttributeIntegrated = 16,
  AttributePageableMemoryAccess = 65,
};

inline constexpr int MemcpyDefault = 4;
inline constexpr int AllocationTypePinned = 1;
inline constexpr int LocationTypeDevice = 1;

// HIP has the numbers of CUDA, and names of its own for some.
struct Flags {
  static constexpr unsigned StreamNonBlocking = 1;
  static constexpr unsigned EventDefault = 0;
  static constexpr unsigned EventDisableTiming = 2;
  static constexpr unsigned HostAllocPortable = 1;
  static constexpr unsigned HostAllocDeviceMap = 2;
  static constexpr unsigned HostRegisterReadOnly = 2 | 8; // mapped, and cached by the device: nobody writes to it
  static constexpr int PoolAttributeReleaseThreshold = 4;
};

// The first fields of the structure that `hipGetDeviceProperties` fills in under that name, and room for the rest of
// it.
struct DeviceProperties {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  int memoryClockRate;
  int memoryBusWidth;
  size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  int computeMode;
  int clockInstructionRate;
  unsigned arch; // one bit for a feature
  int concurrentKernels;
  int pciDomainID;
  int pciBusID;
  int pciDeviceID;
  size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard;
  int canMapHostMemory;
  int gcnArch;
  char gcnArchName[256];
  char rest[4096];
};

struct MemoryPoolProps {
  int allocType = AllocationTypePinned;
  int handleTypes = 0;
  int locationType = LocationTypeDevice;
  int locationId = 0;
  void *win32SecurityAttributes = nullptr;
  unsigned char reserved[64] = {};
};

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct KernelNodeParams {
  Dim3 blockDim;
  void **extra = nullptr;
  void *func = nullptr;
  Dim3 gridDim;
  void **kernelParams = nullptr;
  unsigned sharedMemBytes = 0;
};

// See hal/gpu/vendor_function.h.
#define VX_HIP_FUNCTIONS(X)                                                                                            \
  X(Init, "hipInit", "", Result, (unsigned flags))                                                                     \
  X(GetErrorName, "hipGetErrorName", "", const char *, (Result error))                                                 \
  X(GetErrorString, "hipGetErrorString", "", const char *, (Result error))                                             \
  X(DeviceGetCount, "hipGetDeviceCount", "", Result, (int *count))                                                     \
  X(GetDeviceProperties, "hipGetDeviceProperties", "", Result, (DeviceProperties * properties, int device))            \
  X(DeviceGetAttribute, "hipDeviceGetAttribute", "", Result, (int *value, DeviceAttribute attribute, int device))      \
  X(SetDevice, "hipSetDevice", "", Result, (int device))                                                               \
  X(GetDevice, "hipGetDevice", "", Result, (int *device))                                                              \
  X(MemGetInfo, "hipMemGetInfo", "", Result, (size_t *available, size_t *total))                                       \
  X(MemPoolCreate, "hipMemPoolCreate", "", Result, (MemoryPool * pool, const MemoryPoolProps *props))                  \
  X(MemPoolDestroy, "hipMemPoolDestroy", "", Result, (MemoryPool pool))                                                \
  X(MemPoolSetAttribute, "hipMemPoolSetAttribute", "", Result, (MemoryPool pool, int attribute, void *value))          \
  X(MemPoolTrimTo, "hipMemPoolTrimTo", "", Result, (MemoryPool pool, size_t bytesToKeep))                              \
  X(MemAllocFromPoolAsync, "hipMallocFromPoolAsync", "", Result,                                                       \
    (DevicePtr * address, size_t size, MemoryPool pool, Stream stream))                                                \
  X(MemFreeAsync, "hipFreeAsync", "", Result, (DevicePtr address, Stream stream))                                      \
  X(MemHostAlloc, "hipHostMalloc", "", Result, (void **host, size_t size, unsigned flags))                             \
  X(MemFreeHost, "hipHostFree", "", Result, (void *host))                                                              \
  X(MemHostRegister, "hipHostRegister", "", Result, (void *host, size_t size, unsigned flags))                         \
  X(MemHostUnregister, "hipHostUnregister", "", Result, (void *host))                                                  \
  X(MemHostGetDevicePointer, "hipHostGetDevicePointer", "", Result, (DevicePtr * address, void *host, unsigned flags)) \
  X(MemcpyAsync, "hipMemcpyAsync", "", Result,                                                                         \
    (DevicePtr destination, DevicePtr source, size_t size, int kind, Stream stream))                                   \
  X(MemsetAsync, "hipMemsetAsync", "", Result, (DevicePtr destination, int value, size_t size, Stream stream))         \
  X(StreamCreate, "hipStreamCreateWithFlags", "", Result, (Stream * stream, unsigned flags))                           \
  X(StreamDestroy, "hipStreamDestroy", "", Result, (Stream stream))                                                    \
  X(StreamSynchronize, "hipStreamSynchronize", "", Result, (Stream stream))                                            \
  X(StreamQuery, "hipStreamQuery", "", Result, (Stream stream))                                                        \
  X(EventCreate, "hipEventCreateWithFlags", "", Result, (Event * event, unsigned flags))                               \
  X(EventDestroy, "hipEventDestroy", "", Result, (Event event))                                                        \
  X(EventRecord, "hipEventRecord", "", Result, (Event event, Stream stream))                                           \
  X(EventSynchronize, "hipEventSynchronize", "", Result, (Event event))                                                \
  X(EventQuery, "hipEventQuery", "", Result, (Event event))                                                            \
  X(EventElapsedTime, "hipEventElapsedTime", "", Result, (float *milliseconds, Event begin, Event end))                \
  X(ModuleLoadData, "hipModuleLoadData", "", Result, (Module * module, const void *image))                             \
  X(ModuleUnload, "hipModuleUnload", "", Result, (Module module))                                                      \
  X(ModuleGetFunction, "hipModuleGetFunction", "", Result, (Function * function, Module module, const char *name))     \
  X(LaunchKernel, "hipModuleLaunchKernel", "", Result,                                                                 \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,              \
     unsigned blockZ, unsigned sharedMemBytes, Stream stream, void **kernelParams, void **extra))                      \
  X(GraphCreate, "hipGraphCreate", "", Result, (Graph * graph, unsigned flags))                                        \
  X(GraphDestroy, "hipGraphDestroy", "", Result, (Graph graph))                                                        \
  X(GraphAddKernelNode, "hipGraphAddKernelNode", "", Result,                                                           \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies,                             \
     const KernelNodeParams *params))                                                                                  \
  X(GraphAddMemcpyNode, "hipGraphAddMemcpyNode1D", "", Result,                                                         \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies, DevicePtr destination,      \
     DevicePtr source, size_t size, int kind))                                                                         \
  X(GraphAddEmptyNode, "hipGraphAddEmptyNode", "", Result,                                                             \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies))                            \
  X(GraphInstantiate, "hipGraphInstantiateWithFlags", "", Result,                                                      \
    (GraphExec * executable, Graph graph, unsigned long long flags))                                                   \
  X(GraphExecDestroy, "hipGraphExecDestroy", "", Result, (GraphExec executable))                                       \
  X(GraphExecKernelNodeSetParams, "hipGraphExecKernelNodeSetParams", "", Result,                                       \
    (GraphExec executable, GraphNode node, const KernelNodeParams *params))                                            \
  X(GraphExecMemcpyNodeSetParams, "hipGraphExecMemcpyNodeSetParams1D", "", Result,                                     \
    (GraphExec executable, GraphNode node, DevicePtr destination, DevicePtr source, size_t size, int kind))            \
  X(GraphNodeSetEnabled, "hipGraphNodeSetEnabled", "", Result,                                                         \
    (GraphExec executable, GraphNode node, unsigned isEnabled))                                                        \
  X(GraphLaunch, "hipGraphLaunch", "", Result, (GraphExec executable, Stream stream))

VX_GPU_FUNCTION_TABLE(VX_HIP_FUNCTIONS)

struct GetVersion : hal::gpu::VendorFunction<Result(int *version)> {
  constexpr GetVersion() : VendorFunction("hipRuntimeGetVersion", "hipRuntimeGetVersion") {}
};

} // namespace vx::hip::api

#endif
