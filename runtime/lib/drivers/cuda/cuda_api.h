// The functions of the CUDA driver that vx uses, declared here so that no SDK is needed to build. Names, numbers and
// layouts are those of the driver's stable binary interface; a test compares them with NVIDIA's header where that is
// installed.
#ifndef VX_DRIVERS_CUDA_CUDA_API_H
#define VX_DRIVERS_CUDA_CUDA_API_H

#include <cstddef>
#include <cstdint>

namespace vx::cuda::api {

using Device = int;
using DevicePtr = uint64_t;
using Context = struct ContextObject *;
using Stream = struct StreamObject *;
using Event = struct EventObject *;
using Module = struct ModuleObject *;
using Function = struct FunctionObject *;
using LinkState = struct LinkStateObject *;
using MemoryPool = struct MemoryPoolObject *;
using Graph = struct GraphObject *;
using GraphNode = struct GraphNodeObject *;
using GraphExec = struct GraphExecObject *;

enum Result : int {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorOutOfMemory = 2,
  ErrorNoDevice = 100,
  ErrorInvalidDevice = 101,
  ErrorEccUncorrectable = 214,
  ErrorNvlinkUncorrectable = 220,
  ErrorContained = 226,
  ErrorNotFound = 500,
  ErrorIllegalAddress = 700,
  ErrorLaunchTimeout = 702,
  ErrorContextIsDestroyed = 709,
  ErrorAssert = 710,
  ErrorHardwareStackError = 714,
  ErrorIllegalInstruction = 715,
  ErrorMisalignedAddress = 716,
  ErrorInvalidAddressSpace = 717,
  ErrorInvalidPc = 718,
  ErrorLaunchFailed = 719,
  ErrorUnknown = 999,
};

enum DeviceAttribute : int {
  AttributeMaxSharedMemoryPerBlock = 8,
  AttributeMultiprocessorCount = 16,
  AttributeUnifiedAddressing = 41,
  AttributeComputeCapabilityMajor = 75,
  AttributeComputeCapabilityMinor = 76,
  AttributeMemoryPoolsSupported = 115,
};

enum JitOption : int {
  JitErrorLogBuffer = 5,
  JitErrorLogBufferSizeBytes = 6,
  JitTarget = 9,
};
// Added to ten times the compute capability for the instructions of one generation only.
inline constexpr unsigned AcceleratedTargetBase = 0x10000;

enum JitInputType : int { JitInputPtx = 1 };

inline constexpr unsigned StreamNonBlocking = 1;
inline constexpr unsigned EventDefault = 0;
inline constexpr unsigned EventDisableTiming = 2;
inline constexpr unsigned HostAllocPortable = 1;
inline constexpr unsigned HostAllocDeviceMap = 2;
inline constexpr int MemoryTypeUnified = 4;
inline constexpr int AllocationTypePinned = 1;
inline constexpr int LocationTypeDevice = 1;
inline constexpr int PoolAttributeReleaseThreshold = 4;

struct MemoryPoolProps {
  int allocType = AllocationTypePinned;
  int handleTypes = 0;
  int locationType = LocationTypeDevice;
  int locationId = 0;
  void *win32SecurityAttributes = nullptr;
  size_t maxSize = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

struct KernelNodeParams {
  Function func = nullptr;
  unsigned gridDimX = 1, gridDimY = 1, gridDimZ = 1;
  unsigned blockDimX = 1, blockDimY = 1, blockDimZ = 1;
  unsigned sharedMemBytes = 0;
  void **kernelParams = nullptr;
  void **extra = nullptr;
};

struct Memcpy3D {
  size_t srcXInBytes = 0, srcY = 0, srcZ = 0, srcLOD = 0;
  int srcMemoryType = MemoryTypeUnified;
  const void *srcHost = nullptr;
  DevicePtr srcDevice = 0;
  void *srcArray = nullptr;
  void *reserved0 = nullptr;
  size_t srcPitch = 0, srcHeight = 0;

  size_t dstXInBytes = 0, dstY = 0, dstZ = 0, dstLOD = 0;
  int dstMemoryType = MemoryTypeUnified;
  void *dstHost = nullptr;
  DevicePtr dstDevice = 0;
  void *dstArray = nullptr;
  void *reserved1 = nullptr;
  size_t dstPitch = 0, dstHeight = 0;

  size_t WidthInBytes = 0, Height = 1, Depth = 1;
};

// X(member, symbol, parameters): all functions return Result. A name with _v2 is what the header's plain name means.
#define VX_CUDA_FUNCTIONS(X)                                                                                           \
  X(Init, "cuInit", (unsigned flags))                                                                                  \
  X(GetErrorName, "cuGetErrorName", (Result error, const char **text))                                                 \
  X(GetErrorString, "cuGetErrorString", (Result error, const char **text))                                             \
  X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                                                  \
  X(DeviceGet, "cuDeviceGet", (Device * device, int ordinal))                                                          \
  X(DeviceGetName, "cuDeviceGetName", (char *name, int length, Device device))                                         \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, Device device))                                             \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *value, DeviceAttribute attribute, Device device))                \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context * context, Device device))                            \
  X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (Device device))                                          \
  X(CtxPushCurrent, "cuCtxPushCurrent_v2", (Context context))                                                          \
  X(CtxPopCurrent, "cuCtxPopCurrent_v2", (Context * context))                                                          \
  X(MemGetInfo, "cuMemGetInfo_v2", (size_t *available, size_t *total))                                                 \
  X(MemPoolCreate, "cuMemPoolCreate", (MemoryPool * pool, const MemoryPoolProps *props))                               \
  X(MemPoolDestroy, "cuMemPoolDestroy", (MemoryPool pool))                                                             \
  X(MemPoolSetAttribute, "cuMemPoolSetAttribute", (MemoryPool pool, int attribute, void *value))                       \
  X(MemPoolTrimTo, "cuMemPoolTrimTo", (MemoryPool pool, size_t bytesToKeep))                                           \
  X(MemAllocFromPoolAsync, "cuMemAllocFromPoolAsync",                                                                  \
    (DevicePtr * address, size_t size, MemoryPool pool, Stream stream))                                                \
  X(MemFreeAsync, "cuMemFreeAsync", (DevicePtr address, Stream stream))                                                \
  X(MemHostAlloc, "cuMemHostAlloc", (void **host, size_t size, unsigned flags))                                        \
  X(MemFreeHost, "cuMemFreeHost", (void *host))                                                                        \
  X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (DevicePtr * address, void *host, unsigned flags))        \
  X(MemcpyAsync, "cuMemcpyAsync", (DevicePtr destination, DevicePtr source, size_t size, Stream stream))               \
  X(MemsetD8Async, "cuMemsetD8Async", (DevicePtr destination, unsigned char value, size_t size, Stream stream))        \
  X(StreamCreate, "cuStreamCreate", (Stream * stream, unsigned flags))                                                 \
  X(StreamDestroy, "cuStreamDestroy_v2", (Stream stream))                                                              \
  X(StreamSynchronize, "cuStreamSynchronize", (Stream stream))                                                         \
  X(EventCreate, "cuEventCreate", (Event * event, unsigned flags))                                                     \
  X(EventDestroy, "cuEventDestroy_v2", (Event event))                                                                  \
  X(EventRecord, "cuEventRecord", (Event event, Stream stream))                                                        \
  X(EventSynchronize, "cuEventSynchronize", (Event event))                                                             \
  X(EventElapsedTime, "cuEventElapsedTime", (float *milliseconds, Event begin, Event end))                             \
  X(LinkCreate, "cuLinkCreate_v2", (unsigned numOptions, JitOption *options, void **optionValues, LinkState *state))   \
  X(LinkAddData, "cuLinkAddData_v2",                                                                                   \
    (LinkState state, JitInputType type, void *data, size_t size, const char *name, unsigned numOptions,               \
     JitOption *options, void **optionValues))                                                                         \
  X(LinkComplete, "cuLinkComplete", (LinkState state, void **cubin, size_t *size))                                     \
  X(LinkDestroy, "cuLinkDestroy", (LinkState state))                                                                   \
  X(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                                            \
    (Module * module, const void *image, unsigned numOptions, JitOption *options, void **optionValues))                \
  X(ModuleUnload, "cuModuleUnload", (Module module))                                                                   \
  X(ModuleGetFunction, "cuModuleGetFunction", (Function * function, Module module, const char *name))                  \
  X(LaunchKernel, "cuLaunchKernel",                                                                                    \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,              \
     unsigned blockZ, unsigned sharedMemBytes, Stream stream, void **kernelParams, void **extra))                      \
  X(GraphCreate, "cuGraphCreate", (Graph * graph, unsigned flags))                                                     \
  X(GraphDestroy, "cuGraphDestroy", (Graph graph))                                                                     \
  X(GraphAddKernelNode, "cuGraphAddKernelNode",                                                                        \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies,                             \
     const KernelNodeParams *params))                                                                                  \
  X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode",                                                                        \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies, const Memcpy3D *params,     \
     Context context))                                                                                                 \
  X(GraphAddEmptyNode, "cuGraphAddEmptyNode",                                                                          \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies))                            \
  X(GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",                                                          \
    (GraphExec * executable, Graph graph, unsigned long long flags))                                                   \
  X(GraphExecDestroy, "cuGraphExecDestroy", (GraphExec executable))                                                    \
  X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams",                                                    \
    (GraphExec executable, GraphNode node, const KernelNodeParams *params))                                            \
  X(GraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams",                                                    \
    (GraphExec executable, GraphNode node, const Memcpy3D *params, Context context))                                   \
  X(GraphNodeSetEnabled, "cuGraphNodeSetEnabled", (GraphExec executable, GraphNode node, unsigned isEnabled))          \
  X(GraphLaunch, "cuGraphLaunch", (GraphExec executable, Stream stream))

using DriverGetVersionFunction = Result (*)(int *version);

struct Functions {
#define VX_DECLARE(NAME, SYMBOL, PARAMETERS) Result(*NAME) PARAMETERS = nullptr;
  VX_CUDA_FUNCTIONS(VX_DECLARE)
#undef VX_DECLARE
};

} // namespace vx::cuda::api

#endif
