// The driver's own CUDA declarations against NVIDIA's header.
#include "cuda_api.h"

#include <gtest/gtest.h>

#include <cuda.h>

#include <type_traits>

namespace api = vx::cuda::api;

#define SAME_SIZE(NAME, NVIDIA) static_assert(sizeof(api::NAME) == sizeof(NVIDIA), #NVIDIA)
#define SAME_FIELD(NAME, NVIDIA, FIELD)                                                                                \
  static_assert(offsetof(api::NAME, FIELD) == offsetof(NVIDIA, FIELD), #NVIDIA "." #FIELD);                            \
  static_assert(sizeof(api::NAME::FIELD) == sizeof(NVIDIA::FIELD), #NVIDIA "." #FIELD)
#define SAME_VALUE(NAME, NVIDIA) static_assert(static_cast<int64_t>(api::NAME) == static_cast<int64_t>(NVIDIA), #NVIDIA)

SAME_SIZE(DevicePtr, CUdeviceptr);
SAME_SIZE(Device, CUdevice);
SAME_SIZE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1);
SAME_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1, func);
SAME_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1, gridDimY);
SAME_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1, blockDimX);
SAME_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes);
SAME_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1, kernelParams);
SAME_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1, extra);
SAME_SIZE(Memcpy3D, CUDA_MEMCPY3D_v2);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, srcMemoryType);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, srcDevice);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, srcPitch);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, dstMemoryType);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, dstDevice);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, dstHeight);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, WidthInBytes);
SAME_FIELD(Memcpy3D, CUDA_MEMCPY3D_v2, Depth);
SAME_SIZE(MemoryPoolProps, CUmemPoolProps_v1);
SAME_FIELD(MemoryPoolProps, CUmemPoolProps_v1, allocType);
SAME_FIELD(MemoryPoolProps, CUmemPoolProps_v1, maxSize);
SAME_FIELD(MemoryPoolProps, CUmemPoolProps_v1, reserved);
static_assert(offsetof(api::MemoryPoolProps, locationType) == offsetof(CUmemPoolProps_v1, location));
static_assert(offsetof(api::MemoryPoolProps, locationId) ==
              offsetof(CUmemPoolProps_v1, location) + offsetof(CUmemLocation, id));

SAME_VALUE(ErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(ErrorNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(ErrorEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME_VALUE(ErrorNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME_VALUE(ErrorContained, CUDA_ERROR_CONTAINED);
SAME_VALUE(ErrorNotFound, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(ErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_VALUE(ErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME_VALUE(ErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME_VALUE(ErrorAssert, CUDA_ERROR_ASSERT);
SAME_VALUE(ErrorHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME_VALUE(ErrorIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME_VALUE(ErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME_VALUE(ErrorInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME_VALUE(ErrorInvalidPc, CUDA_ERROR_INVALID_PC);
SAME_VALUE(ErrorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME_VALUE(ErrorUnknown, CUDA_ERROR_UNKNOWN);
SAME_VALUE(AttributeMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME_VALUE(AttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(AttributeUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME_VALUE(AttributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(AttributeComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(AttributeMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_VALUE(JitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(JitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(JitTarget, CU_JIT_TARGET);
SAME_VALUE(AcceleratedTargetBase + 90, CU_TARGET_COMPUTE_90A);
SAME_VALUE(JitInputPtx, CU_JIT_INPUT_PTX);
SAME_VALUE(StreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(EventDefault, CU_EVENT_DEFAULT);
SAME_VALUE(EventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(HostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(HostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
SAME_VALUE(MemoryTypeUnified, CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(AllocationTypePinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(LocationTypeDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(PoolAttributeReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);

// The number of parameters, and the size of each: their types are declared anew, so they are not the same types.
template <typename Ours, typename Theirs>
struct SameShape : std::false_type {};
template <typename... Ours, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameShape<api::Result (*)(Ours...), CUresult (*)(Theirs...)>
    : std::bool_constant<((sizeof(Ours) == sizeof(Theirs)) && ...)> {};

#define SAME_FUNCTION(NAME, NVIDIA)                                                                                    \
  static_assert(SameShape<decltype(api::Functions::NAME), decltype(&NVIDIA)>::value, #NVIDIA)
SAME_FUNCTION(Init, cuInit);
SAME_FUNCTION(GetErrorName, cuGetErrorName);
SAME_FUNCTION(GetErrorString, cuGetErrorString);
SAME_FUNCTION(DeviceGetCount, cuDeviceGetCount);
SAME_FUNCTION(DeviceGet, cuDeviceGet);
SAME_FUNCTION(DeviceGetName, cuDeviceGetName);
SAME_FUNCTION(DeviceTotalMem, cuDeviceTotalMem);
SAME_FUNCTION(DeviceGetAttribute, cuDeviceGetAttribute);
SAME_FUNCTION(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
SAME_FUNCTION(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease);
SAME_FUNCTION(CtxPushCurrent, cuCtxPushCurrent);
SAME_FUNCTION(CtxPopCurrent, cuCtxPopCurrent);
SAME_FUNCTION(MemGetInfo, cuMemGetInfo);
SAME_FUNCTION(MemPoolCreate, cuMemPoolCreate);
SAME_FUNCTION(MemPoolDestroy, cuMemPoolDestroy);
SAME_FUNCTION(MemPoolSetAttribute, cuMemPoolSetAttribute);
SAME_FUNCTION(MemPoolTrimTo, cuMemPoolTrimTo);
SAME_FUNCTION(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync);
SAME_FUNCTION(MemFreeAsync, cuMemFreeAsync);
SAME_FUNCTION(MemHostAlloc, cuMemHostAlloc);
SAME_FUNCTION(MemFreeHost, cuMemFreeHost);
SAME_FUNCTION(MemHostGetDevicePointer, cuMemHostGetDevicePointer);
SAME_FUNCTION(MemcpyAsync, cuMemcpyAsync);
SAME_FUNCTION(MemsetD8Async, cuMemsetD8Async);
SAME_FUNCTION(StreamCreate, cuStreamCreate);
SAME_FUNCTION(StreamDestroy, cuStreamDestroy);
SAME_FUNCTION(StreamSynchronize, cuStreamSynchronize);
SAME_FUNCTION(EventCreate, cuEventCreate);
SAME_FUNCTION(EventDestroy, cuEventDestroy);
SAME_FUNCTION(EventRecord, cuEventRecord);
SAME_FUNCTION(EventSynchronize, cuEventSynchronize);
SAME_FUNCTION(LinkCreate, cuLinkCreate);
SAME_FUNCTION(LinkAddData, cuLinkAddData);
SAME_FUNCTION(LinkComplete, cuLinkComplete);
SAME_FUNCTION(LinkDestroy, cuLinkDestroy);
SAME_FUNCTION(ModuleLoadDataEx, cuModuleLoadDataEx);
SAME_FUNCTION(ModuleUnload, cuModuleUnload);
SAME_FUNCTION(ModuleGetFunction, cuModuleGetFunction);
SAME_FUNCTION(LaunchKernel, cuLaunchKernel);
SAME_FUNCTION(GraphCreate, cuGraphCreate);
SAME_FUNCTION(GraphDestroy, cuGraphDestroy);
SAME_FUNCTION(GraphAddMemcpyNode, cuGraphAddMemcpyNode);
SAME_FUNCTION(GraphAddEmptyNode, cuGraphAddEmptyNode);
SAME_FUNCTION(GraphExecDestroy, cuGraphExecDestroy);
SAME_FUNCTION(GraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams);
SAME_FUNCTION(GraphNodeSetEnabled, cuGraphNodeSetEnabled);
SAME_FUNCTION(GraphLaunch, cuGraphLaunch);

// The header's plain names mean the symbols that are asked for.
#define TEXT(NAME) #NAME
#define EXPANDED(NAME) TEXT(NAME)
TEST(CudaApi, symbolsAreThoseOfTheHeader) {
  EXPECT_STREQ(EXPANDED(cuDeviceTotalMem), "cuDeviceTotalMem_v2");
  EXPECT_STREQ(EXPANDED(cuCtxPushCurrent), "cuCtxPushCurrent_v2");
  EXPECT_STREQ(EXPANDED(cuCtxPopCurrent), "cuCtxPopCurrent_v2");
  EXPECT_STREQ(EXPANDED(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2");
  EXPECT_STREQ(EXPANDED(cuMemGetInfo), "cuMemGetInfo_v2");
  EXPECT_STREQ(EXPANDED(cuMemHostGetDevicePointer), "cuMemHostGetDevicePointer_v2");
  EXPECT_STREQ(EXPANDED(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_STREQ(EXPANDED(cuEventDestroy), "cuEventDestroy_v2");
  EXPECT_STREQ(EXPANDED(cuLinkCreate), "cuLinkCreate_v2");
  EXPECT_STREQ(EXPANDED(cuLinkAddData), "cuLinkAddData_v2");
  EXPECT_STREQ(EXPANDED(cuMemHostAlloc), "cuMemHostAlloc");
}
