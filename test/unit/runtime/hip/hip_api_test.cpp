// The driver's own HIP declarations against AMD's header.
#include "hip_api.h"

#include "gpu/same_declarations.h"

#include <gtest/gtest.h>

// The header serves two platforms.
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

namespace api = vx::hip::api;

SAME_SIZE(Dim3, dim3);
SAME_SIZE(KernelNodeParams, hipKernelNodeParams);
SAME_FIELD(KernelNodeParams, hipKernelNodeParams, blockDim);
SAME_FIELD(KernelNodeParams, hipKernelNodeParams, extra);
SAME_FIELD(KernelNodeParams, hipKernelNodeParams, func);
SAME_FIELD(KernelNodeParams, hipKernelNodeParams, gridDim);
SAME_FIELD(KernelNodeParams, hipKernelNodeParams, kernelParams);
SAME_FIELD(KernelNodeParams, hipKernelNodeParams, sharedMemBytes);
SAME_SIZE(MemoryPoolProps, hipMemPoolProps);
SAME_FIELD(MemoryPoolProps, hipMemPoolProps, allocType);
SAME_FIELD(MemoryPoolProps, hipMemPoolProps, win32SecurityAttributes);
SAME_FIELD(MemoryPoolProps, hipMemPoolProps, reserved);
static_assert(offsetof(api::MemoryPoolProps, locationType) == offsetof(hipMemPoolProps, location));
static_assert(offsetof(api::MemoryPoolProps, locationId) ==
              offsetof(hipMemPoolProps, location) + offsetof(hipMemLocation, id));

// From version 6 on the header's plain name means a structure with another symbol; the older one stays in the library
// under the symbol that is asked for.
#if HIP_VERSION < 60000000
static_assert(sizeof(api::DeviceProperties) >= sizeof(hipDeviceProp_t));
SAME_FIELD(DeviceProperties, hipDeviceProp_t, name);
SAME_FIELD(DeviceProperties, hipDeviceProp_t, totalGlobalMem);
SAME_FIELD(DeviceProperties, hipDeviceProp_t, sharedMemPerBlock);
SAME_FIELD(DeviceProperties, hipDeviceProp_t, warpSize);
SAME_FIELD(DeviceProperties, hipDeviceProp_t, multiProcessorCount);
SAME_FIELD(DeviceProperties, hipDeviceProp_t, gcnArchName);
SAME_FUNCTION(GetDeviceProperties, hipGetDeviceProperties)
#endif

SAME_VALUE(ErrorInvalidValue, hipErrorInvalidValue);
SAME_VALUE(ErrorOutOfMemory, hipErrorOutOfMemory);
SAME_VALUE(ErrorNoDevice, hipErrorNoDevice);
SAME_VALUE(ErrorEccNotCorrectable, hipErrorECCNotCorrectable);
SAME_VALUE(ErrorInvalidHandle, hipErrorInvalidHandle);
SAME_VALUE(ErrorNotFound, hipErrorNotFound);
SAME_VALUE(ErrorNotReady, hipErrorNotReady);
SAME_VALUE(ErrorIllegalAddress, hipErrorIllegalAddress);
SAME_VALUE(ErrorLaunchTimeOut, hipErrorLaunchTimeOut);
SAME_VALUE(ErrorContextIsDestroyed, hipErrorContextIsDestroyed);
SAME_VALUE(ErrorAssert, hipErrorAssert);
SAME_VALUE(ErrorLaunchFailure, hipErrorLaunchFailure);
SAME_VALUE(ErrorUnknown, hipErrorUnknown);
SAME_VALUE(MemcpyDefault, hipMemcpyDefault);
SAME_VALUE(AllocationTypePinned, hipMemAllocationTypePinned);
SAME_VALUE(LocationTypeDevice, hipMemLocationTypeDevice);
SAME_VALUE(Flags::StreamNonBlocking, hipStreamNonBlocking);
SAME_VALUE(Flags::EventDefault, hipEventDefault);
SAME_VALUE(Flags::EventDisableTiming, hipEventDisableTiming);
SAME_VALUE(Flags::HostAllocPortable, hipHostMallocPortable);
SAME_VALUE(Flags::HostAllocDeviceMap, hipHostMallocMapped);
SAME_VALUE(Flags::HostRegisterReadOnly, hipHostRegisterMapped | hipExtHostRegisterCoarseGrained);
SAME_VALUE(AttributeIntegrated, hipDeviceAttributeIntegrated);
SAME_VALUE(AttributePageableMemoryAccess, hipDeviceAttributePageableMemoryAccess);
SAME_VALUE(Flags::PoolAttributeReleaseThreshold, hipMemPoolAttrReleaseThreshold);

// X(member of the table, the header's plain name)
#define FUNCTIONS(X)                                                                                                   \
  X(Init, hipInit)                                                                                                     \
  X(GetErrorName, hipGetErrorName)                                                                                     \
  X(GetErrorString, hipGetErrorString)                                                                                 \
  X(DeviceGetCount, hipGetDeviceCount)                                                                                 \
  X(DeviceGetAttribute, hipDeviceGetAttribute)                                                                         \
  X(SetDevice, hipSetDevice)                                                                                           \
  X(GetDevice, hipGetDevice)                                                                                           \
  X(MemGetInfo, hipMemGetInfo)                                                                                         \
  X(MemPoolCreate, hipMemPoolCreate)                                                                                   \
  X(MemPoolDestroy, hipMemPoolDestroy)                                                                                 \
  X(MemPoolSetAttribute, hipMemPoolSetAttribute)                                                                       \
  X(MemPoolTrimTo, hipMemPoolTrimTo)                                                                                   \
  X(MemFreeAsync, hipFreeAsync)                                                                                        \
  X(MemFreeHost, hipHostFree)                                                                                          \
  X(MemHostRegister, hipHostRegister)                                                                                  \
  X(MemHostUnregister, hipHostUnregister)                                                                              \
  X(MemHostGetDevicePointer, hipHostGetDevicePointer)                                                                  \
  X(MemcpyAsync, hipMemcpyAsync)                                                                                       \
  X(MemsetAsync, hipMemsetAsync)                                                                                       \
  X(StreamCreate, hipStreamCreateWithFlags)                                                                            \
  X(StreamDestroy, hipStreamDestroy)                                                                                   \
  X(StreamQuery, hipStreamQuery)                                                                                       \
  X(EventQuery, hipEventQuery)                                                                                         \
  X(StreamSynchronize, hipStreamSynchronize)                                                                           \
  X(EventCreate, hipEventCreateWithFlags)                                                                              \
  X(EventDestroy, hipEventDestroy)                                                                                     \
  X(EventRecord, hipEventRecord)                                                                                       \
  X(EventSynchronize, hipEventSynchronize)                                                                             \
  X(EventElapsedTime, hipEventElapsedTime)                                                                             \
  X(ModuleLoadData, hipModuleLoadData)                                                                                 \
  X(ModuleUnload, hipModuleUnload)                                                                                     \
  X(ModuleGetFunction, hipModuleGetFunction)                                                                           \
  X(LaunchKernel, hipModuleLaunchKernel)                                                                               \
  X(GraphCreate, hipGraphCreate)                                                                                       \
  X(GraphDestroy, hipGraphDestroy)                                                                                     \
  X(GraphAddKernelNode, hipGraphAddKernelNode)                                                                         \
  X(GraphAddMemcpyNode, hipGraphAddMemcpyNode1D)                                                                       \
  X(GraphAddEmptyNode, hipGraphAddEmptyNode)                                                                           \
  X(GraphInstantiate, hipGraphInstantiateWithFlags)                                                                    \
  X(GraphExecDestroy, hipGraphExecDestroy)                                                                             \
  X(GraphExecKernelNodeSetParams, hipGraphExecKernelNodeSetParams)                                                     \
  X(GraphExecMemcpyNodeSetParams, hipGraphExecMemcpyNodeSetParams1D)                                                   \
  X(GraphLaunch, hipGraphLaunch)
FUNCTIONS(SAME_FUNCTION)
#if HIP_VERSION >= 50500000
SAME_FUNCTION(GraphNodeSetEnabled, hipGraphNodeSetEnabled)
#endif
// Those that the header overloads.
using HostMalloc = hipError_t (*)(void **, size_t, unsigned);
static_assert(vx::test::SameShape<decltype(api::Functions::MemHostAlloc),
                                  decltype(static_cast<HostMalloc>(&hipHostMalloc))>::value);
using MallocFromPool = hipError_t (*)(void **, size_t, hipMemPool_t, hipStream_t);
static_assert(vx::test::SameShape<decltype(api::Functions::MemAllocFromPoolAsync),
                                  decltype(static_cast<MallocFromPool>(&hipMallocFromPoolAsync))>::value);

// The header's plain names mean the symbols that are asked for.
TEST(HipApi, symbolsAreThoseOfTheHeader) {
  const api::Functions functions;
  FUNCTIONS(SAME_SYMBOL)
}
