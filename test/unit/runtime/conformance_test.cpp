// What every driver must do. A new driver adds one line to `subjects`, and its kernels to `imageOf`.
#include "runtime_test.h"

#include "gather.ptx.h"
#include "scale_add.ptx.h"
#ifdef VX_TEST_SPIRV
#include "gather.spv.h"
#include "scale_add.spv.h"
#endif

#include <numeric>
#include <thread>

namespace vx::test {

using hal::BufferView;
using hal::CommandArguments;
using hal::CommandKind;
using hal::CommandShape;

struct Subject {
  const char *driver;
  bool computes; // false: memory holds nothing and kernels do not run
};

class Driver : public testing::TestWithParam<Subject> {
protected:
  void SetUp() override {
    hal::Driver *driver = findDriver(allDrivers(), GetParam().driver);
    ASSERT_NE(driver, nullptr);
    EXPECT_EQ(driver->name(), GetParam().driver);
    std::vector<hal::DeviceInfo> devices;
    hal::Refusal refusal = driver->enumerate(devices);
    if (devices.empty()) {
      EXPECT_NE(refusal.code, hal::RefusalCode::None);
      EXPECT_FALSE(refusal.reason.empty());
      // Tests of CUDA and HIP run where there is a library of theirs; each other driver has a device of software.
      if (std::string_view(GetParam().driver) == "cuda" || std::string_view(GetParam().driver) == "rocm")
        GTEST_SKIP() << refusal.reason;
      FAIL() << refusal.reason;
    }
    EXPECT_EQ(refusal.code, hal::RefusalCode::None);
    ASSERT_OK(driver->open(0, {}, device));
    if (!loadKernels())
      FAIL() << "the tests were built without kernels for this driver";
    ASSERT_OK(device->createStream(stream));
    ASSERT_OK(stream->resetFault());
  }

  // The code image with `gather`'s entry point named `gatherEntry`.
  Status load(std::string_view gatherEntry, Ref<hal::Executable> &result) {
    hal::KernelImage kernels[2];
    kernels[ScaleAdd].name = kernels[ScaleAdd].entry = "scale_add";
    kernels[ScaleAdd].bufferCount = kernels[ScaleAdd].scalarCount = 2;
    kernels[Gather].name = "gather";
    kernels[Gather].entry = gatherEntry;
    kernels[Gather].bufferCount = 3;
    kernels[Gather].scalarCount = 2;
    hal::CodeImage image;
    image.file = "conformance.vxm";
    image.variant = "baseline";
    image.kernels = kernels;
    std::vector<uint8_t> file;
    if (GetParam().driver == std::string_view("vulkan")) {
#ifdef VX_TEST_SPIRV
      kernels[ScaleAdd].code = scale_add_spirv;
      kernels[Gather].code = gather_spirv;
      kernels[ScaleAdd].workgroupSize[0] = kernels[Gather].workgroupSize[0] = 64;
#endif
    } else if (GetParam().driver == std::string_view("cuda")) {
      image.bytes = kernels[ScaleAdd].code = scale_add_ptx;
      kernels[Gather].code = gather_ptx;
      kernels[ScaleAdd].workgroupSize[0] = kernels[Gather].workgroupSize[0] = 64;
    } else if (GetParam().driver == std::string_view("rocm")) {
      // What the stand-in takes for code. There is no code object for one of AMD's GPUs among the tests.
      static constexpr uint8_t scaleAdd[] = "scale_add", gather[] = "gather";
      kernels[ScaleAdd].code = scaleAdd;
      kernels[Gather].code = gather;
      kernels[ScaleAdd].workgroupSize[0] = kernels[Gather].workgroupSize[0] = 64;
    } else {
      file = cpuImage();
      image.bytes = file;
#if defined(__aarch64__)
      image.triple = "aarch64-unknown-linux-gnu";
#else
      image.triple = "x86_64-unknown-linux-gnu";
#endif
    }
    return device->load(image, result);
  }

  bool loadKernels() {
#ifndef VX_TEST_SPIRV
    if (GetParam().driver == std::string_view("vulkan"))
      return false;
#endif
    EXPECT_OK(load("gather", code));
    return true;
  }

  BufferView make(const std::vector<int32_t> &values, hal::MemoryKind kind = hal::MemoryKind::Device) {
    Ref<hal::Memory> memory;
    EXPECT_OK(device->allocate(values.size() * sizeof(int32_t), kind, memory));
    if (!memory)
      return {};
    memories.push_back(memory);
    BufferView view = {memory.get(), 0, values.size() * sizeof(int32_t)};
    EXPECT_OK(stream->upload(view, values.data()));
    return view;
  }

  void expectContents(const BufferView &view, const std::vector<int32_t> &wanted) {
    std::vector<int32_t> values(view.size / sizeof(int32_t), 12345);
    EXPECT_OK(stream->download(view, values.data()));
    if (GetParam().computes)
      EXPECT_EQ(values, wanted);
    else
      EXPECT_EQ(values, std::vector<int32_t>(values.size(), 0));
  }

  CommandArguments dispatchArguments(const std::vector<BufferView> &views, const std::vector<int64_t> &scalars,
                                     uint64_t workgroups) {
    CommandArguments arguments;
    arguments.buffers = views.data();
    arguments.scalars = scalars.data();
    arguments.workgroups = workgroups;
    return arguments;
  }

  static CommandShape scaleAddShape(bool barrier = true) { return {CommandKind::Dispatch, barrier, ScaleAdd, 2, 2}; }
  static CommandShape gatherShape() { return {CommandKind::Dispatch, true, Gather, 3, 2}; }
  static CommandShape copyShape() { return {CommandKind::Copy, true, 0, 0, 0}; }

  Ref<hal::Device> device;
  Ref<hal::Executable> code;
  std::vector<Ref<hal::Memory>> memories;
  Ref<hal::Stream> stream;
};

static std::vector<Subject> subjects() {
  std::vector<Subject> built;
  for (const char *name : builtDevices({"cpu", "cuda", "rocm", "vulkan", "null"}))
    built.push_back({name, std::string_view(name) != "null"});
  return built;
}

INSTANTIATE_TEST_SUITE_P(Conformance, Driver, testing::ValuesIn(subjects()),
                         [](const auto &subject) { return std::string(subject.param.driver); });

TEST_P(Driver, describesItsDevices) {
  EXPECT_FALSE(device->info().name.empty());
  EXPECT_GT(device->info().maxAllocation, 0u);
  Ref<hal::Device> other;
  EXPECT_FALSE(findDriver(allDrivers(), GetParam().driver)->open(4711, {}, other).ok());
}

TEST_P(Driver, allocatesAlignedMemory) {
  for (uint64_t size : {0, 1, 63, 64, 65, 4097}) {
    Ref<hal::Memory> memory;
    ASSERT_OK(device->allocate(size, hal::MemoryKind::Device, memory));
    EXPECT_EQ(memory->size(), size);
    EXPECT_EQ(memory->address() % VX_BUFFER_ALIGNMENT, 0u);
    EXPECT_NE(memory->address(), 0u);
    ASSERT_OK(device->allocate(size, hal::MemoryKind::Staging, memory));
    EXPECT_EQ(memory->size(), size);
    if (size)
      EXPECT_NE(memory->host(), nullptr);
  }
}

TEST_P(Driver, refusesMoreThanTheLimit) {
  Ref<hal::Memory> memory;
  Status status = device->allocate(device->info().maxAllocation + 1, hal::MemoryKind::Device, memory);
  EXPECT_EQ(status.code(), VX_OUT_OF_MEMORY);
  const std::string_view name = GetParam().driver;
  EXPECT_EQ(status.message(),
            fmt::format("asked for {} bytes, but device '{}' allows at most {} in one buffer",
                        device->info().maxAllocation + 1, name == "cpu" || name == "null" ? name : device->info().name,
                        device->info().maxAllocation));
  EXPECT_FALSE(memory);
}

TEST_P(Driver, transfers) {
  BufferView a = make({1, 2, 3, 4, 5}), b = make({0, 0, 0, 0, 0});
  expectContents(a, {1, 2, 3, 4, 5});
  ASSERT_OK(stream->copy(a, b));
  // A part of a buffer.
  ASSERT_OK(stream->copy({a.memory, 4, 8}, {b.memory, 12, 8}));
  expectContents(b, {1, 2, 3, 2, 3});
  // The source of an upload may change at once.
  std::vector<int32_t> source = {9, 9};
  ASSERT_OK(stream->upload({b.memory, 0, 8}, source.data()));
  source = {7, 7};
  expectContents(b, {9, 9, 3, 2, 3});
  BufferView staging = make({5, 6}, hal::MemoryKind::Staging);
  ASSERT_OK(stream->copy(staging, {a.memory, 0, 8}));
  expectContents(a, {5, 6, 3, 4, 5});
}

TEST_P(Driver, fillsAnyRangeWithZeros) {
  for (uint64_t first : {0u, 1u, 3u, 4u, 6u})
    for (uint64_t size : {0u, 1u, 2u, 5u, 8u, 9u}) {
      BufferView view = make({-1, -1, -1, -1});
      ASSERT_OK(stream->fillZero({view.memory, first, size}));
      std::vector<uint8_t> bytes(16, 1), wanted(16, GetParam().computes ? 0xff : 0);
      std::fill_n(wanted.begin() + static_cast<ptrdiff_t>(first), size, uint8_t(0));
      ASSERT_OK(stream->download(view, bytes.data()));
      EXPECT_EQ(bytes, wanted) << first << " " << size;
    }
}

TEST_P(Driver, replaysWithOtherBuffersSizesAndGrids) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{scaleAddShape()}}, code, list));
  for (int64_t n : {1, 64, 65, 1000, 0}) {
    std::vector<int32_t> x(static_cast<size_t>(n)), y(static_cast<size_t>(n), 1), wanted;
    std::iota(x.begin(), x.end(), -3);
    for (int32_t value : x)
      wanted.push_back(value * 5 + 1);
    std::vector<BufferView> views = {make(x), make(y)};
    std::vector<int64_t> scalars = {n, 5};
    CommandArguments arguments = dispatchArguments(views, scalars, static_cast<uint64_t>((n + 63) / 64));
    ASSERT_OK(stream->replay(*list, {&arguments, 1}, nullptr));
    expectContents(views[1], wanted);
  }
}

TEST_P(Driver, replaysBeforeTheEarlierOneIsDoneKeepTheirParameters) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{scaleAddShape()}}, code, list));
  BufferView x = make({1, 10, 100}), y = make({0, 0, 0});
  std::vector<BufferView> views = {x, y};
  for (int64_t scale = 1; scale <= 20; ++scale) {
    // The arguments are gone as soon as the replay has returned.
    std::vector<int64_t> scalars = {3, scale};
    CommandArguments arguments = dispatchArguments(views, scalars, 1);
    ASSERT_OK(stream->replay(*list, {&arguments, 1}, nullptr));
    scalars = {0, 0};
  }
  expectContents(y, {210, 2100, 21000});
}

TEST_P(Driver, barriersOrderCommandsAndCopies) {
  // t = x; t = t + 2 x; y = t; y = y + t
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{copyShape(), scaleAddShape(), copyShape(), scaleAddShape()}}, code, list));
  for (int32_t start : {1, 50}) {
    std::vector<int32_t> values(3000);
    std::iota(values.begin(), values.end(), start);
    BufferView x = make(values), t = make(std::vector<int32_t>(3000)), y = make(std::vector<int32_t>(3000));
    std::vector<std::vector<BufferView>> views = {{x, t}, {x, t}, {t, y}, {t, y}};
    std::vector<std::vector<int64_t>> scalars = {{}, {3000, 2}, {}, {3000, 1}};
    std::vector<CommandArguments> arguments;
    for (size_t i = 0; i < 4; ++i)
      arguments.push_back(dispatchArguments(views[i], scalars[i], 47));
    ASSERT_OK(stream->replay(*list, arguments, nullptr));
    for (int32_t &value : values)
      value *= 6;
    expectContents(y, values);
  }
}

TEST_P(Driver, copiesOfNothingAndGridsOfNothing) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{copyShape(), scaleAddShape()}}, code, list));
  BufferView x = make({4}), y = make({6});
  std::vector<BufferView> nothing = {{x.memory, 0, 0}, {y.memory, 0, 0}}, views = {x, y};
  std::vector<int64_t> none, scalars = {1, 1};
  CommandArguments arguments[] = {dispatchArguments(nothing, none, 0), dispatchArguments(views, scalars, 0)};
  ASSERT_OK(stream->replay(*list, arguments, nullptr));
  expectContents(y, {6});
  ASSERT_OK(stream->record({}, code, list));
  ASSERT_OK(stream->replay(*list, {}, nullptr));
}

TEST_P(Driver, gridsBeyondOneRow) {
  const uint64_t workgroups = VX_GRID_X + 3;
  const size_t n = workgroups * 64 - 5;
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{scaleAddShape()}}, code, list));
  std::vector<BufferView> views = {make(std::vector<int32_t>(n, 2)), make(std::vector<int32_t>(n, 1))};
  std::vector<int64_t> scalars = {static_cast<int64_t>(n), 3};
  CommandArguments arguments = dispatchArguments(views, scalars, workgroups);
  ASSERT_OK(stream->replay(*list, {&arguments, 1}, nullptr));
  expectContents(views[1], std::vector<int32_t>(n, 7));
}

TEST_P(Driver, kernelThatTheCodeLacksIsRefused) {
  if (!GetParam().computes)
    GTEST_SKIP() << "no code is read";
  Ref<hal::CommandList> list;
  EXPECT_FAILS(stream->record({{{CommandKind::Dispatch, true, 7, 2, 2}}}, code, list), VX_INVALID_ARGUMENT,
               "asked for kernel 7, but the code has 2");
}

TEST_P(Driver, faultRecordKeepsTheFirstAndIsReset) {
  if (!GetParam().computes)
    GTEST_SKIP() << "no kernel runs, so none faults";
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{gatherShape()}}, code, list));
  BufferView x = make({10, 20, 30}), y = make({0, 0});
  auto run = [&](std::vector<int32_t> indices) {
    std::vector<BufferView> views = {x, make(indices), y};
    std::vector<int64_t> scalars = {2, 3};
    CommandArguments arguments = dispatchArguments(views, scalars, 1);
    EXPECT_OK(stream->replay(*list, {&arguments, 1}, nullptr));
  };
  vx_fault_record fault = {};
  run({2, 0});
  ASSERT_OK(stream->readFault(fault));
  EXPECT_EQ(fault.count, 0u);
  run({1, 7});
  run({-2, 0});
  ASSERT_OK(stream->readFault(fault));
  EXPECT_EQ(fault.count, 2u);
  EXPECT_EQ(fault.site, 3u);
  EXPECT_EQ(fault.value, 7);
  EXPECT_EQ(fault.lower, 0);
  EXPECT_EQ(fault.upper, 3);
  EXPECT_EQ(fault.rank, 1);
  EXPECT_EQ(fault.place[0], 1);
  expectContents(y, {10, 10});
  ASSERT_OK(stream->resetFault());
  run({0, 1});
  ASSERT_OK(stream->readFault(fault));
  EXPECT_EQ(fault.count, 0u);
  expectContents(y, {10, 20});
}

TEST_P(Driver, timingsAreNanosecondsOrMinusOne) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{copyShape(), scaleAddShape()}}, code, list));
  BufferView x = make({4}), y = make({6});
  std::vector<BufferView> views = {x, y};
  std::vector<int64_t> none, scalars = {1, 1};
  CommandArguments arguments[] = {dispatchArguments(views, none, 0), dispatchArguments(views, scalars, 1)};
  int64_t timings[] = {-5, -5};
  ASSERT_OK(stream->replay(*list, arguments, timings));
  for (int64_t time : timings)
    EXPECT_GE(time, -1);
  expectContents(y, {8});
}

TEST_P(Driver, importedMemoryIsReadInPlaceOrRefused) {
  alignas(VX_BUFFER_ALIGNMENT) static const int32_t data[4] = {1, 2, 3, 4};
  Ref<hal::Memory> memory;
  ASSERT_OK(device->importHost(data, sizeof(data), memory));
  if (!memory)
    return;
  EXPECT_EQ(memory->size(), sizeof(data));
  expectContents({memory.get(), 4, 8}, {2, 3});
}

TEST_P(Driver, takesNoStreamOfTheCallersOrHasSuchObjects) {
  EXPECT_OK(stream->useCallerStream(nullptr));
  const std::string_view driver = GetParam().driver;
  if (driver == "cuda" || driver == "rocm")
    return; // what a stream is there, their own tests know
  int something = 0;
  EXPECT_FAILS(stream->useCallerStream(&something), VX_UNSUPPORTED, "it takes no stream of the caller's");
}

TEST_P(Driver, unknownEntryPointIsNamed) {
  if (!GetParam().computes)
    GTEST_SKIP() << "no code is loaded";
  Ref<hal::Executable> broken;
  Status status = load("no_such_entry", broken);
  EXPECT_FALSE(status.ok());
  const std::string_view name = GetParam().driver;
  EXPECT_EQ(status.code(), VX_INVALID_MODULE);
  if (name == "cpu")
    EXPECT_EQ(status.message(), "code image has no function 'no_such_entry' for kernel 'gather'");
  else
    EXPECT_NE(status.message().find("'no_such_entry'"), std::string_view::npos) << status.message();
}

TEST_P(Driver, streamsRunSideBySide) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto attempt = [&]() -> Status {
        Ref<hal::Stream> own;
        VX_RETURN_IF_ERROR(device->createStream(own));
        Ref<hal::CommandList> list;
        VX_RETURN_IF_ERROR(own->record({{scaleAddShape()}}, code, list));
        Ref<hal::Memory> x, y;
        VX_RETURN_IF_ERROR(device->allocate(4000, hal::MemoryKind::Device, x));
        VX_RETURN_IF_ERROR(device->allocate(4000, hal::MemoryKind::Device, y));
        std::vector<int32_t> values(1000, t + 1);
        for (int turn = 0; turn < 10; ++turn) {
          VX_RETURN_IF_ERROR(own->upload({x.get(), 0, 4000}, values.data()));
          VX_RETURN_IF_ERROR(own->fillZero({y.get(), 0, 4000}));
          std::vector<BufferView> views = {{x.get(), 0, 4000}, {y.get(), 0, 4000}};
          std::vector<int64_t> scalars = {1000, turn};
          CommandArguments arguments = dispatchArguments(views, scalars, 16);
          VX_RETURN_IF_ERROR(own->replay(*list, {&arguments, 1}, nullptr));
          std::vector<int32_t> result(1000);
          VX_RETURN_IF_ERROR(own->download(views[1], result.data()));
          if (GetParam().computes && result != std::vector<int32_t>(1000, (t + 1) * turn))
            ++wrong;
        }
        return okStatus();
      };
      if (Status status = attempt(); !status.ok())
        ++wrong;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace vx::test
