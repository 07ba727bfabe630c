// What only the CUDA driver does.
#include "gpu/gpu_driver_test.h"

#include "assembled_code.h"

#include <filesystem>
#include <fstream>

namespace vx::test {

class CudaDriver : public GpuTest<Cuda> {
protected:
  void SetUp() override {
    GpuTest<Cuda>::SetUp();
    folder = scratchPath(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    options.assemblers = 1;
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    GpuTest<Cuda>::TearDown();
  }

  std::string folder;
};

//===-- Devices -------------------------------------------------------------------------------===//

TEST_F(CudaDriver, devicesAndTheirFacts) {
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  EXPECT_EQ(driver.enumerate(devices).code, RefusalCode::None);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].details, "compute capability 9.0, 132 multiprocessors, driver of CUDA 12.2");
  auto has = [&](const char *feature) {
    return std::find(devices[0].features.begin(), devices[0].features.end(), feature) != devices[0].features.end();
  };
  EXPECT_TRUE(has("sm_80"));
  EXPECT_TRUE(has("sm_90"));
  EXPECT_TRUE(has("sm_90a"));
  EXPECT_FALSE(has("sm_100"));
  EXPECT_TRUE(has("ptx76"));
  EXPECT_TRUE(has("ptx82"));
  EXPECT_FALSE(has("ptx83"));
  EXPECT_TRUE(has("shared_memory=49152"));
}

TEST_F(CudaDriver, codeOfOneGenerationIsForThatOneOnly) {
  gpu->capability = 100;
  cuda::CudaDriver driver(options);
  std::vector<hal::DeviceInfo> devices;
  driver.enumerate(devices);
  const std::vector<std::string> &features = devices.at(0).features;
  EXPECT_EQ(std::find(features.begin(), features.end(), "sm_90a"), features.end());
  EXPECT_NE(std::find(features.begin(), features.end(), "sm_100a"), features.end());
}

TEST_F(CudaDriver, deviceThatCannotBeLookedAt) {
  gpu->deviceCount = 1;
  for (const char *function : {"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute"}) {
    gpu->fail(function, 3);
    EXPECT_EQ(refusal().reason,
              fmt::format("device 0: {} failed with CUDA_ERROR_OTHER (as the test wanted)", function));
    gpu->failures.clear();
  }
}

TEST_F(CudaDriver, deviceThatLacksSomething) {
  gpu->deviceCount = 1;
  gpu->isUnified = false;
  EXPECT_EQ(refusal().reason, "device 0: 'Stand-in 0' lacks unified addressing");
  gpu->hasPools = false;
  EXPECT_EQ(refusal().reason, "device 0: 'Stand-in 0' lacks memory pools");
}

TEST_F(CudaDriver, contextThatDoesNotOpen) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  gpu->fail("cuDevicePrimaryCtxRetain", 2);
  EXPECT_FAILS(driver.open(1, {}, device), VX_OUT_OF_MEMORY,
               "device 'Stand-in 1': cuDevicePrimaryCtxRetain failed with CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(gpu->count("cuDevicePrimaryCtxRetain 1"), 1);
}

//===-- Code ----------------------------------------------------------------------------------===//

TEST_F(CudaDriver, assemblerErrorsHaveItsLog) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  gpu->jitLog = "ptxas application ptx input, line 5; fatal : Parsing error near 'x'\n";
  gpu->fail("cuLinkAddData", 218);
  Ref<hal::Executable> code;
  Status status = load(*device, "sm_80", code);
  EXPECT_EQ(status.message(), "code 'sm_80' of 'm.vxm': kernel 'scale and add': cuLinkAddData failed with "
                              "CUDA_ERROR_OTHER (as the test wanted): ptxas application ptx input, line 5; fatal : "
                              "Parsing error near 'x'");
  gpu->failures.clear();
  gpu->fail("cuLinkComplete", 218);
  status = load(*device, "sm_80", code);
  EXPECT_EQ(status.message().find("code 'sm_80' of 'm.vxm': cuLinkComplete failed with "), 0u) << status.message();
}

TEST_F(CudaDriver, generationIsNamedToTheAssembler) {
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  Ref<hal::Executable> code;
  ASSERT_OK(load(*device, "sm_80", code));
  EXPECT_EQ(gpu->count("cuLinkCreate 0"), 1);
  ASSERT_OK(load(*device, "sm_90a", code));
  EXPECT_EQ(gpu->count("cuLinkCreate 65626"), 1);
}

TEST_F(CudaDriver, assembledCodeIsKeptOnDisk) {
  options.cacheFolder = folder;
  auto loadOnce = [&](const char *variant) {
    cuda::CudaDriver driver(options);
    Ref<hal::Device> device;
    ASSERT_OK(driver.open(0, {}, device));
    Ref<hal::Executable> code;
    ASSERT_OK(load(*device, variant, code));
  };
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 1);
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 1) << "taken from the disk";
  // Another variant, another driver, another GPU: assembled anew.
  loadOnce("sm_90a");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 2);
  gpu->version = 12030;
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 3);
  gpu->capability = 89;
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 4);
  // A damaged file is as good as none.
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    EXPECT_EQ(entry.path().extension(), ".cubin");
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    file.put('?');
  }
  EXPECT_EQ(files, 4u);
  loadOnce("sm_80");
  EXPECT_EQ(gpu->count("cuLinkComplete"), 5);
  // A folder that cannot be written is no error.
  options.cacheFolder = "/proc/nothing";
  loadOnce("sm_80");
}

// Kernels are assembled in parts, each in a thread of its own, and found in the module of their part.
TEST_F(CudaDriver, partsAreAssembledAtOnce) {
  options.cacheFolder = folder;
  options.assemblers = 8;
  gpu->linksAtOnce = 2;
  auto loadOnce = [&] {
    cuda::CudaDriver driver(options);
    Opened opened;
    ASSERT_OK(driver.open(0, {}, opened.device));
    gpu->forget();
    ASSERT_OK(load(*opened.device, "sm_80", opened.code));
    ASSERT_OK(opened.device->createStream(opened.stream));
    ASSERT_OK(opened.stream->resetFault());
    Ref<hal::Memory> memories[3];
    const BufferView x = opened.allocate({1, 2, 3, 4}, memories[0]), y = opened.allocate({10, 20, 30, 40}, memories[1]),
                     places = opened.allocate({3, 2, 1, 0}, memories[2]);
    // y += 2 x by the first kernel, then x[places] by the second one.
    hal::SegmentShape shape;
    shape.commands = {{CommandKind::Dispatch, true, 0, 2, 2}, {CommandKind::Dispatch, true, 1, 3, 2}};
    Ref<hal::CommandList> list;
    ASSERT_OK(opened.stream->record(shape, opened.code, list));
    Ref<hal::Memory> resultMemory;
    const BufferView result = opened.allocate({0, 0, 0, 0}, resultMemory);
    const BufferView first[] = {x, y}, second[] = {y, places, result};
    const int64_t firstScalars[] = {4, 2}, secondScalars[] = {4, 4};
    const CommandArguments arguments[] = {{first, firstScalars, {}, 1, 0}, {second, secondScalars, {}, 1, 0}};
    ASSERT_OK(opened.stream->replay(*list, arguments, nullptr));
    EXPECT_EQ(opened.read(result), (std::vector<int32_t>{48, 36, 24, 12}));
  };
  loadOnce();
  EXPECT_EQ(gpu->mostOpenLinks, 2);
  EXPECT_EQ(gpu->count("cuLinkComplete"), 2);
  EXPECT_EQ(gpu->count("cuModuleLoadDataEx"), 2);
  // From the disk: nothing is assembled, by any number of threads.
  options.assemblers = 1;
  loadOnce();
  EXPECT_EQ(gpu->count("cuLink"), 0);
  EXPECT_EQ(gpu->count("cuModuleLoadDataEx"), 2);
  // Code that the driver refuses is made anew.
  gpu->fail("cuModuleLoadDataEx", 200, /*after=*/1);
  {
    cuda::CudaDriver driver(options);
    Ref<hal::Device> device;
    ASSERT_OK(driver.open(0, {}, device));
    Ref<hal::Executable> code;
    gpu->forget();
    EXPECT_FALSE(load(*device, "sm_80", code).ok()); // the new one is refused too
    EXPECT_EQ(gpu->count("cuLinkComplete"), 1);
    EXPECT_EQ(gpu->count("cuModuleUnload"), 1);
  }
  gpu->failures.clear();
  loadOnce();
}

// If several parts of the code fail to assemble, the call fails with the error of the first one, and all threads that
// assembled have ended.
TEST_F(CudaDriver, everyPartMayFail) {
  options.assemblers = 2;
  cuda::CudaDriver driver(options);
  Ref<hal::Device> device;
  ASSERT_OK(driver.open(0, {}, device));
  Ref<hal::Executable> code;
  for (int after : {0, 1}) {
    gpu->fail("cuLinkComplete", 218, after);
    EXPECT_EQ(load(*device, "sm_80", code).message().find("code 'sm_80' of 'm.vxm': cuLinkComplete failed with "), 0u);
    EXPECT_EQ(gpu->openLinks, 0);
  }
}

//===-- What the assembler says of code -------------------------------------------------------===//

class SlowCode : public CudaDriver {
protected:
  static constexpr const char *spilled = "ptxas info    : Compiling entry function 'scale_add' for 'sm_90'\n"
                                         "ptxas info    : Function properties for scale_add\n"
                                         "    8 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads\n"
                                         "ptxas info    : Used 255 registers\n";
  static constexpr const char *quiet = "ptxas info    : Function properties for gather\n"
                                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  static constexpr const char *advice = "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions "
                                        "are serialized due to insufficient register resources in function 'gather'\n";

  Status loadOnce() {
    cuda::CudaDriver driver(options);
    Ref<hal::Device> device;
    VX_RETURN_IF_ERROR(driver.open(0, {}, device));
    Ref<hal::Executable> code;
    warnings.clear();
    vx_set_log(
        [](void *user, vx_log_level level, const char *message) {
          if (level == VX_LOG_WARNING)
            static_cast<std::vector<std::string> *>(user)->push_back(message);
        },
        &warnings, VX_LOG_WARNING);
    Status status = load(*device, "sm_80", code);
    vx_set_log(nullptr, nullptr, VX_LOG_WARNING);
    return status;
  }
  std::vector<std::string> warnings;
};

TEST_F(SlowCode, isAWarning) {
  for (uint32_t assemblers : {1, 2}) {
    options.assemblers = assemblers;
    gpu->jitInfo = {{"scale_add", spilled}, {"gather", quiet}};
    ASSERT_OK(loadOnce());
    EXPECT_EQ(warnings,
              std::vector<std::string>{
                  "m.vxm: kernel 'scale and add' of variant 'sm_80' is slower than it could be: the assembler "
                  "says '8 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads'"});
    gpu->jitInfo = {{"gather", advice}};
    ASSERT_OK(loadOnce());
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(
        warnings[0].starts_with("m.vxm: kernel 'gather rows' of variant 'sm_80' is slower than it could be: the "
                                "assembler says 'ptxas info : (C7510) Potential Performance Loss"))
        << warnings[0];
    gpu->jitInfo = {{"gather", quiet}};
    ASSERT_OK(loadOnce());
    EXPECT_TRUE(warnings.empty());
  }
}

// Code that was stored without a check is assembled again, and slow code is never stored as checked.
TEST_F(SlowCode, isAnErrorWhereItIsChecked) {
  options.cacheFolder = folder;
  gpu->jitInfo = {{"scale_add", spilled}};
  ASSERT_OK(loadOnce());
  EXPECT_EQ(warnings.size(), 1u);
  options.checksCode = true;
  for (int turn = 0; turn < 2; ++turn)
    EXPECT_FAILS(
        loadOnce(), VX_UNSUPPORTED,
        "code 'sm_80' of 'm.vxm': kernel 'scale and add': the assembler says '8 bytes stack frame, 4 bytes spill "
        "stores, 0 bytes spill loads', which VX_CHECK_CODE makes an error");
  gpu->jitInfo.clear();
  ASSERT_OK(loadOnce());
  EXPECT_TRUE(warnings.empty());
}

TEST_F(SlowCode, isCheckedByTheEnvironment) {
  unsetenv("VX_CHECK_CODE");
  EXPECT_FALSE(cuda::DriverOptions::fromEnvironment().checksCode);
  for (auto [text, checks] : {std::pair("1", true), {"0", false}, {"", false}, {"yes", true}}) {
    setenv("VX_CHECK_CODE", text, 1);
    EXPECT_EQ(cuda::DriverOptions::fromEnvironment().checksCode, checks) << text;
  }
  unsetenv("VX_CHECK_CODE");
}

TEST(Findings, ofALog) {
  auto texts = [](std::string_view log) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const cuda::CodeFinding &one : cuda::findingsOf(log))
      found.emplace_back(one.entry, one.text);
    return found;
  };
  using Found = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(texts(""), Found());
  EXPECT_EQ(texts("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), Found());
  EXPECT_EQ(texts("Function properties for a\n 10 bytes spill stores, 0 bytes spill loads\r\n"),
            (Found{{"a", "10 bytes spill stores, 0 bytes spill loads"}}));
  EXPECT_EQ(texts("Compiling entry function 'a' for 'sm_90'\n0 bytes spill stores, 100 bytes spill loads"),
            (Found{{"a", "0 bytes spill stores, 100 bytes spill loads"}}));
  EXPECT_EQ(texts("info : (C7519) warpgroup.arrive is injected in around line 3 by compiler"),
            (Found{{"", "info : (C7519) warpgroup.arrive is injected in around line 3 by compiler"}}));
  // Other codes, and other numbers.
  EXPECT_EQ(texts("C7410, C75, C751, C75101, XC7 5"), Found());
  EXPECT_EQ(texts(std::string_view("C7510\0C7511", 11)), (Found{{"", "C7510"}}));
}

TEST(Parts, areOfEqualLength) {
  const std::vector<uint8_t> text(100);
  std::vector<hal::KernelImage> kernels(6);
  const size_t sizes[] = {10, 50, 20, 40, 30, 0};
  for (size_t i = 0; i < 6; ++i)
    kernels[i].code = {text.data(), sizes[i]};
  using Shares = std::vector<std::vector<uint32_t>>;
  EXPECT_EQ(cuda::shareKernels(kernels, 1), (Shares{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(cuda::shareKernels(kernels, 0), (Shares{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(cuda::shareKernels(kernels, 2), (Shares{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(cuda::shareKernels(kernels, 100).size(), 6u);
  EXPECT_EQ(cuda::shareKernels({}, 4), Shares());
}

TEST(Parts, areReadFromBytesThatHaveEachKernelOnce) {
  const std::vector<cuda::AssembledPart> parts = {{{2, 0}, {1, 2, 3}}, {{1}, {}}};
  const std::vector<uint8_t> bytes = cuda::packParts(parts);
  const auto read = cuda::unpackParts(bytes, 3);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].kernels, parts[0].kernels);
  EXPECT_EQ((*read)[0].cubin, parts[0].cubin);
  EXPECT_EQ((*read)[1].kernels, parts[1].kernels);
  EXPECT_FALSE(cuda::unpackParts(bytes, 2));
  EXPECT_FALSE(cuda::unpackParts(bytes, 4));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(cuda::unpackParts({bytes.data(), size}, 3)) << size;
  // Every number of it changed.
  for (size_t at = 0; at < bytes.size(); at += 8)
    for (uint8_t value : {uint8_t(0xff), uint8_t(0), uint8_t(1), uint8_t(2)}) {
      std::vector<uint8_t> changed = bytes;
      changed[at] = value;
      if (const auto other = cuda::unpackParts(changed, 3)) {
        std::vector<bool> found(3);
        for (const cuda::AssembledPart &part : *other)
          for (uint32_t kernel : part.kernels)
            found[kernel] = true;
        EXPECT_EQ(found, std::vector<bool>(3, true));
      }
    }
}

} // namespace vx::test
