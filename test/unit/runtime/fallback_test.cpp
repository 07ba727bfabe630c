// A call that fails on one device is run once more on the next one, and the report says so.
#include "exec/fallback.h"

#include "base/log.h"
#include "exec/call_state.h"
#include "programs.h"
#include "runtime_test.h"

namespace vx::test {

namespace {

// A driver with devices that load anything, compute nothing, and fail once they are broken.
class BreakingDriver final : public hal::Driver {
public:
  BreakingDriver(std::string name, size_t count) : driverName(std::move(name)), broken(count, VX_OK) {}

  std::string_view name() const override { return driverName; }
  std::string_view target() const override { return driverName; }
  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override {
    devices.resize(broken.size());
    for (size_t i = 0; i < devices.size(); ++i)
      devices[i].name = fmt::format("breaking {}", i);
    return {};
  }
  Status open(uint32_t index, const hal::DeviceOptions &, Ref<hal::Device> &device) override {
    class Device final : public hal::Device {
    public:
      const hal::DeviceInfo &info() const override { return deviceInfo; }
      Status allocate(uint64_t size, hal::MemoryKind, Ref<hal::Memory> &memory) override {
        if (*code != VX_OK && *failsAllocations)
          return failure(*code, "device {} is broken", index);
        memory = makeRef<hal::Memory>(64, size, nullptr);
        return okStatus();
      }
      Status load(const hal::CodeImage &, Ref<hal::Executable> &) override { return okStatus(); }
      Status createStream(Ref<hal::Stream> &stream) override {
        if (*code != VX_OK && streams++ >= *spared)
          return failure(*code, "device {} is broken", index);
        Ref<hal::Device> null;
        VX_RETURN_IF_ERROR(findDriver(allDrivers(), "null")->open(0, {}, null));
        return null->createStream(stream);
      }
      hal::DeviceInfo deviceInfo;
      const vx_code *code = nullptr;
      const int *spared = nullptr;
      const bool *failsAllocations = nullptr;
      int streams = 0;
      uint32_t index = 0;
    };
    auto opened = makeRef<Device>();
    opened->code = &broken[index];
    opened->spared = &spared;
    opened->failsAllocations = &failsAllocations;
    opened->index = index;
    opened->deviceInfo.name = fmt::format("breaking {}", index);
    device = std::move(opened);
    ++opens;
    return okStatus();
  }

  std::string driverName;
  std::vector<vx_code> broken; // what a call on each device fails with
  int spared = 0;              // streams of a broken device that work
  bool failsAllocations = false;
  int opens = 0;
};

std::vector<std::string> warnings;
void keepWarning(void *, vx_log_level, const char *message) { warnings.emplace_back(message); }

class Fallback : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("VX_DEVICE_ORDER");
    warnings.clear();
    vx_set_log(keepWarning, nullptr, VX_LOG_WARNING);
  }
  void TearDown() override { vx_set_log(nullptr, nullptr, VX_LOG_NONE); }

  // Of a module with code for the CPU and for the devices that break.
  Status create(const char *device, bool noFallback = false, const InstanceSetup &setup = {}) {
    builder.addCpuTarget({});
    for (const char *name : {"cuda", "vulkan"}) {
      auto target = std::make_unique<format::TargetT>(*builder.module.targets[0]);
      target->name = name;
      builder.module.targets.push_back(std::move(target));
    }
    DeviceRequest request;
    VX_RETURN_IF_ERROR(parseDeviceRequest(device, "cuda,vulkan,cpu", drivers, request));
    request.noFallback = noFallback;
    VX_RETURN_IF_ERROR(Module::load(builder.write("fallback.vxm"), module));
    return Instance::create(module, request, drivers, instance, setup);
  }
  // y = 3 * x + 7 where the CPU computes it.
  Status run(std::vector<int32_t> *result = nullptr) {
    const std::vector<int32_t> numbers = {1, 2, 3, 4};
    const int64_t dims[] = {4};
    Ref<Value> x;
    VX_RETURN_IF_ERROR(Value::copyTensor(VX_I32, dims, numbers.data(), 16, x));
    return runWithFallback(instance, drivers, [&](Instance &place) -> Status {
      ++runs;
      std::unique_ptr<CallState> call;
      VX_RETURN_IF_ERROR(place.takeCall(0, call));
      Value *const inputs[] = {x.get()};
      std::vector<Ref<Value>> outputs;
      Status status = call->run(inputs, outputs);
      if (status.ok() && result) {
        const void *data = nullptr;
        VX_RETURN_IF_ERROR(outputs[0]->hostBytes(data));
        result->assign(static_cast<const int32_t *>(data), static_cast<const int32_t *>(data) + 4);
      }
      place.returnCall(std::move(call));
      return status;
    });
  }
  std::string takenDevice() { return fmt::format("{}:{}", taken().backend, taken().index); }
  const TakenDevice &taken() { return *instance->report().taken; }

  ModuleBuilder builder;
  BreakingDriver cuda{"cuda", 2}, vulkan{"vulkan", 1};
  std::vector<hal::Driver *> drivers = {&cuda, &vulkan, findDriver(allDrivers(), "cpu")};
  Ref<Module> module;
  Ref<Instance> instance;
  int runs = 0;
};

} // namespace

TEST_F(Fallback, aCallThatFailsRunsOnTheNextDeviceOnce) {
  addAffine(builder, 64);
  ASSERT_OK(create("cuda:1"));
  ASSERT_EQ(takenDevice(), "cuda:1");
  cuda.broken[1] = VX_DEVICE_LOST;
  vulkan.broken[0] = VX_OUT_OF_MEMORY;
  vulkan.spared = 1; // the module is loaded by it
  // The second run fails too: that is the failure, and the instance is where it was.
  EXPECT_FAILS(run(), VX_OUT_OF_MEMORY, "device 0 is broken");
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(takenDevice(), "vulkan:0");
  EXPECT_EQ(warnings.back(), "cuda:1 failed (device_lost: device 1 is broken); falling back to vulkan:0");

  std::vector<int32_t> result;
  ASSERT_OK(run(&result));
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(takenDevice(), "cpu:0");
  EXPECT_EQ(result, std::vector<int32_t>({10, 13, 16, 19}));
  EXPECT_EQ(warnings.back(), "vulkan:0 failed (out_of_memory: device 0 is broken); falling back to cpu");

  const DeviceReport &report = instance->report();
  ASSERT_EQ(report.failed.size(), 2u);
  EXPECT_EQ(report.failed[0].device(), "cuda:1");
  EXPECT_EQ(report.failed[0].code, VX_DEVICE_LOST);
  EXPECT_EQ(report.failed[0].reason, "device 1 is broken");
  EXPECT_TRUE(report.json().ends_with(
      "\"failed\":[{\"device\":\"cuda:1\",\"code\":\"device_lost\",\"reason\":\"device 1 is broken\"},{\"device\":"
      "\"vulkan:0\",\"code\":\"out_of_memory\",\"reason\":\"device 0 is broken\"}]}"))
      << report.json();
  EXPECT_NE(report.text().find("device failed: cuda:1: device 1 is broken [device_lost]\n"), std::string::npos)
      << report.text();
  // It stays there.
  ASSERT_OK(run());
  EXPECT_EQ(runs, 5);
}

TEST_F(Fallback, theNextDeviceOfABackendComesFirst) {
  addAffine(builder, 64);
  ASSERT_OK(create("auto"));
  ASSERT_EQ(takenDevice(), "cuda:0");
  cuda.broken[0] = VX_UNSUPPORTED;
  ASSERT_OK(run());
  EXPECT_EQ(takenDevice(), "cuda:1");
  EXPECT_EQ(warnings.back(), "cuda:0 failed (unsupported: device 0 is broken); falling back to cuda:1");
}

TEST_F(Fallback, otherFailuresAreTheCallers) {
  addAffine(builder, 64);
  ASSERT_OK(create("auto"));
  for (vx_code code : {VX_INVALID_ARGUMENT, VX_FAULT, VX_INTERNAL, VX_CANCELLED, VX_IO_ERROR}) {
    cuda.broken[0] = code;
    runs = 0;
    EXPECT_FAILS(run(), code, "device 0 is broken");
    EXPECT_EQ(runs, 1);
  }
  EXPECT_EQ(takenDevice(), "cuda:0");
  EXPECT_TRUE(warnings.empty());
}

TEST_F(Fallback, withoutFallbackTheCallFails) {
  addAffine(builder, 64);
  ASSERT_OK(create("cuda", /*noFallback=*/true));
  cuda.broken[0] = VX_DEVICE_LOST;
  EXPECT_FAILS(run(), VX_DEVICE_LOST, "device 0 is broken; no fallback: the instance was made without fallback");
  EXPECT_EQ(runs, 1);
}

TEST_F(Fallback, thereMayBeNoOtherDevice) {
  addAffine(builder, 64);
  drivers = {&vulkan};
  ASSERT_OK(create("vulkan"));
  vulkan.broken[0] = VX_DEVICE_LOST;
  const Status status = run();
  EXPECT_EQ(status.code(), VX_DEVICE_LOST);
  EXPECT_NE(status.message().find("device 0 is broken; no fallback: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("no device for 'vulkan': "), std::string::npos) << status.message();
  EXPECT_NE(status.report().find("\"taken\":null"), std::string::npos) << status.report();
  EXPECT_NE(status.report().find("\"failed\":[{\"device\":\"vulkan:0\""), std::string::npos) << status.report();
  EXPECT_EQ(vulkan.opens, 1);
  EXPECT_EQ(takenDevice(), "vulkan:0");
}

TEST_F(Fallback, variablesThatWereWrittenAreNotLost) {
  drivers.erase(drivers.begin());
  addAccumulate(builder);
  ASSERT_OK(create("vulkan"));
  vulkan.broken[0] = VX_DEVICE_LOST;
  // The first run fails and has stored nothing, so that the initial values are those of before.
  std::vector<int32_t> result;
  ASSERT_OK(run(&result));
  EXPECT_EQ(takenDevice(), "cpu:0");
  EXPECT_EQ(result, std::vector<int32_t>({1, 2, 3, 4}));
  ASSERT_OK(run(&result));
  EXPECT_EQ(result, std::vector<int32_t>({2, 4, 6, 8}));

  vulkan.failsAllocations = true; // a call from the pool makes no stream
  for (const bool byRun : {true, false}) {
    vulkan.broken[0] = VX_OK;
    DeviceRequest request;
    ASSERT_OK(parseDeviceRequest("vulkan", "vulkan,cpu", drivers, request));
    ASSERT_OK(Instance::create(module, request, drivers, instance, {}));
    if (byRun) {
      ASSERT_OK(run());
    } else {
      const int32_t numbers[] = {5, 5, 5, 5};
      const int64_t dims[] = {4};
      Ref<Value> value;
      ASSERT_OK(Value::copyTensor(VX_I32, dims, numbers, 16, value));
      ASSERT_OK(instance->writeVariable("total", *value));
    }
    vulkan.broken[0] = VX_DEVICE_LOST;
    const Status status = run();
    EXPECT_EQ(status.code(), VX_DEVICE_LOST);
    EXPECT_TRUE(status.message().ends_with("device 0 is broken; no fallback: variables have been written, and their "
                                           "values are on the device that failed"))
        << status.message();
    EXPECT_EQ(takenDevice(), "vulkan:0");
  }
}

TEST_F(Fallback, instancesThatShareVariablesStay) {
  drivers.erase(drivers.begin());
  addAccumulate(builder);
  ASSERT_OK(create("vulkan"));
  Ref<Instance> other;
  InstanceSetup setup;
  setup.share = instance;
  ASSERT_OK(Instance::create(module, instance->report().request, drivers, other, setup));
  vulkan.broken[0] = VX_DEVICE_LOST;
  EXPECT_FAILS(run(), VX_DEVICE_LOST, "device 0 is broken; no fallback: other instances share its variables");
  other = nullptr;
  setup.share = nullptr;
  ASSERT_OK(run());
  EXPECT_EQ(takenDevice(), "cpu:0");
}

} // namespace vx::test
