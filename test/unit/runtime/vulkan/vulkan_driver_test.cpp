// The driver on the first device there is, once through the host's mapping of device memory and once with every
// transfer staged as on a discrete GPU. With VX_VULKAN_VALIDATION=1 whatever the validation layer reports fails the
// test.
#include "vulkan_driver.h"

#include "gather.spv.h"
#include "scale_add.spv.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

using namespace vx;
using hal::BufferView;
using hal::CommandArguments;
using hal::CommandKind;
using hal::CommandShape;

#define EXPECT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    Status expectedOk = (expression);                                                                                  \
    EXPECT_TRUE(expectedOk.ok()) << expectedOk.message();                                                              \
  } while (false)
#define ASSERT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    Status assertedOk = (expression);                                                                                  \
    ASSERT_TRUE(assertedOk.ok()) << assertedOk.message();                                                              \
  } while (false)

static constexpr uint32_t ScaleAdd = 0;
static constexpr uint32_t Gather = 1;

static std::vector<hal::KernelImage> kernelImages() {
  hal::KernelImage scaleAdd{"scale_add_kernel", "scale_add", 2, 2, {64, 1, 1}, scale_add_spirv, {}};
  hal::KernelImage gather{"gather_kernel", "gather", 3, 2, {64, 1, 1}, gather_spirv, {}};
  return {scaleAdd, gather};
}

static hal::CodeImage codeImage(const std::vector<hal::KernelImage> &kernels) {
  hal::CodeImage image;
  image.file = "test.vxm";
  image.variant = "baseline";
  image.kernels = kernels;
  return image;
}

static CommandShape dispatchShape(uint32_t kernel, bool barrier) {
  return {CommandKind::Dispatch, barrier, kernel, kernel == ScaleAdd ? 2u : 3u, 2};
}
static CommandShape copyShape(bool barrier) { return {CommandKind::Copy, barrier, 0, 0, 0}; }

static uint64_t groupsFor(int64_t elements) { return static_cast<uint64_t>((elements + 63) / 64); }

class VulkanDriver : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    vulkan::DriverOptions options;
    options.library = vulkan::LibraryOptions::fromEnvironment();
    options.mapDeviceMemory = GetParam();
    driver = std::make_unique<vulkan::VulkanDriver>(options);
    hal::Refusal refusal = driver->enumerate(devices);
    if (refusal.code != hal::RefusalCode::None)
      GTEST_SKIP() << "no Vulkan device: " << refusal.reason;
    ASSERT_OK(driver->open(0, {}, device));
    kernels = kernelImages();
    ASSERT_OK(device->load(codeImage(kernels), code));
    ASSERT_OK(device->createStream(stream));
  }

  BufferView make(const std::vector<int32_t> &values) {
    Ref<hal::Memory> memory;
    const uint64_t size = values.size() * sizeof(int32_t);
    EXPECT_OK(device->allocate(size, hal::MemoryKind::Device, memory));
    if (!memory)
      return {};
    memories.push_back(memory);
    BufferView view{memory.get(), 0, size};
    EXPECT_OK(stream->upload(view, values.data()));
    return view;
  }

  std::vector<int32_t> read(const BufferView &view) {
    std::vector<int32_t> values(view.size / sizeof(int32_t));
    EXPECT_OK(stream->download(view, values.data()));
    return values;
  }

  std::unique_ptr<vulkan::VulkanDriver> driver;
  std::vector<hal::DeviceInfo> devices;
  Ref<hal::Device> device;
  std::vector<hal::KernelImage> kernels;
  Ref<hal::Executable> code;
  std::vector<Ref<hal::Memory>> memories;
  Ref<hal::Stream> stream;
};

INSTANTIATE_TEST_SUITE_P(Memory, VulkanDriver, testing::Values(true, false),
                         [](const testing::TestParamInfo<bool> &mapped) { return mapped.param ? "mapped" : "staged"; });

TEST_P(VulkanDriver, describesTheDevice) {
  const hal::DeviceInfo &info = device->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_NE(info.details.find("Vulkan 1."), std::string::npos) << info.details;
  EXPECT_GT(info.totalMemory, 0u);
  EXPECT_GT(info.maxAllocation, 0u);
  bool subgroupSize = false;
  for (const std::string &feature : info.features)
    subgroupSize |= feature.rfind("subgroup_size=", 0) == 0;
  EXPECT_TRUE(subgroupSize);
  for (const char *wanted : {"bda", "int64"})
    EXPECT_NE(std::find(info.features.begin(), info.features.end(), wanted), info.features.end()) << wanted;
}

TEST_P(VulkanDriver, unknownDeviceNumber) {
  Ref<hal::Device> other;
  Status status = driver->open(static_cast<uint32_t>(devices.size()), {}, other);
  EXPECT_EQ(status.code(), VX_NO_DEVICE);
  EXPECT_EQ(status.message(), fmt::format("asked for device 'vulkan:{0}', but there are {0}", devices.size()));
}

TEST_P(VulkanDriver, transfersComeBack) {
  for (uint64_t size : {uint64_t(0), uint64_t(1), uint64_t(7), uint64_t(4096), uint64_t(70) << 20}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
    Ref<hal::Memory> memory;
    ASSERT_OK(device->allocate(size + 16, hal::MemoryKind::Device, memory));
    EXPECT_EQ(memory->address() % VX_BUFFER_ALIGNMENT, 0u);
    EXPECT_OK(stream->upload({memory.get(), 5, size}, bytes.data()));
    std::vector<uint8_t> back(size, 0xee);
    EXPECT_OK(stream->download({memory.get(), 5, size}, back.data()));
    EXPECT_TRUE(bytes == back) << size;
  }
}

// The bytes around the range stay, whatever its ends are modulo 4, also while other work is queued.
TEST_P(VulkanDriver, fillZeroAtAnyOffset) {
  for (uint64_t offset = 0; offset < 5; ++offset)
    for (uint64_t size : {0, 1, 2, 3, 4, 5, 8, 11}) {
      std::vector<uint8_t> bytes(32, 0xff);
      Ref<hal::Memory> memory;
      Ref<hal::Memory> other;
      ASSERT_OK(device->allocate(bytes.size(), hal::MemoryKind::Device, memory));
      ASSERT_OK(device->allocate(bytes.size(), hal::MemoryKind::Device, other));
      ASSERT_OK(stream->upload({other.get(), 0, bytes.size()}, bytes.data()));
      ASSERT_OK(stream->copy({other.get(), 0, bytes.size()}, {memory.get(), 0, bytes.size()}));
      ASSERT_OK(stream->fillZero({memory.get(), offset, size}));
      std::vector<uint8_t> want = bytes;
      std::fill_n(want.begin() + static_cast<ptrdiff_t>(offset), size, 0);
      std::vector<uint8_t> back(32);
      ASSERT_OK(stream->download({memory.get(), 0, bytes.size()}, back.data()));
      EXPECT_EQ(back, want) << offset << " " << size;
    }
}

TEST_P(VulkanDriver, dispatchesAnySize) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{dispatchShape(ScaleAdd, false)}}, code, list));
  // The last one needs more than one row of the grid.
  for (int64_t n :
       {int64_t(0), int64_t(1), int64_t(63), int64_t(64), int64_t(65), int64_t(1000), int64_t(64) * VX_GRID_X + 129}) {
    std::vector<int32_t> x(static_cast<size_t>(n));
    std::iota(x.begin(), x.end(), -5);
    std::vector<int32_t> y(x.size(), 11);
    BufferView views[] = {make(x), make(y)};
    const int64_t scalars[] = {n, -3};
    const CommandArguments arguments[] = {{views, scalars, {}, groupsFor(n)}};
    ASSERT_OK(stream->replay(*list, arguments, nullptr));
    std::vector<int32_t> result = read(views[1]);
    for (size_t i = 0; i < x.size(); ++i)
      if (result[i] != x[i] * -3 + 11) {
        ADD_FAILURE() << "n " << n << ", element " << i << ": " << result[i];
        break;
      }
  }
}

// First each grid is in the command buffer, later it is read from memory.
TEST_P(VulkanDriver, gridsThatKeepChanging) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{dispatchShape(ScaleAdd, false)}}, code, list));
  for (int64_t n = 1; n < 64 * 50; n += 64) {
    std::vector<int32_t> x(static_cast<size_t>(n), 1);
    BufferView views[] = {make(x), make(x)};
    const int64_t scalars[] = {n, 2};
    const CommandArguments arguments[] = {{views, scalars, {}, groupsFor(n)}};
    ASSERT_OK(stream->replay(*list, arguments, nullptr));
    EXPECT_EQ(read(views[1]), std::vector<int32_t>(x.size(), 3)) << n;
    memories.clear();
  }
}

TEST_P(VulkanDriver, tooManyWorkgroups) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{dispatchShape(ScaleAdd, false)}}, code, list));
  BufferView views[] = {make({1}), make({2})};
  const int64_t scalars[] = {1, 1};
  const CommandArguments arguments[] = {{views, scalars, {}, uint64_t(1) << 40}};
  Status status = stream->replay(*list, arguments, nullptr);
  EXPECT_EQ(status.code(), VX_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "kernel 'scale_add_kernel' needs 1099511627776 workgroups, but a dispatch has at most 4294836225");
}

// Each replay has its own parameters although none is waited for.
TEST_P(VulkanDriver, replaysQueueUp) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{dispatchShape(ScaleAdd, false), dispatchShape(ScaleAdd, true)}}, code, list));
  const std::vector<int32_t> ones(200, 1);
  BufferView views[] = {make(ones), make(std::vector<int32_t>(200, 0))};
  int32_t want = 0;
  for (int64_t i = 1; i <= 20; ++i) {
    const int64_t scalars[] = {200, i};
    const CommandArguments arguments[] = {{views, scalars, {}, groupsFor(200)}, {views, scalars, {}, groupsFor(200)}};
    ASSERT_OK(stream->replay(*list, arguments, nullptr));
    want += static_cast<int32_t>(2 * i);
  }
  EXPECT_EQ(read(views[1]), std::vector<int32_t>(200, want));
}

// A copy's range belongs to the recording: another range, buffer or size must take effect, and so must an empty one.
TEST_P(VulkanDriver, copiesFollowTheirArguments) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{copyShape(false), dispatchShape(ScaleAdd, true), copyShape(true)}}, code, list));
  for (int round = 0; round < 6; ++round) {
    const int32_t base = round * 100;
    BufferView source = make({base, base + 1, base + 2, base + 3});
    BufferView middle = make({0, 0, 0, 0});
    BufferView result = make({-1, -1, -1, -1});
    const uint64_t count = static_cast<uint64_t>(round % 5);
    const uint64_t bytes = count * sizeof(int32_t);
    const BufferView first[] = {{source.memory, 16 - bytes, bytes}, {middle.memory, 0, bytes}};
    const BufferView views[] = {source, middle};
    const BufferView second[] = {{middle.memory, 0, bytes}, {result.memory, 0, bytes}};
    const int64_t scalars[] = {4, 2};
    const CommandArguments arguments[] = {{first, nullptr, {}, 0}, {views, scalars, {}, 1}, {second, nullptr, {}, 0}};
    ASSERT_OK(stream->replay(*list, arguments, nullptr));
    std::vector<int32_t> want(4, -1);
    for (uint64_t i = 0; i < count; ++i)
      want[i] = base + static_cast<int32_t>(4 - count + i) + 2 * (base + static_cast<int32_t>(i));
    EXPECT_EQ(read(result), want) << round;
    memories.clear();
  }
}

TEST_P(VulkanDriver, emptySegment) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({}, code, list));
  EXPECT_OK(stream->replay(*list, {}, nullptr));
  EXPECT_OK(stream->wait());
}

TEST_P(VulkanDriver, faultsAreReportedAndReset) {
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{dispatchShape(Gather, false)}}, code, list));
  BufferView x = make({10, 20, 30});
  const int64_t scalars[] = {4, 3};
  const BufferView bad[] = {x, make({2, 7, 0, 1}), make({0, 0, 0, 0})};
  const CommandArguments badArguments[] = {{bad, scalars, {}, 1}};
  ASSERT_OK(stream->resetFault());
  ASSERT_OK(stream->replay(*list, badArguments, nullptr));
  vx_fault_record fault{};
  ASSERT_OK(stream->readFault(fault));
  EXPECT_EQ(fault.count, 1u);
  EXPECT_EQ(fault.site, 3u);
  EXPECT_EQ(fault.value, 7);
  EXPECT_EQ(fault.lower, 0);
  EXPECT_EQ(fault.upper, 3);
  EXPECT_EQ(read(bad[2]), (std::vector<int32_t>{30, 30, 10, 20}));

  const BufferView negative[] = {x, make({2, -4, 0, 1}), make({0, 0, 0, 0})};
  const CommandArguments negativeArguments[] = {{negative, scalars, {}, 1}};
  ASSERT_OK(stream->resetFault());
  ASSERT_OK(stream->replay(*list, negativeArguments, nullptr));
  ASSERT_OK(stream->readFault(fault));
  EXPECT_EQ(fault.count, 1u);
  EXPECT_EQ(fault.value, -4);
  EXPECT_EQ(read(negative[2]), (std::vector<int32_t>{30, 10, 10, 20}));

  const BufferView good[] = {x, make({2, 1, 0, 1}), make({0, 0, 0, 0})};
  const CommandArguments goodArguments[] = {{good, scalars, {}, 1}};
  ASSERT_OK(stream->resetFault());
  ASSERT_OK(stream->replay(*list, goodArguments, nullptr));
  ASSERT_OK(stream->readFault(fault));
  EXPECT_EQ(fault.count, 0u);
  EXPECT_EQ(read(good[2]), (std::vector<int32_t>{30, 20, 10, 20}));
}

TEST_P(VulkanDriver, outOfMemoryNamesBothSizes) {
  Ref<hal::Memory> memory;
  const uint64_t limit = device->info().maxAllocation;
  Status status = device->allocate(limit + 4, hal::MemoryKind::Device, memory);
  EXPECT_EQ(status.code(), VX_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), fmt::format("asked for {} bytes, but device '{}' allows at most {} in one buffer",
                                          limit + 4, device->info().name, limit));
  EXPECT_FALSE(memory);
  EXPECT_OK(device->allocate(4096, hal::MemoryKind::Device, memory));
}

TEST_P(VulkanDriver, badCodeNamesTheKernel) {
  Ref<hal::Executable> loaded;
  std::vector<hal::KernelImage> images = kernels;
  images[1].entry = "main";
  Status status = device->load(codeImage(images), loaded);
  EXPECT_EQ(status.code(), VX_INVALID_MODULE);
  EXPECT_EQ(status.message(), "test.vxm: kernel 'gather_kernel' of variant 'baseline': its SPIR-V has no compute entry "
                              "point 'main', it has 'gather'");

  images = kernels;
  images[0].code = images[0].code.subspan(0, 101);
  status = device->load(codeImage(images), loaded);
  EXPECT_EQ(status.code(), VX_INVALID_MODULE);
  EXPECT_EQ(status.message(),
            "test.vxm: kernel 'scale_add_kernel' of variant 'baseline': its 101 bytes of code are no SPIR-V");

  images = kernels;
  images[0].workgroupSize[0] = 1 << 20;
  status = device->load(codeImage(images), loaded);
  EXPECT_EQ(status.code(), VX_UNSUPPORTED);
  EXPECT_NE(status.message().find("its workgroup has 1048576 threads"), std::string::npos) << status.message();
  EXPECT_FALSE(loaded);
}

TEST_P(VulkanDriver, timesCommands) {
  Ref<hal::CommandList> list;
  ASSERT_OK(
      stream->record({{dispatchShape(ScaleAdd, false), copyShape(true), dispatchShape(ScaleAdd, false)}}, code, list));
  const int64_t n = 100000;
  BufferView views[] = {make(std::vector<int32_t>(n, 1)), make(std::vector<int32_t>(n, 2))};
  BufferView other = make(std::vector<int32_t>(n, 0));
  const BufferView copy[] = {views[1], other};
  const int64_t scalars[] = {n, 1};
  const CommandArguments arguments[] = {
      {views, scalars, {}, groupsFor(n)}, {copy, nullptr, {}, 0}, {views, scalars, {}, groupsFor(n)}};
  for (int round = 0; round < 3; ++round) {
    int64_t timings[3] = {-2, -2, -2};
    ASSERT_OK(stream->replay(*list, arguments, timings));
    for (int64_t time : timings)
      EXPECT_GE(time, -1);
  }
  EXPECT_EQ(read(views[1])[n - 1], 8);
  EXPECT_EQ(read(other)[0], 7);
}

// Four streams of one device at once, each with its own buffers, share the queue and the code.
TEST_P(VulkanDriver, streamsOnFourThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Ref<hal::Stream> own;
      Ref<hal::CommandList> list;
      Ref<hal::Memory> x;
      Ref<hal::Memory> y;
      constexpr int64_t n = 3000;
      const uint64_t bytes = n * sizeof(int32_t);
      std::vector<int32_t> values(n, thread + 1);
      auto work = [&]() -> Status {
        VX_RETURN_IF_ERROR(device->createStream(own));
        VX_RETURN_IF_ERROR(own->record({{dispatchShape(ScaleAdd, false), dispatchShape(ScaleAdd, true)}}, code, list));
        VX_RETURN_IF_ERROR(device->allocate(bytes, hal::MemoryKind::Device, x));
        VX_RETURN_IF_ERROR(device->allocate(bytes, hal::MemoryKind::Device, y));
        for (int round = 0; round < 25; ++round) {
          VX_RETURN_IF_ERROR(own->resetFault());
          VX_RETURN_IF_ERROR(own->upload({x.get(), 0, bytes}, values.data()));
          VX_RETURN_IF_ERROR(own->fillZero({y.get(), 0, bytes}));
          const BufferView views[] = {{x.get(), 0, bytes}, {y.get(), 0, bytes}};
          const int64_t scalars[] = {n, 10 + round};
          const CommandArguments arguments[] = {{views, scalars, {}, groupsFor(n)}, {views, scalars, {}, groupsFor(n)}};
          VX_RETURN_IF_ERROR(own->replay(*list, arguments, nullptr));
          std::vector<int32_t> result(n);
          VX_RETURN_IF_ERROR(own->download({y.get(), 0, bytes}, result.data()));
          if (result == std::vector<int32_t>(n, 2 * (thread + 1) * (10 + round)))
            ++right;
        }
        return okStatus();
      };
      EXPECT_OK(work());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 100);
}

// Proof that a report of the validation layer is not lost: a copy beyond the end of a buffer fails its call.
TEST(VulkanValidation, reportsFailTheCall) {
  vulkan::DriverOptions options;
  options.library.validation = true;
  vulkan::VulkanDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver.enumerate(devices);
  if (refusal.code != hal::RefusalCode::None)
    GTEST_SKIP() << "no Vulkan device with validation: " << refusal.reason;
  Ref<hal::Device> device;
  Ref<hal::Stream> stream;
  Ref<hal::Memory> small;
  Ref<hal::Memory> large;
  ASSERT_OK(driver.open(0, {}, device));
  ASSERT_OK(device->createStream(stream));
  ASSERT_OK(device->allocate(64, hal::MemoryKind::Device, small));
  ASSERT_OK(device->allocate(256, hal::MemoryKind::Device, large));
  Ref<hal::CommandList> list;
  ASSERT_OK(stream->record({{copyShape(false)}}, nullptr, list));
  const BufferView views[] = {{large.get(), 0, 64}, {small.get(), 64, 64}};
  const CommandArguments arguments[] = {{views, nullptr, {}, 0}};
  // The layer speaks up while the command is recorded, before anything could run.
  Status status = stream->replay(*list, arguments, nullptr);
  EXPECT_EQ(status.code(), VX_INTERNAL);
  EXPECT_EQ(status.message().find("Vulkan validation: "), 0u) << status.message();
  // Nobody else is to trip over it.
  while (!stream->wait().ok())
    continue;
}
