// The drivers of CUDA and HIP over their stand-ins: which calls they make, in which order and with what, and how they
// fail. Each test runs for both.
#include "gpu/gpu_driver_test.h"

#include "exec/pending_runs.h"
#include "programs.h"

#include <algorithm>

namespace vx::test {

template <typename Traits>
class GpuDriver : public GpuTest<Traits> {};

TYPED_TEST_SUITE(GpuDriver, Vendors, VendorName);

//===-- Devices -------------------------------------------------------------------------------===//

TYPED_TEST(GpuDriver, noLibrary) {
  this->options.library.names = {"libgpu-that-is-not-there.so.9", "libgpu-that-is-not-there.so.8"};
  const hal::Refusal refusal = this->refusal();
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason,
            fmt::format("'libgpu-that-is-not-there.so.9', 'libgpu-that-is-not-there.so.8' could not be opened: "
                        "libgpu-that-is-not-there.so.9: cannot open shared object file: No such file or directory; {} "
                        "names another one",
                        TypeParam::libraryVariable));
  // A file that is there but is no library says more than one that is not.
  this->options.library.names = {"libgpu-that-is-not-there.so.9", "/proc/self/status"};
  EXPECT_EQ(this->refusal().reason,
            fmt::format("'libgpu-that-is-not-there.so.9', '/proc/self/status' could not be opened: /proc/self/status: "
                        "invalid ELF header; {} names another one",
                        TypeParam::libraryVariable));
}

TYPED_TEST(GpuDriver, libraryOfSomethingElse) {
  this->options.library.names = {"libm.so.6"};
  const hal::Refusal refusal = this->refusal();
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason,
            fmt::format("'libm.so.6' has no function '{}'", typename TypeParam::Vendor::VersionFunction().symbol));
}

TYPED_TEST(GpuDriver, libraryTooOld) {
  this->gpu->version = TypeParam::oldVersion;
  const hal::Refusal refusal = this->refusal();
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  EXPECT_EQ(refusal.reason, fmt::format("{} is of version {}, expected {}", TypeParam::Vendor::text, TypeParam::oldText,
                                        TypeParam::wantedText));
}

TYPED_TEST(GpuDriver, versionNotTold) {
  const std::string function = typename TypeParam::Vendor::VersionFunction().name;
  this->gpu->fail(function, 3);
  const hal::Refusal refusal = this->refusal();
  EXPECT_EQ(refusal.code, RefusalCode::NoLibrary);
  // The names of errors are not known yet.
  EXPECT_EQ(refusal.reason, function + " failed with error 3");
}

TYPED_TEST(GpuDriver, noDevice) {
  this->gpu->fail(this->names.Init.name, 100);
  hal::Refusal refusal = this->refusal();
  EXPECT_EQ(refusal.code, RefusalCode::NoDevice);
  EXPECT_EQ(refusal.reason, fmt::format("{} failed with {} (no capable device is detected)", this->names.Init.name,
                                        TypeParam::noDevice));
  this->gpu->failures.clear();
  this->gpu->fail(this->names.DeviceGetCount.name, 3);
  refusal = this->refusal();
  EXPECT_EQ(refusal.code, RefusalCode::NoDevice);
  EXPECT_EQ(refusal.reason, fmt::format("{} failed with {} (as the test wanted)", this->names.DeviceGetCount.name,
                                        TypeParam::otherError));
  this->gpu->failures.clear();
  this->gpu->deviceCount = 0;
  EXPECT_EQ(this->refusal().reason, fmt::format("{} found no device", TypeParam::Vendor::text));
}

TYPED_TEST(GpuDriver, devicesAreNumbered) {
  typename TypeParam::Driver driver(this->options);
  std::vector<hal::DeviceInfo> devices;
  EXPECT_EQ(driver.enumerate(devices).code, RefusalCode::None);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "Stand-in 0");
  EXPECT_EQ(devices[1].name, "Stand-in 1");
  EXPECT_EQ(devices[0].totalMemory, uint64_t(1) << 40);
  Ref<hal::Device> device;
  EXPECT_FAILS(driver.open(2, {}, device), VX_NO_DEVICE,
               fmt::format("asked for device '{}:2', but there are 2", TypeParam::backend));
}

TYPED_TEST(GpuDriver, eachDeviceHasItsMemoryAndItsStreams) {
  Opened devices[2];
  this->open(devices[0], 0);
  this->open(devices[1], 1);
  this->gpu->forget();
  Ref<hal::Memory> memories[4];
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 0; i < 2; ++i) {
      BufferView view = devices[i].allocate({i, turn}, memories[2 * turn + i]);
      EXPECT_EQ(devices[i].read(view), (std::vector<int32_t>{i, turn}));
    }
  EXPECT_EQ(this->gpu->count("allocated on device 0"), 2);
  EXPECT_EQ(this->gpu->count("allocated on device 1"), 2);
}

TYPED_TEST(GpuDriver, deviceThatDoesNotOpen) {
  typename TypeParam::Driver driver(this->options);
  Ref<hal::Device> device;
  for (const char *function :
       {this->names.StreamCreate.name, this->names.MemPoolCreate.name, this->names.MemPoolSetAttribute.name}) {
    this->gpu->fail(function, 3);
    EXPECT_FAILS(
        driver.open(0, {}, device), VX_INTERNAL,
        fmt::format("device 'Stand-in 0': {} failed with {} (as the test wanted)", function, TypeParam::otherError));
    this->gpu->failures.clear();
  }
  ASSERT_OK(driver.open(0, {}, device));
}

//===-- Memory --------------------------------------------------------------------------------===//

TYPED_TEST(GpuDriver, allocationLargerThanTheCard) {
  this->gpu->totalMemory = uint64_t(1) << 30;
  Opened opened;
  this->open(opened);
  Ref<hal::Memory> memory;
  EXPECT_FAILS(opened.device->allocate((uint64_t(1) << 30) + 1, hal::MemoryKind::Device, memory), VX_OUT_OF_MEMORY,
               "asked for 1073741825 bytes, but device 'Stand-in 0' allows at most 1073741824 in one buffer");
  EXPECT_FALSE(memory);
  // A smaller one then works.
  const BufferView view = opened.allocate({1, 2, 3}, memory);
  EXPECT_EQ(opened.read(view), (std::vector<int32_t>{1, 2, 3}));
}

TYPED_TEST(GpuDriver, outOfMemory) {
  Opened opened;
  this->open(opened);
  const std::string allocate = this->names.MemAllocFromPoolAsync.name;
  this->gpu->fail(allocate, 2);
  Ref<hal::Memory> memory;
  EXPECT_FAILS(opened.device->allocate(4096, hal::MemoryKind::Device, memory), VX_OUT_OF_MEMORY,
               fmt::format("asked for 4096 bytes, but device 'Stand-in 0' has 1000 of 1099511627776 bytes free ({} "
                           "failed with {} (out of memory))",
                           allocate, TypeParam::outOfMemory));
  // What the pool had kept was given back before the second try.
  EXPECT_EQ(this->gpu->count(std::string(this->names.MemPoolTrimTo.name) + " 0"), 1);
  this->gpu->fail(this->names.MemGetInfo.name, 3);
  EXPECT_FAILS(
      opened.device->allocate(4096, hal::MemoryKind::Device, memory), VX_INTERNAL,
      fmt::format("{} failed with {} (as the test wanted)", this->names.MemGetInfo.name, TypeParam::otherError));
  this->gpu->failures.clear();
  ASSERT_OK(opened.device->allocate(4096, hal::MemoryKind::Device, memory));
}

TYPED_TEST(GpuDriver, allocationThatIsNotFinishedIsGivenBack) {
  Opened opened;
  this->open(opened);
  this->gpu->fail(this->names.StreamSynchronize.name, 3);
  Ref<hal::Memory> memory;
  EXPECT_FAILS(opened.device->allocate(4096, hal::MemoryKind::Device, memory), VX_INTERNAL,
               fmt::format("asked for 4096 bytes of device 'Stand-in 0': {} failed with {} (as the test wanted)",
                           this->names.StreamSynchronize.name, TypeParam::otherError));
  this->gpu->failures.clear();
}

TYPED_TEST(GpuDriver, noPageLockedMemory) {
  Opened opened;
  this->open(opened);
  Ref<hal::Memory> memory;
  for (const auto &[function, result, code, words] :
       {std::tuple(this->names.MemHostAlloc.name, 2, VX_OUT_OF_MEMORY,
                   fmt::format("{} (out of memory)", TypeParam::outOfMemory)),
        std::tuple(this->names.MemHostGetDevicePointer.name, 3, VX_INTERNAL,
                   fmt::format("{} (as the test wanted)", TypeParam::otherError))}) {
    this->gpu->fail(function, result);
    EXPECT_FAILS(opened.device->allocate(4096, hal::MemoryKind::Staging, memory), code,
                 fmt::format("asked for 4096 bytes of device 'Stand-in 0': {} failed with {}", function, words));
    this->gpu->failures.clear();
  }
}

TYPED_TEST(GpuDriver, largeTransfersGoThroughPageLockedMemoryInPieces) {
  Opened opened;
  this->open(opened);
  const size_t size = (size_t(20) << 20) + 4;
  std::vector<int32_t> values(size / 4);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i * 2654435761U);
  Ref<hal::Memory> memory;
  BufferView view = opened.allocate(values, memory);
  const std::string copy = this->names.MemcpyAsync.name;
  EXPECT_EQ(this->gpu->count(copy + " 8388608"), 2);
  EXPECT_EQ(this->gpu->count(copy + " 3145732"), 0) << "pieces are as large as the staging memory";
  EXPECT_EQ(opened.read(view), values);
}

//===-- Replays -------------------------------------------------------------------------------===//

TYPED_TEST(GpuDriver, oneGraphIsChangedAndNotRebuilt) {
  Opened opened;
  this->open(opened);
  const auto &names = this->names;
  GpuStandIn &gpu = *this->gpu;
  auto count = [&](const auto &function, std::string rest) { return gpu.count(function.name + rest); };
  Ref<hal::CommandList> list;
  ASSERT_OK(opened.stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}, {CommandKind::Copy, true, 0, 0, 0}}},
                                  opened.code, list));
  Ref<hal::Memory> memories[3];
  BufferView x = opened.allocate(std::vector<int32_t>(200, 3), memories[0]);
  BufferView y = opened.allocate(std::vector<int32_t>(200, 1), memories[1]);
  BufferView z = opened.allocate(std::vector<int32_t>(200, 0), memories[2]);
  auto replay = [&](int64_t n, std::vector<BufferView> kernel, std::vector<BufferView> copied) {
    std::vector<int64_t> scalars = {n, 1};
    CommandArguments arguments[2];
    arguments[0].buffers = kernel.data();
    arguments[0].scalars = scalars.data();
    arguments[0].workgroups = static_cast<uint64_t>(n + 63) / 64;
    arguments[1].buffers = copied.data();
    ASSERT_OK(opened.stream->replay(*list, arguments, nullptr));
  };
  gpu.forget();
  replay(100, {x, y}, {y, z});
  EXPECT_EQ(count(names.GraphAddKernelNode, " 0 2 1 64"), 1) << "no node before, 2 workgroups of 64 threads";
  EXPECT_EQ(count(names.GraphAddMemcpyNode, " 1 800"), 1) << "waits for the kernel";
  EXPECT_EQ(count(names.GraphInstantiate, ""), 1);
  EXPECT_EQ(opened.read(z)[99], 4);
  EXPECT_EQ(opened.read(z)[100], 1);

  // The same again: nothing but the launch.
  gpu.forget();
  replay(100, {x, y}, {y, z});
  EXPECT_EQ(gpu.calls, std::vector<std::string>{names.GraphLaunch.name});

  // Another caller's buffers: the parameter block is copied. Sizes that need as many workgroups change no node.
  gpu.forget();
  replay(120, {y, x}, {y, z});
  EXPECT_EQ(gpu.calls, (std::vector<std::string>{std::string(names.MemcpyAsync.name) + " 64", names.EventRecord.name,
                                                 names.GraphLaunch.name}));

  // Another grid, another copy.
  gpu.forget();
  replay(200, {x, y}, {x, z});
  EXPECT_EQ(count(names.GraphExecKernelNodeSetParams, " 4 1"), 1);
  EXPECT_EQ(count(names.GraphExecMemcpyNodeSetParams, " 800"), 1);
  EXPECT_EQ(count(names.GraphInstantiate, ""), 0);
  EXPECT_EQ(opened.read(z), opened.read(x));

  // Nothing to copy switches the node off, and on again.
  gpu.forget();
  replay(200, {x, y}, {{x.memory, 0, 0}, {z.memory, 0, 0}});
  EXPECT_EQ(count(names.GraphNodeSetEnabled, " 0"), 1);
  replay(200, {x, y}, {y, z});
  EXPECT_EQ(count(names.GraphNodeSetEnabled, " 1"), 1);
  EXPECT_EQ(opened.read(z), opened.read(y));

  // A change that the driver refuses makes a new graph.
  gpu.forget();
  gpu.fail(names.GraphExecMemcpyNodeSetParams.name, 1);
  replay(200, {x, y}, {x, z});
  EXPECT_EQ(count(names.GraphInstantiate, ""), 1);
  EXPECT_EQ(opened.read(z), opened.read(x));
}

// A loop's new value and its old one take turns in two places, and each has its graph from the third time on. The
// kernel adds multiples of the first buffer to the second.
TYPED_TEST(GpuDriver, parametersThatTakeTurnsHaveAGraphEach) {
  Opened opened;
  this->open(opened);
  const auto &names = this->names;
  GpuStandIn &gpu = *this->gpu;
  Ref<hal::CommandList> list;
  ASSERT_OK(opened.stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}}}, opened.code, list));
  Ref<hal::Memory> memories[2];
  const BufferView x = opened.allocate(std::vector<int32_t>(50, 1), memories[0]);
  const BufferView y = opened.allocate(std::vector<int32_t>(50, 0), memories[1]);
  auto replay = [&](int64_t added, BufferView from, BufferView to) {
    std::vector<BufferView> buffers = {from, to};
    std::vector<int64_t> scalars = {50, added};
    CommandArguments arguments;
    arguments.buffers = buffers.data();
    arguments.scalars = scalars.data();
    arguments.workgroups = 1;
    ASSERT_OK(opened.stream->replay(*list, {&arguments, 1}, nullptr));
  };
  const std::vector<std::string> launched = {names.GraphLaunch.name};
  const std::string changed = std::string(names.MemcpyAsync.name) + " 64";
  replay(1, x, y);
  gpu.forget();
  replay(1, y, x);
  EXPECT_EQ(gpu.count(changed), 1) << "nothing tells yet that they take turns";
  gpu.forget();
  replay(1, x, y);
  EXPECT_EQ(gpu.count(names.GraphInstantiate.name), 1);
  for (int round = 0; round < 3; ++round) {
    gpu.forget();
    replay(1, y, x);
    EXPECT_EQ(gpu.calls, launched);
    gpu.forget();
    replay(1, x, y);
    EXPECT_EQ(gpu.calls, launched);
  }
  EXPECT_EQ(opened.read(y)[49], 55);
  EXPECT_EQ(opened.read(x)[49], 34);

  // Others take the place of the one that was used before the last.
  gpu.forget();
  replay(5, y, x);
  EXPECT_EQ(gpu.count(changed), 1);
  gpu.forget();
  replay(5, x, y);
  EXPECT_EQ(gpu.count(changed), 1);
  gpu.forget();
  replay(5, y, x);
  EXPECT_EQ(gpu.calls, launched);
  EXPECT_EQ(opened.read(x)[49], 8309);

  // One graph is changed on and on where there is no memory for another one.
  ASSERT_OK(opened.stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}}}, opened.code, list));
  replay(1, x, y);
  replay(1, y, x);
  gpu.fail(names.MemAllocFromPoolAsync.name, 2);
  gpu.forget();
  replay(1, x, y);
  EXPECT_EQ(gpu.count(names.GraphInstantiate.name), 0);
  EXPECT_EQ(gpu.count(changed), 1);
  EXPECT_EQ(opened.read(y)[49], 28127);
}

TYPED_TEST(GpuDriver, commandsWithoutBarriersDoNotWaitForEachOther) {
  Opened opened;
  this->open(opened);
  Ref<hal::CommandList> list;
  const hal::CommandShape first = {CommandKind::Dispatch, true, 0, 2, 2},
                          next = {CommandKind::Dispatch, false, 0, 2, 2};
  ASSERT_OK(opened.stream->record({{first, next, next, first, next}}, opened.code, list));
  Ref<hal::Memory> memories[2];
  std::vector<BufferView> views = {opened.allocate({1}, memories[0]), opened.allocate({1}, memories[1])};
  std::vector<int64_t> scalars = {1, 1};
  CommandArguments arguments[5];
  for (CommandArguments &one : arguments) {
    one.buffers = views.data();
    one.scalars = scalars.data();
    one.workgroups = 1;
  }
  this->gpu->forget();
  ASSERT_OK(opened.stream->replay(*list, arguments, nullptr));
  EXPECT_EQ(this->gpu->count(std::string(this->names.GraphAddKernelNode.name) + " 0"), 3);
  EXPECT_EQ(this->gpu->count(std::string(this->names.GraphAddEmptyNode.name) + " 3"), 1);
  EXPECT_EQ(this->gpu->count(std::string(this->names.GraphAddKernelNode.name) + " 1"), 2);
  ASSERT_OK(opened.stream->wait()); // before the memories go
}

// One dispatch of the first kernel, ready to be replayed.
struct OneDispatch {
  Ref<hal::Memory> memories[2];
  Ref<hal::CommandList> list; // goes before the memories, and waits for what it has queued
  std::vector<BufferView> views;
  std::vector<int64_t> scalars = {1, 1};
  CommandArguments arguments;

  Status record(const Opened &opened) {
    views = {opened.allocate({1}, memories[0]), opened.allocate({1}, memories[1])};
    arguments.buffers = views.data();
    arguments.scalars = scalars.data();
    arguments.workgroups = 1;
    return opened.stream->record({{{CommandKind::Dispatch, true, 0, 2, 2}}}, opened.code, list);
  }
  Status replay(const Opened &opened, int64_t *timings = nullptr) {
    return opened.stream->replay(*list, {&arguments, 1}, timings);
  }
};

TYPED_TEST(GpuDriver, everyCallOfAReplayNamesItself) {
  Opened opened;
  this->open(opened);
  const auto &names = this->names;
  auto failed = [](const char *function) {
    return fmt::format("{} failed with {} (as the test wanted)", function, TypeParam::otherError);
  };
  for (const char *function : {names.GraphCreate.name, names.GraphAddKernelNode.name, names.GraphInstantiate.name,
                               names.MemcpyAsync.name, names.EventRecord.name, names.GraphLaunch.name}) {
    OneDispatch one;
    ASSERT_OK(one.record(opened));
    this->gpu->fail(function, 3);
    EXPECT_FAILS(one.replay(opened), VX_INTERNAL, failed(function));
    this->gpu->failures.clear();
    ASSERT_OK(one.replay(opened));
  }
  int64_t timings[1];
  for (const char *function : {names.EventCreate.name, names.LaunchKernel.name, names.EventElapsedTime.name}) {
    OneDispatch one;
    ASSERT_OK(one.record(opened));
    this->gpu->fail(function, 3);
    EXPECT_FAILS(one.replay(opened, timings), VX_INTERNAL, failed(function));
    this->gpu->failures.clear();
    ASSERT_OK(one.replay(opened, timings));
  }
  OneDispatch one;
  this->gpu->fail(names.EventCreate.name, 3);
  EXPECT_FAILS(one.record(opened), VX_INTERNAL, failed(names.EventCreate.name));
  this->gpu->fail(names.MemsetAsync.name, 3);
  EXPECT_FAILS(opened.stream->resetFault(), VX_INTERNAL, failed(names.MemsetAsync.name));
}

TYPED_TEST(GpuDriver, replaysThatNoDriverCanDo) {
  Opened opened;
  this->open(opened);
  OneDispatch one;
  ASSERT_OK(one.record(opened));
  one.arguments.workgroups = VX_MAX_WORKGROUPS;
  EXPECT_FAILS(one.replay(opened), VX_UNSUPPORTED,
               fmt::format("kernel 'scale and add' needs {0} workgroups, but a dispatch has less than {0}",
                           uint64_t(VX_MAX_WORKGROUPS)));
  EXPECT_FAILS(opened.stream->replay(*one.list, {}, nullptr), VX_INTERNAL,
               "a segment of 1 commands was given arguments for 0");
  Ref<hal::CommandList> list;
  EXPECT_FAILS(opened.stream->record({{{CommandKind::Dispatch, true, 7, 2, 2}}}, opened.code, list),
               VX_INVALID_ARGUMENT, "asked for kernel 7, but the code has 2");
}

TYPED_TEST(GpuDriver, lostDeviceIsNamedWithWhatRan) {
  for (const auto &[result, words] :
       {std::pair(700, fmt::format("{} (an illegal memory access was encountered)", TypeParam::illegalAddress)),
        std::pair(702, fmt::format("{} (the launch timed out and was terminated)", TypeParam::timeOut))}) {
    Opened opened, other;
    this->open(opened, 0);
    this->open(other, 1);
    OneDispatch one, another;
    ASSERT_OK(one.record(opened));
    ASSERT_OK(another.record(other));
    ASSERT_OK(one.replay(opened));
    this->gpu->fail(this->names.StreamSynchronize.name, result, 0, /*device=*/0);
    EXPECT_FAILS(opened.stream->wait(), VX_DEVICE_LOST,
                 fmt::format("device 'Stand-in 0' was lost: {} failed with {}; running since the last wait: 'scale and "
                             "add' (scale_1 (Mul), add_1 (Add))",
                             this->names.StreamSynchronize.name, words));
    // Later calls there fail cleanly.
    const char *lost = "device 'Stand-in 0' was lost in an earlier call";
    EXPECT_FAILS(one.replay(opened), VX_DEVICE_LOST, lost);
    EXPECT_FAILS(opened.stream->wait(), VX_DEVICE_LOST, lost);
    EXPECT_FAILS(opened.stream->resetFault(), VX_DEVICE_LOST, lost);
    Ref<hal::Memory> memory;
    EXPECT_FAILS(opened.device->allocate(8, hal::MemoryKind::Device, memory), VX_DEVICE_LOST, lost);
    Ref<hal::Executable> code;
    EXPECT_FAILS(this->load(*opened.device, TypeParam::variant, code), VX_DEVICE_LOST, lost);
    Ref<hal::Stream> stream;
    EXPECT_FAILS(opened.device->createStream(stream), VX_DEVICE_LOST, lost);
    // Other devices go on.
    ASSERT_OK(another.replay(other));
    ASSERT_OK(other.stream->wait());
    EXPECT_EQ(other.read(another.views[1]), std::vector<int32_t>{2});
    this->gpu->failures.clear();
  }
}

TYPED_TEST(GpuDriver, lostDeviceIsNamedWithWhatRanByAnyCall) {
  const auto &names = this->names;
  for (const char *function : {names.MemcpyAsync.name, names.MemsetAsync.name, names.EventSynchronize.name}) {
    Opened opened;
    this->open(opened);
    OneDispatch one;
    ASSERT_OK(one.record(opened));
    ASSERT_OK(one.replay(opened));
    this->gpu->fail(function, 700);
    int32_t value = 0;
    Status status = function == names.MemsetAsync.name ? opened.stream->resetFault()
                                                       : opened.stream->download(one.views[0], &value);
    EXPECT_EQ(status.code(), VX_DEVICE_LOST);
    EXPECT_EQ(status.message(),
              fmt::format("device 'Stand-in 0' was lost: {} failed with {} (an illegal memory access was encountered); "
                          "running since the last wait: 'scale and add' (scale_1 (Mul), add_1 (Add))",
                          function, TypeParam::illegalAddress));
    this->gpu->failures.clear();
  }
}

//===-- Streams of the caller's ---------------------------------------------------------------===//

TYPED_TEST(GpuDriver, callersStreamIsUsed) {
  Opened opened;
  this->open(opened);
  OneDispatch one;
  ASSERT_OK(one.record(opened));
  ASSERT_OK(one.replay(opened));
  int callers = 0, foreign = 0;
  ASSERT_OK(opened.stream->useCallerStream(&callers));
  ASSERT_OK(one.replay(opened));
  // One of another device is refused, and the own one is used again.
  this->gpu->foreignStream = &foreign;
  EXPECT_FAILS(opened.stream->useCallerStream(&foreign), VX_INVALID_ARGUMENT,
               fmt::format("it does not take the caller's stream: {} failed with {} (invalid resource handle)",
                           this->names.EventRecord.name, TypeParam::invalidHandle));
  ASSERT_OK(one.replay(opened));
  ASSERT_OK(opened.stream->useCallerStream(&callers));
  ASSERT_OK(opened.stream->useCallerStream(nullptr));
  ASSERT_OK(one.replay(opened));
  ASSERT_EQ(this->gpu->launchStreams.size(), 4u);
  const void *own = this->gpu->launchStreams[0];
  EXPECT_NE(own, &callers);
  EXPECT_EQ(this->gpu->launchStreams, (std::vector<const void *>{own, &callers, own, own}));
  EXPECT_EQ(opened.read(one.views[1]), std::vector<int32_t>{5});
  // It is not ours to destroy.
  this->gpu->forget();
  one = {};
  opened.stream = nullptr;
  EXPECT_EQ(this->gpu->count(this->names.StreamDestroy.name), 1);
}

//===-- The stand-in: what is queued is done later, and what it uses must stay until then -----===//

TYPED_TEST(GpuDriver, whatIsQueuedIsNotDoneBeforeAWait) {
  Opened opened;
  this->open(opened);
  Ref<hal::Memory> memory, staging;
  const BufferView view = opened.allocate({1, 2, 3}, memory);
  ASSERT_OK(opened.device->allocate(view.size, hal::MemoryKind::Staging, staging));
  const auto *seen = static_cast<const int32_t *>(staging->host());
  ASSERT_OK(opened.stream->copy(view, {staging.get(), 0, view.size}));
  if (const char *when = std::getenv("VX_QUEUED_WORK"); !when || !*when)
    EXPECT_NE(seen[0], 1);
  ASSERT_OK(opened.stream->wait());
  EXPECT_EQ(std::vector<int32_t>(seen, seen + 3), (std::vector<int32_t>{1, 2, 3}));
}

// Memory that the host sees is read and written by the host itself, but in the order of what is queued.
TYPED_TEST(GpuDriver, hostMemoryIsReadAndWrittenInOrder) {
  Opened opened;
  this->open(opened);
  Ref<hal::Memory> memory, other, staging;
  const BufferView view = opened.allocate({1, 2, 3}, memory), target = opened.allocate({0, 0, 0}, other);
  ASSERT_OK(opened.device->allocate(view.size, hal::MemoryKind::Staging, staging));
  const BufferView host = {staging.get(), 0, view.size};
  ASSERT_OK(opened.stream->copy(view, host));
  EXPECT_EQ(opened.read(host), (std::vector<int32_t>{1, 2, 3}));
  ASSERT_OK(opened.stream->copy(host, target));
  const int32_t next[] = {7, 8, 9};
  ASSERT_OK(opened.stream->upload(host, next));
  EXPECT_EQ(opened.read(target), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(opened.read(host), (std::vector<int32_t>{7, 8, 9}));
}

TYPED_TEST(GpuDriver, whatQueuedWorkUsesIsNotGivenBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (const char *when = std::getenv("VX_QUEUED_WORK"); when && *when)
    return; // the work may be done by then
  Opened opened;
  this->open(opened);
  Ref<hal::Memory> from, to;
  const BufferView source = opened.allocate({1, 2, 3}, from), destination = opened.allocate({0, 0, 0}, to);
  EXPECT_DEATH(
      {
        (void)opened.stream->copy(source, destination).ok();
        from = nullptr;
      },
      "the GPU's stand-in: memory is given back while work is queued that uses it");
  OneDispatch one;
  ASSERT_OK(one.record(opened));
  EXPECT_DEATH(
      {
        (void)one.replay(opened).ok();
        one.memories[1] = nullptr;
        (void)opened.stream->wait().ok();
      },
      "the GPU's stand-in: a kernel uses memory that is not there");
}

//===-- Whole calls ---------------------------------------------------------------------------===//

// An instance of a module on device `index`, which adds x to a variable.
template <typename Traits>
struct OneInstance {
  typename Traits::Driver driver;
  Ref<Instance> instance;

  explicit OneInstance(const typename Traits::Options &options) : driver(options) {}

  Status create(const char *device, std::vector<std::span<const uint8_t>> codes, const std::string &requirement,
                uint32_t waitLimitMs = 0, void (*add)(ModuleBuilder &) = nullptr) {
    ModuleBuilder builder;
    add ? add(builder) : addAccumulate(builder);
    builder.addGpuTarget(Traits::backend, requirement, codes);
    Ref<Module> module;
    VX_RETURN_IF_ERROR(Module::load(builder.write(fmt::format("{}.vxm", Traits::backend)), module));
    hal::Driver *const drivers[] = {&driver};
    DeviceRequest request;
    VX_RETURN_IF_ERROR(parseDeviceRequest(device, Traits::backend, drivers, request));
    request.noFallback = true;
    request.waitLimitMs = waitLimitMs;
    return Instance::create(std::move(module), request, drivers, instance);
  }
  Status run(std::vector<int32_t> &sum) {
    std::vector<Ref<Value>> outputs;
    VX_RETURN_IF_ERROR(runMain(*instance, {vectorValue({1, 2, 3, 4})}, outputs));
    sum = elementsOf(*outputs[0]);
    return okStatus();
  }
};

TYPED_TEST(GpuDriver, weightsThatDoNotFit) {
  OneInstance<TypeParam> one(this->options);
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  ModuleBuilder builder;
  addAffine(builder, 64);
  builder.addGpuTarget(TypeParam::backend, TypeParam::common, codes);
  const std::string path = builder.write("weights.vxm");
  hal::Driver *const drivers[] = {&one.driver};
  DeviceRequest request;
  ASSERT_OK(parseDeviceRequest(TypeParam::backend, nullptr, drivers, request));
  request.noFallback = true;
  Ref<Module> module;
  ASSERT_OK(Module::load(path, module));
  // The stream's own memory and the empty buffer are there before the weights.
  this->gpu->fail(this->names.MemAllocFromPoolAsync.name, 2, /*after=*/2);
  Status status = Instance::create(module, request, drivers, one.instance);
  EXPECT_EQ(status.code(), VX_NO_DEVICE);
  EXPECT_NE(status.message().find(fmt::format("{0}: weights: asked for 256 bytes, but device 'Stand-in 0' has 1000 of "
                                              "1099511627776 bytes free",
                                              path)),
            std::string_view::npos)
      << status.message();
  this->gpu->failures.clear();
  ASSERT_OK(Instance::create(module, request, drivers, one.instance));
}

TYPED_TEST(GpuDriver, kernelThatTheDriverStopsFailsTheCallsOfItsDeviceOnly) {
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  OneInstance<TypeParam> first(this->options), second(this->options);
  // Both stand-ins have what they are asked for here on both devices.
  const std::string requirement = TypeParam::common;
  ASSERT_OK(first.create(fmt::format("{}:0", TypeParam::backend).c_str(), codes, requirement));
  ASSERT_OK(second.create(fmt::format("{}:1", TypeParam::backend).c_str(), codes, requirement));
  std::vector<int32_t> sum;
  ASSERT_OK(first.run(sum));
  // The first wait of a call is the one for its results.
  this->gpu->fail(this->names.EventSynchronize.name, 702, 0, /*device=*/0);
  Status status = first.run(sum);
  EXPECT_EQ(status.code(), VX_DEVICE_LOST);
  EXPECT_EQ(status.message(),
            fmt::format("device 'Stand-in 0' was lost: {} failed with {} (the launch timed out and was terminated); "
                        "running since the last wait: 'scale_add' (scale_add_node (Test))",
                        this->names.EventSynchronize.name, TypeParam::timeOut));
  status = first.run(sum);
  EXPECT_EQ(status.code(), VX_DEVICE_LOST);
  EXPECT_NE(status.message().find("device 'Stand-in 0' was lost in an earlier call"), std::string_view::npos)
      << status.message();
  ASSERT_OK(second.run(sum));
  ASSERT_OK(second.run(sum));
  EXPECT_EQ(sum, (std::vector<int32_t>{2, 4, 6, 8}));
  this->gpu->failures.clear();
}

// A run that was started before the device was lost fails as well, and none is started behind it.
TYPED_TEST(GpuDriver, runsThatAreOnTheirWayAreLostWithTheDevice) {
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  OneInstance<TypeParam> one(this->options);
  ASSERT_OK(one.create(TypeParam::backend, codes, TypeParam::common));
  std::unique_ptr<CallState> state;
  ASSERT_OK(one.instance->takeCall(0, state));
  {
    PendingRuns runs(*one.instance, *state);
    const Ref<Value> x = vectorValue({1, 2, 3, 4});
    Value *inputs[] = {x.get()};
    PendingRun first, second, third;
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runs.submit(inputs, {}, /*hold=*/true, first));
    ASSERT_OK(runs.submit(inputs, {}, /*hold=*/true, second));
    this->gpu->fail(this->names.EventSynchronize.name, 702, 0, /*device=*/0);
    ASSERT_OK(runs.start(first));
    ASSERT_OK(runs.start(second));
    for (PendingRun *run : {&first, &second}) {
      Status status = runs.wait(*run, outputs);
      EXPECT_EQ(status.code(), VX_DEVICE_LOST);
      EXPECT_NE(status.message().find("device 'Stand-in 0' was lost"), std::string_view::npos) << status.message();
      runs.drop(*run);
    }
    EXPECT_TRUE(one.instance->context()->isLost());
    EXPECT_EQ(runs.submit(inputs, {}, /*hold=*/false, third).code(), VX_DEVICE_LOST);
  }
  this->gpu->failures.clear();
}

// What is queued in a stream of the caller's is so before the function returns.
TYPED_TEST(GpuDriver, nothingIsSubmittedInTheCallersStream) {
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  OneInstance<TypeParam> one(this->options);
  ASSERT_OK(one.create(TypeParam::backend, codes, TypeParam::common));
  std::unique_ptr<CallState> state;
  ASSERT_OK(one.instance->takeCall(0, state));
  PendingRuns runs(*one.instance, *state);
  const Ref<Value> x = vectorValue({1, 2, 3, 4});
  Value *inputs[] = {x.get()};
  PendingRun held, other;
  ASSERT_OK(runs.submit(inputs, {}, /*hold=*/true, held));
  int callers = 0;
  ASSERT_OK(state->setStream(&callers));
  const char *refusal = "the call works in a stream of the caller's, in whose order nothing can be submitted";
  EXPECT_FAILS(runs.submit(inputs, {}, /*hold=*/true, other), VX_UNSUPPORTED, refusal);
  EXPECT_FAILS(runs.start(held), VX_UNSUPPORTED, refusal);
  ASSERT_OK(state->setStream(nullptr));
  ASSERT_OK(runs.start(held));
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runs.wait(held, outputs));
  EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{1, 2, 3, 4}));
  runs.drop(held);
}

// The driver waits for ever, and so it is not asked to.
TYPED_TEST(GpuDriver, kernelThatHangsFailsTheCallsOfItsDeviceOnly) {
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  OneInstance<TypeParam> first(this->options), second(this->options);
  ASSERT_OK(first.create(fmt::format("{}:0", TypeParam::backend).c_str(), codes, TypeParam::common, 500));
  ASSERT_OK(second.create(fmt::format("{}:1", TypeParam::backend).c_str(), codes, TypeParam::common, 500));
  std::vector<int32_t> sum;
  ASSERT_OK(first.run(sum));
  EXPECT_EQ(this->gpu->count(this->names.StreamSynchronize.name), 0);
  EXPECT_EQ(this->gpu->count(this->names.EventSynchronize.name), 0);
  this->gpu->fail(this->names.EventQuery.name, 600, 0, /*device=*/0);
  EXPECT_FAILS(first.run(sum), VX_DEVICE_LOST,
               "device 'Stand-in 0' was lost: its work was not done after 500 ms; running since the last wait: "
               "'scale_add' (scale_add_node (Test))");
  EXPECT_FAILS(first.run(sum), VX_DEVICE_LOST, "device 'Stand-in 0' was lost in an earlier call");
  // The driver's next answer from that device may never come, so that it is not asked any more.
  this->gpu->failures.clear();
  this->gpu->forget();
  Ref<hal::Device> again;
  EXPECT_FAILS(first.driver.open(0, {}, again), VX_DEVICE_LOST,
               "device 'Stand-in 0' hangs since an earlier call, and with it all that this process asks of it");
  EXPECT_TRUE(this->gpu->calls.empty()) << this->gpu->calls.front();
  ASSERT_OK(second.run(sum));
  ASSERT_OK(second.run(sum));
  EXPECT_EQ(sum, (std::vector<int32_t>{2, 4, 6, 8}));
  second.instance = nullptr;
  EXPECT_GT(this->gpu->count(this->names.MemFreeAsync.name), 0);
  // What the kernel may still use is not given back.
  this->gpu->forget();
  first.instance = nullptr;
  EXPECT_TRUE(this->gpu->calls.empty()) << this->gpu->calls.front();
  this->liveBefore = this->gpu->live.size();
}

// However many turns a loop has: its old and its new value take turns in two places, with a graph for each.
TYPED_TEST(GpuDriver, loopsTakeTurnsInTwoPlaces) {
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  OneInstance<TypeParam> one(this->options);
  ASSERT_OK(one.create(TypeParam::backend, codes, TypeParam::common, 0, addRepeat));
  std::vector<Ref<Value>> outputs;
  auto countOf = [&](const std::string &function, int turns) {
    this->gpu->forget();
    outputs.clear();
    EXPECT_OK(runMain(*one.instance, {vectorValue({5, 1, -2}), vectorValue({turns})}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{5 * (turns + 1), turns + 1, -2 * (turns + 1)}));
    return this->gpu->count(function);
  };
  const std::string allocate = this->names.MemAllocFromPoolAsync.name, build = this->names.GraphInstantiate.name,
                    launch = this->names.GraphLaunch.name, change = this->names.GraphExecMemcpyNodeSetParams.name;
  countOf(launch, 9);
  EXPECT_EQ(countOf(launch, 9) + 31, countOf(launch, 40));
  EXPECT_EQ(countOf(allocate, 9), countOf(allocate, 40));
  EXPECT_LE(countOf(change, 40), 4) << "of the first turns";
  EXPECT_EQ(countOf(build, 40), 0);
}

TYPED_TEST(GpuDriver, callTakesTheCallersStreamAndItsPlaceGoesBackWithoutIt) {
  const std::vector<std::span<const uint8_t>> codes = {this->bytes(TypeParam::scaleAdd),
                                                       this->bytes(TypeParam::gather)};
  OneInstance<TypeParam> one(this->options);
  ASSERT_OK(one.create(TypeParam::backend, codes, TypeParam::common));
  int callers = 0, foreign = 0;
  std::unique_ptr<CallState> call;
  ASSERT_OK(one.instance->takeCall(0, call));
  ASSERT_OK(call->setStream(&callers));
  this->gpu->foreignStream = &foreign;
  EXPECT_FAILS(call->setStream(&foreign), VX_INVALID_ARGUMENT,
               fmt::format("device '{}:0': it does not take the caller's stream: {} failed with {} (invalid resource "
                           "handle)",
                           TypeParam::backend, this->names.EventRecord.name, TypeParam::invalidHandle));
  ASSERT_OK(call->setStream(&callers));
  one.instance->returnCall(std::move(call));
  std::vector<int32_t> sum;
  ASSERT_OK(one.run(sum));
  EXPECT_EQ(std::count(this->gpu->launchStreams.begin(), this->gpu->launchStreams.end(), &callers), 0);
}

//===-- Code ----------------------------------------------------------------------------------===//

TYPED_TEST(GpuDriver, kernelThatTheCodeLacks) {
  Opened opened;
  this->open(opened);
  this->gpu->fail(this->names.ModuleGetFunction.name, 500);
  EXPECT_FAILS(this->load(*opened.device, TypeParam::variant, opened.code), VX_INVALID_MODULE,
               fmt::format("code '{}' of 'm.vxm': code has no function 'scale_add' for kernel 'scale and add'",
                           TypeParam::variant));
  this->gpu->fail(this->names.ModuleGetFunction.name, 3);
  EXPECT_FAILS(this->load(*opened.device, TypeParam::variant, opened.code), VX_INTERNAL,
               fmt::format("code '{}' of 'm.vxm': {} failed with {} (as the test wanted)", TypeParam::variant,
                           this->names.ModuleGetFunction.name, TypeParam::otherError));
}

} // namespace vx::test
