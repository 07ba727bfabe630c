// Device choice is a contract: what is tried, in which order, and what the report says of each refusal.
#include "programs.h"
#include "runtime_test.h"

#include <cstdlib>

namespace vx::test {

namespace {

// Devices of any kind that are what the test says.
class FakeDriver final : public hal::Driver {
public:
  FakeDriver(std::string name, std::vector<std::vector<std::string>> deviceFeatures)
      : driverName(std::move(name)), features(std::move(deviceFeatures)) {}

  std::string_view name() const override { return driverName; }
  std::string_view target() const override { return driverName; }
  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override {
    ++asked;
    for (size_t i = 0; i < features.size(); ++i) {
      hal::DeviceInfo &info = devices.emplace_back();
      info.name = fmt::format("fake {}", i);
      info.features = features[i];
      info.details = details;
      info.isSoftware = software;
    }
    if (devices.empty())
      return {hal::RefusalCode::NoLibrary, "libfake.so.1 could not be opened: no such file"};
    return {};
  }
  Status open(uint32_t index, const hal::DeviceOptions &, Ref<hal::Device> &device) override {
    if (failing)
      return failure(VX_DEVICE_LOST, "fake device {} is broken", index);
    class Device final : public hal::Device {
    public:
      const hal::DeviceInfo &info() const override { return deviceInfo; }
      Status allocate(uint64_t size, hal::MemoryKind, Ref<hal::Memory> &memory) override {
        memory = makeRef<hal::Memory>(64, size, nullptr);
        return okStatus();
      }
      Status load(const hal::CodeImage &, Ref<hal::Executable> &) override { return okStatus(); }
      Status createStream(Ref<hal::Stream> &stream) override {
        Ref<hal::Device> null;
        VX_RETURN_IF_ERROR(findDriver(allDrivers(), "null")->open(0, {}, null));
        return null->createStream(stream);
      }
      hal::DeviceInfo deviceInfo;
    };
    auto opened = makeRef<Device>();
    opened->deviceInfo.name = fmt::format("fake {}", index);
    opened->deviceInfo.features = features[index];
    opened->deviceInfo.details = details;
    device = std::move(opened);
    return okStatus();
  }

  std::string driverName;
  std::vector<std::vector<std::string>> features;
  std::string details;
  bool failing = false;
  bool software = false;
  int asked = 0;
};

class DeviceChoice : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("VX_DEVICE_ORDER");
    addAffine(builder, 64);
    builder.addCpuTarget({"avx2", "fma"});
    addVariant("baseline", {"sse2"});
  }
  void addVariant(const std::string &name, std::vector<std::string> requirements) {
    format::TargetT &target = *builder.module.targets[0];
    auto variant = std::make_unique<format::VariantT>(*target.variants[0]);
    variant->name = name;
    variant->requires_ = std::move(requirements);
    target.variants[0]->name = "fast";
    target.variants.push_back(std::move(variant));
  }
  Status choose(const char *device, const char *order = nullptr, bool noFallback = false, const char *variant = "") {
    instance = nullptr;
    std::vector<hal::Driver *> drivers = {&cpu, &vulkan, findDriver(allDrivers(), "null")};
    drivers.insert(drivers.end(), more.begin(), more.end());
    DeviceRequest request;
    VX_RETURN_IF_ERROR(parseDeviceRequest(device, order, drivers, request));
    request.noFallback = noFallback;
    request.variant = variant;
    Ref<Module> module;
    VX_RETURN_IF_ERROR(Module::load(path = builder.write("choice.vxm"), module));
    return Instance::create(std::move(module), request, drivers, instance);
  }
  const TakenDevice &taken() { return *instance->report().taken; }

  ModuleBuilder builder;
  FakeDriver cpu{"cpu", {{"sse2", "avx2", "fma"}}};
  FakeDriver vulkan{"vulkan", {}};
  std::vector<hal::Driver *> more;
  Ref<Instance> instance;
  std::string path;
};

} // namespace

TEST_F(DeviceChoice, autoTakesTheFirstThatWorksAndReportsTheRest) {
  ASSERT_OK(choose("auto"));
  EXPECT_EQ(taken().backend, "cpu");
  EXPECT_EQ(taken().variant, "fast");
  EXPECT_EQ(instance->report().text(),
            "device asked for: auto\n"
            "device order: cuda, rocm, vulkan, cpu\n"
            "device taken: cpu:0 (fake 0), code: cpu fast\n"
            "device refused: cuda: this runtime was built without the driver 'cuda', it has: cpu, vulkan, null "
            "[no_driver]\n"
            "device refused: rocm: this runtime was built without the driver 'rocm', it has: cpu, vulkan, null "
            "[no_driver]\n"
            "device refused: vulkan: the module has no code for 'vulkan', it has: cpu [no_code]\n");
  EXPECT_EQ(
      instance->report().json(),
      "{\"version\":1,\"wanted\":\"auto\",\"order\":[\"cuda\",\"rocm\",\"vulkan\",\"cpu\"],\"no_fallback\":false,"
      "\"taken\":{\"backend\":\"cpu\",\"device\":\"cpu:0\",\"name\":\"fake 0\",\"details\":\"\",\"target\":"
      "\"cpu\",\"variant\":\"fast\",\"threads\":0},\"refused\":[{\"device\":\"cuda\",\"code\":\"no_driver\","
      "\"reason\":\"this runtime was built without the driver 'cuda', it has: cpu, vulkan, null\"},{\"device\":"
      "\"rocm\",\"code\":\"no_driver\",\"reason\":\"this runtime was built without the driver 'rocm', it has: cpu, "
      "vulkan, null\"},{\"device\":\"vulkan\",\"code\":\"no_code\",\"reason\":\"the module "
      "has no code for 'vulkan', it has: cpu\"}]}");
}

// That a module has no code for a device is no reason where there is none.
TEST_F(DeviceChoice, explainedReportsSayWhatIsAbsent) {
  ASSERT_OK(choose("auto"));
  EXPECT_EQ(vulkan.asked, 0);
  const std::vector<hal::Driver *> drivers = {&cpu, &vulkan};
  DeviceReport report = instance->report();
  report.explain(drivers);
  EXPECT_EQ(report.reasons(), "cuda: this runtime was built without the driver 'cuda', it has: cpu, vulkan, null; "
                              "rocm: this runtime was built without the driver 'rocm', it has: cpu, vulkan, null; "
                              "vulkan: libfake.so.1 could not be opened: no such file");
  EXPECT_NE(report.text().find("no such file [no_library]\n"), std::string::npos) << report.text();
  vulkan.features = {{}};
  report = instance->report();
  report.explain(drivers);
  EXPECT_TRUE(report.reasons().ends_with("vulkan: the module has no code for 'vulkan', it has: cpu"))
      << report.reasons();

  vulkan.features = {};
  const Status status = choose("vulkan:1", nullptr, true);
  EXPECT_EQ(status.message(),
            path + ": no device for 'vulkan:1': vulkan:1: libfake.so.1 could not be opened: no such file");
}

// Each target has schedules for a class of chips.
TEST_F(DeviceChoice, targetOfANameIsTheFirstThatHasAVariant) {
  builder.addCpuTarget({"amx"});
  std::rotate(builder.module.targets.begin(), builder.module.targets.end() - 1, builder.module.targets.end());
  ASSERT_OK(choose("cpu"));
  EXPECT_EQ(taken().variant, "fast");
  cpu.features = {{"sse2", "avx2", "fma", "amx"}};
  ASSERT_OK(choose("cpu"));
  EXPECT_EQ(&instance->target(), &instance->data().targets[0]);
  cpu.features = {{}};
  EXPECT_FAILS(choose("cpu", nullptr, true), VX_NO_DEVICE,
               path + ": no device for 'cpu': cpu:0: the device lacks what the code needs: 'baseline' needs amx; the "
                      "device lacks what the code needs: 'fast' needs avx2, fma; 'baseline' needs sse2");
}

TEST_F(DeviceChoice, variantIsTheFirstWhoseRequirementsHold) {
  cpu.features = {{"sse2"}};
  ASSERT_OK(choose("cpu"));
  EXPECT_EQ(taken().variant, "baseline");
  cpu.features = {{"avx2"}};
  EXPECT_FAILS(choose("cpu", nullptr, true), VX_NO_DEVICE,
               path + ": no device for 'cpu': cpu:0: the device lacks what the code needs: 'fast' needs fma; "
                      "'baseline' needs sse2");
  cpu.features = {{"sse2", "avx2", "fma"}};
  ASSERT_OK(choose("cpu", nullptr, true, "baseline"));
  EXPECT_EQ(taken().variant, "baseline");
  EXPECT_FAILS(choose("cpu", nullptr, true, "avx512"), VX_NO_DEVICE,
               path + ": no device for 'cpu': cpu:0: the module has no variant 'avx512' for 'cpu', it has: fast, "
                      "baseline");
}

TEST_F(DeviceChoice, unknownGpuIsNamedWithTheVariantsThereAre) {
  FakeDriver rocm{"rocm", {{"gfx906"}, {"gfx942"}}};
  rocm.details = "gfx906, 60 compute units, HIP 6.2";
  more = {&rocm};
  format::TargetT &target = *builder.module.targets[0];
  target.name = "rocm";
  target.variants[0]->name = "gfx942";
  target.variants[0]->requires_ = {"gfx942"};
  target.variants[1]->name = "gfx1100";
  target.variants[1]->requires_ = {"gfx1100"};
  EXPECT_FAILS(choose("rocm:0", nullptr, true), VX_NO_DEVICE,
               path + ": no device for 'rocm:0': rocm:0: the device (gfx906, 60 compute units, HIP 6.2) lacks what the "
                      "code needs: 'gfx942' needs gfx942; 'gfx1100' needs gfx1100");
  ASSERT_OK(choose("rocm"));
  EXPECT_EQ(taken().index, 1u);
  EXPECT_EQ(taken().variant, "gfx942");
}

TEST_F(DeviceChoice, everyDeviceOfABackendIsTried) {
  cpu.features = {{}, {"sse2"}};
  ASSERT_OK(choose("cpu"));
  EXPECT_EQ(taken().index, 1u);
  EXPECT_EQ(instance->report().refused.size(), 1u);
  EXPECT_EQ(instance->report().refused[0].device, "cpu:0");
  ASSERT_OK(choose("cpu:1"));
  EXPECT_TRUE(instance->report().refused.empty());
  EXPECT_FAILS(choose("cpu:2", nullptr, true), VX_NO_DEVICE,
               path + ": no device for 'cpu:2': cpu:2: device 2 does not exist, there are 2");
}

TEST_F(DeviceChoice, missingLibraryAndBrokenDevice) {
  builder.module.targets.push_back(std::make_unique<format::TargetT>(*builder.module.targets[0]));
  builder.module.targets[1]->name = "vulkan";
  ASSERT_OK(choose("vulkan"));
  EXPECT_EQ(taken().backend, "cpu");
  ASSERT_FALSE(instance->report().refused.empty());
  EXPECT_EQ(instance->report().refused[0].refusal.code, hal::RefusalCode::NoLibrary);
  EXPECT_EQ(instance->report().refused[0].refusal.reason, "libfake.so.1 could not be opened: no such file");
  vulkan.features = {{"sse2"}};
  vulkan.failing = true;
  EXPECT_FAILS(choose("vulkan", nullptr, true), VX_NO_DEVICE,
               path + ": no device for 'vulkan': vulkan:0: fake device 0 is broken");
}

TEST_F(DeviceChoice, softwareIsTakenByNameOrWhenNothingElseIsLeft) {
  builder.module.targets.push_back(std::make_unique<format::TargetT>(*builder.module.targets[0]));
  builder.module.targets[1]->name = "vulkan";
  vulkan.features = {{"sse2"}};
  vulkan.software = true;
  ASSERT_OK(choose("auto"));
  EXPECT_EQ(taken().backend, "cpu");
  EXPECT_EQ(instance->report().refused.back().device, "vulkan:0");
  EXPECT_EQ(instance->report().refused.back().refusal.code, hal::RefusalCode::Software);
  EXPECT_EQ(instance->report().refused.back().refusal.reason,
            "'fake 0' is a software device, taken only by name or when nothing else is left");
  ASSERT_OK(choose("vulkan"));
  EXPECT_EQ(taken().backend, "vulkan");
  cpu.features = {{}};
  ASSERT_OK(choose("auto"));
  EXPECT_EQ(taken().backend, "vulkan");
}

TEST_F(DeviceChoice, reportOfNothingTaken) {
  DeviceReport report;
  report.request.device = "vulkan";
  report.request.order = {"vulkan", "cpu"};
  report.request.noFallback = true;
  report.refused.push_back({"vulkan", {hal::RefusalCode::NoDevice, "there is none"}});
  EXPECT_EQ(report.text(), "device asked for: vulkan (no fallback)\n"
                           "device order: vulkan, cpu\n"
                           "device taken: none\n"
                           "device refused: vulkan: there is none [no_device]\n");
  report.taken = TakenDevice{"cpu", 0, "some processor", "", "cpu", "baseline", 7, std::nullopt};
  EXPECT_NE(report.text().find("device taken: cpu:0 (some processor), code: cpu baseline, threads: 7\n"),
            std::string::npos)
      << report.text();
}

TEST_F(DeviceChoice, noFallbackTriesOneThing) {
  vulkan.features = {{}}; // there is one, which is not asked of what this module lacks
  Status status = choose("vulkan", nullptr, true);
  EXPECT_EQ(status.code(), VX_NO_DEVICE);
  EXPECT_EQ(status.message(),
            path + ": no device for 'vulkan': vulkan: the module has no code for 'vulkan', it has: cpu");
  EXPECT_EQ(
      status.report(),
      "{\"version\":1,\"wanted\":\"vulkan\",\"order\":[\"cuda\",\"rocm\",\"vulkan\",\"cpu\"],\"no_fallback\":true,"
      "\"taken\":null,\"refused\":[{\"device\":\"vulkan\",\"code\":\"no_code\",\"reason\":\"the module has no "
      "code for 'vulkan', it has: cpu\"}]}");
  EXPECT_EQ(cpu.asked, 0);
  // With "auto" it is the first of the order.
  EXPECT_FAILS(
      choose("auto", nullptr, true), VX_NO_DEVICE,
      path +
          ": no device for 'auto': cuda: this runtime was built without the driver 'cuda', it has: cpu, vulkan, null");
  ASSERT_OK(choose("auto", "cpu,vulkan", true));
}

TEST_F(DeviceChoice, orderComesFromTheCallerOrTheEnvironment) {
  ASSERT_OK(choose("auto", "vulkan, cpu"));
  EXPECT_EQ(instance->report().refused.size(), 1u);
  setenv("VX_DEVICE_ORDER", "cpu,vulkan", 1);
  ASSERT_OK(choose("auto"));
  EXPECT_TRUE(instance->report().refused.empty());
  // What the caller says comes first.
  ASSERT_OK(choose("auto", "rocm,cpu"));
  EXPECT_EQ(instance->report().refused[0].device, "rocm");
  setenv("VX_DEVICE_ORDER", "cpu,tpu", 1);
  EXPECT_FAILS(choose("auto"), VX_INVALID_ARGUMENT,
               "VX_DEVICE_ORDER 'cpu,tpu': 'tpu' is unknown, known are: cuda, rocm, vulkan, cpu, null");
  unsetenv("VX_DEVICE_ORDER");
  EXPECT_FAILS(choose("auto", "cpu,,x"), VX_INVALID_ARGUMENT,
               "device order 'cpu,,x': '' is unknown, known are: cuda, rocm, vulkan, cpu, null");
}

TEST_F(DeviceChoice, unknownNames) {
  EXPECT_FAILS(choose("tpu"), VX_INVALID_ARGUMENT,
               "device 'tpu' is unknown, known are: auto, cuda, rocm, vulkan, cpu, null");
  EXPECT_FAILS(choose("cpu:x"), VX_INVALID_ARGUMENT, "device 'cpu:x': expected a number after the colon, got 'x'");
  EXPECT_FAILS(choose("cpu:"), VX_INVALID_ARGUMENT, "device 'cpu:': expected a number after the colon, got ''");
}

TEST_F(DeviceChoice, nullRunsAnyScheduleAndIsNeverChosenByItself) {
  ASSERT_OK(choose("null", nullptr, true));
  EXPECT_EQ(taken().backend, "null");
  EXPECT_EQ(taken().target, "cpu");
  EXPECT_EQ(taken().variant, "fast");
  cpu.features = {{}};
  EXPECT_EQ(choose("auto").code(), VX_NO_DEVICE);
}

TEST(DeviceList, namesEveryBackend) {
  const std::string json = listDevices(allDrivers());
  size_t place = 0;
  for (const char *name : {"cuda", "rocm", "vulkan", "cpu", "null"}) {
    EXPECT_EQ(findDriver(allDrivers(), name) != nullptr, !builtDevices({name}).empty()) << name;
    const size_t found = json.find(fmt::format("{{\"name\":\"{}\",\"available\":", name), place);
    ASSERT_NE(found, std::string::npos) << name << " in its place in " << json;
    place = found;
  }
  EXPECT_NE(json.find("{\"name\":\"cpu\",\"available\":true,\"devices\":[{\"device\":\"cpu:0\""), std::string::npos);
}

TEST(DeviceList, namesABackendWithoutADriver) {
  hal::Driver *const drivers[] = {findDriver(allDrivers(), "null")};
  EXPECT_NE(listDevices(drivers).find("{\"name\":\"rocm\",\"available\":false,\"code\":\"no_driver\",\"reason\":"
                                      "\"this runtime was built without the driver 'rocm', it has: null\"}"),
            std::string::npos);
}

} // namespace vx::test
