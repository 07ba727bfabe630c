// The driver's own CUDA declarations against NVIDIA's header.
#include "cuda_api.h"

#include "gpu/same_declarations.h"

#include <gtest/gtest.h>

#include <cuda.h>

namespace api = vx::cuda::api;

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
SAME_VALUE(ErrorInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(ErrorNotFound, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(ErrorNotReady, CUDA_ERROR_NOT_READY);
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
SAME_VALUE(AttributeMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(AttributeMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME_VALUE(AttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(AttributeIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME_VALUE(AttributePageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
SAME_VALUE(AttributeUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME_VALUE(AttributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(AttributeComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(AttributeMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_VALUE(JitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(JitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(JitInfoLogBuffer, CU_JIT_INFO_LOG_BUFFER);
SAME_VALUE(JitInfoLogBufferSizeBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(JitLogVerbose, CU_JIT_LOG_VERBOSE);
SAME_VALUE(JitTarget, CU_JIT_TARGET);
SAME_VALUE(AcceleratedTargetBase + 90, CU_TARGET_COMPUTE_90A);
SAME_VALUE(JitInputPtx, CU_JIT_INPUT_PTX);
SAME_VALUE(Flags::StreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(Flags::EventDefault, CU_EVENT_DEFAULT);
SAME_VALUE(Flags::EventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(Flags::HostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(Flags::HostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
SAME_VALUE(Flags::HostRegisterReadOnly, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY);
SAME_VALUE(MemoryTypeUnified, CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(AllocationTypePinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(LocationTypeDevice, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(Flags::PoolAttributeReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);

// X(member of the table, the header's plain name)
#define FUNCTIONS(X)                                                                                                   \
  X(Init, cuInit)                                                                                                      \
  X(GetErrorName, cuGetErrorName)                                                                                      \
  X(GetErrorString, cuGetErrorString)                                                                                  \
  X(DeviceGetCount, cuDeviceGetCount)                                                                                  \
  X(DeviceGet, cuDeviceGet)                                                                                            \
  X(DeviceGetName, cuDeviceGetName)                                                                                    \
  X(DeviceTotalMem, cuDeviceTotalMem)                                                                                  \
  X(DeviceGetAttribute, cuDeviceGetAttribute)                                                                          \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                                  \
  X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease)                                                                \
  X(CtxPushCurrent, cuCtxPushCurrent)                                                                                  \
  X(CtxPopCurrent, cuCtxPopCurrent)                                                                                    \
  X(MemGetInfo, cuMemGetInfo)                                                                                          \
  X(MemPoolCreate, cuMemPoolCreate)                                                                                    \
  X(MemPoolDestroy, cuMemPoolDestroy)                                                                                  \
  X(MemPoolSetAttribute, cuMemPoolSetAttribute)                                                                        \
  X(MemPoolTrimTo, cuMemPoolTrimTo)                                                                                    \
  X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync)                                                                    \
  X(MemFreeAsync, cuMemFreeAsync)                                                                                      \
  X(MemHostAlloc, cuMemHostAlloc)                                                                                      \
  X(MemFreeHost, cuMemFreeHost)                                                                                        \
  X(MemHostRegister, cuMemHostRegister)                                                                                \
  X(MemHostUnregister, cuMemHostUnregister)                                                                            \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer)                                                                \
  X(MemcpyAsync, cuMemcpyAsync)                                                                                        \
  X(MemsetAsync, cuMemsetD8Async)                                                                                      \
  X(StreamCreate, cuStreamCreate)                                                                                      \
  X(StreamDestroy, cuStreamDestroy)                                                                                    \
  X(StreamQuery, cuStreamQuery)                                                                                        \
  X(EventQuery, cuEventQuery)                                                                                          \
  X(StreamSynchronize, cuStreamSynchronize)                                                                            \
  X(EventCreate, cuEventCreate)                                                                                        \
  X(EventDestroy, cuEventDestroy)                                                                                      \
  X(EventRecord, cuEventRecord)                                                                                        \
  X(EventSynchronize, cuEventSynchronize)                                                                              \
  X(LinkCreate, cuLinkCreate)                                                                                          \
  X(LinkAddData, cuLinkAddData)                                                                                        \
  X(LinkComplete, cuLinkComplete)                                                                                      \
  X(LinkDestroy, cuLinkDestroy)                                                                                        \
  X(ModuleLoadDataEx, cuModuleLoadDataEx)                                                                              \
  X(ModuleUnload, cuModuleUnload)                                                                                      \
  X(ModuleGetFunction, cuModuleGetFunction)                                                                            \
  X(LaunchKernel, cuLaunchKernel)                                                                                      \
  X(GraphCreate, cuGraphCreate)                                                                                        \
  X(GraphDestroy, cuGraphDestroy)                                                                                      \
  X(GraphAddMemcpyNode, cuGraphAddMemcpyNode)                                                                          \
  X(GraphAddEmptyNode, cuGraphAddEmptyNode)                                                                            \
  X(GraphExecDestroy, cuGraphExecDestroy)                                                                              \
  X(GraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams)                                                      \
  X(GraphNodeSetEnabled, cuGraphNodeSetEnabled)                                                                        \
  X(GraphLaunch, cuGraphLaunch)

FUNCTIONS(SAME_FUNCTION)

// The header's plain names mean the symbols that are asked for.
TEST(CudaApi, symbolsAreThoseOfTheHeader) {
  const api::Functions functions;
  FUNCTIONS(SAME_SYMBOL)
}
