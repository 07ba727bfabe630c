// The functions of the CUDA driver that vx uses, declared here so that no SDK is needed to build. Names, numbers and
// layouts are those of the driver's stable binary interface; a test compares them with NVIDIA's header where that is
// installed.
#ifndef VX_DRIVERS_CUDA_CUDA_API_H
#define VX_DRIVERS_CUDA_CUDA_API_H

#include "hal/gpu/vendor_function.h"

#include <cstddef>
#include <cstdint>

namespace vx::cuda::api {

using Device = int;
using DevicePtr = uint64_t;
using Context = void *;
using Stream = void *;
using Event = void *;
using Module = void *;
using Function = void *;
using LinkState = void *;
using MemoryPool = void *;
using Graph = void *;
using GraphNode = void *;
using GraphExec = void *;

enum Result : int {
  Success = 0,
  ErrorInvalidValue = 1,
  ErrorOutOfMemory = 2,
  ErrorNoDevice = 100,
  ErrorInvalidDevice = 101,
  ErrorEccUncorrectable = 214,
  ErrorNvlinkUncorrectable = 220,
  ErrorContained = 226,
  ErrorInvalidHandle = 400,
  ErrorNotFound = 500,
  ErrorNotReady = 600,
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
  AttributeMaxThreadsPerBlock = 1,
  AttributeMaxSharedMemoryPerBlock = 8,
  AttributeMultiprocessorCount = 16,
  AttributeIntegrated = 18,
  AttributeUnifiedAddressing = 41,
  AttributeComputeCapabilityMajor = 75,
  AttributeComputeCapabilityMinor = 76,
  AttributePageableMemoryAccess = 88,
  AttributeMemoryPoolsSupported = 115,
};

enum JitOption : int {
  JitInfoLogBuffer = 3,
  JitInfoLogBufferSizeBytes = 4,
  JitErrorLogBuffer = 5,
  JitErrorLogBufferSizeBytes = 6,
  JitTarget = 9,
  JitLogVerbose = 12,
};
// Added to ten times the compute capability for the instructions of one generation only.
inline constexpr unsigned AcceleratedTargetBase = 0x10000;

enum JitInputType : int { JitInputPtx = 1 };

inline constexpr int MemoryTypeUnified = 4;
inline constexpr int AllocationTypePinned = 1;
inline constexpr int LocationTypeDevice = 1;

struct Flags {
  static constexpr unsigned StreamNonBlocking = 1;
  static constexpr unsigned EventDefault = 0;
  static constexpr unsigned EventDisableTiming = 2;
  static constexpr unsigned HostAllocPortable = 1;
  static constexpr unsigned HostAllocDeviceMap = 2;
  static constexpr unsigned HostRegisterReadOnly = 2 | 8; // mapped for kernels, which only read
  static constexpr int PoolAttributeReleaseThreshold = 4;
};

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

// See hal/gpu/vendor_function.h. A version is what the header's plain name means.
#define VX_CUDA_FUNCTIONS(X)                                                                                           \
  X(Init, "cuInit", "", Result, (unsigned flags))                                                                      \
  X(GetErrorName, "cuGetErrorName", "", Result, (Result error, const char **text))                                     \
  X(GetErrorString, "cuGetErrorString", "", Result, (Result error, const char **text))                                 \
  X(DeviceGetCount, "cuDeviceGetCount", "", Result, (int *count))                                                      \
  X(DeviceGet, "cuDeviceGet", "", Result, (Device * device, int ordinal))                                              \
  X(DeviceGetName, "cuDeviceGetName", "", Result, (char *name, int length, Device device))                             \
  X(DeviceTotalMem, "cuDeviceTotalMem", "_v2", Result, (size_t *bytes, Device device))                                 \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", "", Result, (int *value, DeviceAttribute attribute, Device device))    \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", "", Result, (Context * context, Device device))                \
  X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", "_v2", Result, (Device device))                              \
  X(CtxPushCurrent, "cuCtxPushCurrent", "_v2", Result, (Context context))                                              \
  X(CtxPopCurrent, "cuCtxPopCurrent", "_v2", Result, (Context * context))                                              \
  X(MemGetInfo, "cuMemGetInfo", "_v2", Result, (size_t *available, size_t *total))                                     \
  X(MemPoolCreate, "cuMemPoolCreate", "", Result, (MemoryPool * pool, const MemoryPoolProps *props))                   \
  X(MemPoolDestroy, "cuMemPoolDestroy", "", Result, (MemoryPool pool))                                                 \
  X(MemPoolSetAttribute, "cuMemPoolSetAttribute", "", Result, (MemoryPool pool, int attribute, void *value))           \
  X(MemPoolTrimTo, "cuMemPoolTrimTo", "", Result, (MemoryPool pool, size_t bytesToKeep))                               \
  X(MemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", "", Result,                                                      \
    (DevicePtr * address, size_t size, MemoryPool pool, Stream stream))                                                \
  X(MemFreeAsync, "cuMemFreeAsync", "", Result, (DevicePtr address, Stream stream))                                    \
  X(MemHostAlloc, "cuMemHostAlloc", "", Result, (void **host, size_t size, unsigned flags))                            \
  X(MemFreeHost, "cuMemFreeHost", "", Result, (void *host))                                                            \
  X(MemHostRegister, "cuMemHostRegister", "_v2", Result, (void *host, size_t size, unsigned flags))                    \
  X(MemHostUnregister, "cuMemHostUnregister", "", Result, (void *host))                                                \
  X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer", "_v2", Result,                                               \
    (DevicePtr * address, void *host, unsigned flags))                                                                 \
  X(MemcpyAsync, "cuMemcpyAsync", "", Result, (DevicePtr destination, DevicePtr source, size_t size, Stream stream))   \
  X(MemsetAsync, "cuMemsetD8Async", "", Result,                                                                        \
    (DevicePtr destination, unsigned char value, size_t size, Stream stream))                                          \
  X(StreamCreate, "cuStreamCreate", "", Result, (Stream * stream, unsigned flags))                                     \
  X(StreamDestroy, "cuStreamDestroy", "_v2", Result, (Stream stream))                                                  \
  X(StreamSynchronize, "cuStreamSynchronize", "", Result, (Stream stream))                                             \
  X(StreamQuery, "cuStreamQuery", "", Result, (Stream stream))                                                         \
  X(EventCreate, "cuEventCreate", "", Result, (Event * event, unsigned flags))                                         \
  X(EventDestroy, "cuEventDestroy", "_v2", Result, (Event event))                                                      \
  X(EventRecord, "cuEventRecord", "", Result, (Event event, Stream stream))                                            \
  X(EventSynchronize, "cuEventSynchronize", "", Result, (Event event))                                                 \
  X(EventQuery, "cuEventQuery", "", Result, (Event event))                                                             \
  X(EventElapsedTime, "cuEventElapsedTime", "", Result, (float *milliseconds, Event begin, Event end))                 \
  X(LinkCreate, "cuLinkCreate", "_v2", Result,                                                                         \
    (unsigned numOptions, JitOption *options, void **optionValues, LinkState *state))                                  \
  X(LinkAddData, "cuLinkAddData", "_v2", Result,                                                                       \
    (LinkState state, JitInputType type, void *data, size_t size, const char *name, unsigned numOptions,               \
     JitOption *options, void **optionValues))                                                                         \
  X(LinkComplete, "cuLinkComplete", "", Result, (LinkState state, void **cubin, size_t *size))                         \
  X(LinkDestroy, "cuLinkDestroy", "", Result, (LinkState state))                                                       \
  X(ModuleLoadDataEx, "cuModuleLoadDataEx", "", Result,                                                                \
    (Module * module, const void *image, unsigned numOptions, JitOption *options, void **optionValues))                \
  X(ModuleUnload, "cuModuleUnload", "", Result, (Module module))                                                       \
  X(ModuleGetFunction, "cuModuleGetFunction", "", Result, (Function * function, Module module, const char *name))      \
  X(LaunchKernel, "cuLaunchKernel", "", Result,                                                                        \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,              \
     unsigned blockZ, unsigned sharedMemBytes, Stream stream, void **kernelParams, void **extra))                      \
  X(GraphCreate, "cuGraphCreate", "", Result, (Graph * graph, unsigned flags))                                         \
  X(GraphDestroy, "cuGraphDestroy", "", Result, (Graph graph))                                                         \
  X(GraphAddKernelNode, "cuGraphAddKernelNode", "", Result,                                                            \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies,                             \
     const KernelNodeParams *params))                                                                                  \
  X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode", "", Result,                                                            \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies, const Memcpy3D *params,     \
     Context context))                                                                                                 \
  X(GraphAddEmptyNode, "cuGraphAddEmptyNode", "", Result,                                                              \
    (GraphNode * node, Graph graph, const GraphNode *dependencies, size_t numDependencies))                            \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", "", Result,                                                       \
    (GraphExec * executable, Graph graph, unsigned long long flags))                                                   \
  X(GraphExecDestroy, "cuGraphExecDestroy", "", Result, (GraphExec executable))                                        \
  X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", "", Result,                                        \
    (GraphExec executable, GraphNode node, const KernelNodeParams *params))                                            \
  X(GraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", "", Result,                                        \
    (GraphExec executable, GraphNode node, const Memcpy3D *params, Context context))                                   \
  X(GraphNodeSetEnabled, "cuGraphNodeSetEnabled", "", Result,                                                          \
    (GraphExec executable, GraphNode node, unsigned isEnabled))                                                        \
  X(GraphLaunch, "cuGraphLaunch", "", Result, (GraphExec executable, Stream stream))

VX_GPU_FUNCTION_TABLE(VX_CUDA_FUNCTIONS)

struct GetVersion : hal::gpu::VendorFunction<Result(int *version)> {
  constexpr GetVersion() : VendorFunction("cuDriverGetVersion", "cuDriverGetVersion") {}
};

} // namespace vx::cuda::api

#endif
