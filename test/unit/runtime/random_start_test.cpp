// Variables that start with random values, over instances and devices.
#include "module_builder.h"
#include "runtime_test.h"
#include "vx/abi/module_header.h"
#include "vx/base/random_values.h"
#include "vx/runtime/vx.h"

#include <cstddef>

namespace vx::test {

namespace {

using format::ElementType;
using format::InitKind;
using format::Role;

void startAs(format::VariableT &variable, InitKind kind, double a, double b) {
  variable.init = std::make_unique<format::InitT>();
  variable.init->kind = kind;
  variable.init->a = a;
  variable.init->b = b;
}

// "weight" is a parameter, "state" has no role; in the storage of "pool" a second variable starts as zeros.
std::string writeModule() {
  ModuleBuilder builder;
  builder.addVariable("weight", ElementType::F32, {3, 5}, 60);
  builder.addVariable("state", ElementType::F64, {2, 3, 2}, 96);
  builder.addVariable("pool", ElementType::BF16, {7}, 128);
  builder.addVariable("zeros", ElementType::F32, {4}, 16);
  auto &variables = builder.module.variables;
  variables[0]->role = Role::Parameter;
  startAs(*variables[0], InitKind::Orthogonal, 2, 0);
  startAs(*variables[1], InitKind::Normal, 1, 3);
  startAs(*variables[2], InitKind::Uniform, -1, 1);
  variables[3]->storage = variables[2]->storage;
  variables[3]->offset = constantExpr(64);
  builder.module.storages.pop_back();
  builder.addCpuTarget();
  builder.addVulkanTarget();
  builder.addStandInTarget("cuda");
  builder.addStandInTarget("rocm");
  return builder.write("random.vxm");
}

std::vector<uint8_t> bytesOf(Instance &instance, std::string_view name) {
  Ref<Value> value;
  EXPECT_OK(instance.readVariable(name, value));
  const void *bytes = nullptr;
  EXPECT_OK(value->hostBytes(bytes));
  const auto *first = static_cast<const uint8_t *>(bytes);
  return {first, first + value->size()};
}

std::vector<uint8_t> wanted(const std::string &name, uint64_t seed) {
  const uint64_t stream = vx_hash64(name.data(), name.size());
  if (name == "weight")
    return drawValues({RandomKind::Orthogonal, 2, 0}, seed, stream, std::vector<int64_t>{3, 5}, RandomFormat::F32);
  if (name == "state")
    return drawValues({RandomKind::Normal, 1, 3}, seed, stream, std::vector<int64_t>{2, 3, 2}, RandomFormat::F64);
  return drawValues({RandomKind::Uniform, -1, 1}, seed, stream, std::vector<int64_t>{7}, RandomFormat::BF16);
}

Status makeSeeded(const Ref<Module> &module, const char *device, uint64_t seed, Ref<Instance> &result,
                  const Ref<Instance> &share = nullptr) {
  DeviceRequest request;
  VX_RETURN_IF_ERROR(parseDeviceRequest(device, nullptr, allDrivers(), request));
  request.noFallback = true;
  return Instance::create(module, request, allDrivers(), result, {{}, share, seed});
}

class RandomStarts : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
  }
};

} // namespace

TEST_P(RandomStarts, followFromTheSeedAndTheName) {
  Ref<Module> module;
  ASSERT_OK(Module::load(writeModule(), module));
  for (uint64_t seed : {uint64_t(0), uint64_t(1), UINT64_MAX}) {
    Ref<Instance> instance;
    ASSERT_OK(makeSeeded(module, GetParam(), seed, instance));
    for (const char *name : {"weight", "state", "pool"})
      EXPECT_EQ(bytesOf(*instance, name), wanted(name, seed)) << name << ", " << seed;
    EXPECT_EQ(bytesOf(*instance, "zeros"), std::vector<uint8_t>(16));
  }
}

// An instance that takes the place of another one whose device was lost has its seed and its limits.
TEST(RandomStartsElsewhere, areThoseOfTheSeed) {
  Ref<Module> module;
  ASSERT_OK(Module::load(writeModule(), module));
  DeviceRequest request;
  ASSERT_OK(parseDeviceRequest("null", "cpu", allDrivers(), request));
  Ref<Instance> first, next;
  InstanceSetup setup;
  setup.seed = 7;
  setup.memoryLimit = 12345;
  ASSERT_OK(Instance::create(module, request, allDrivers(), first, setup));
  first->memory().limitCalls(678);
  ASSERT_OK(first->createOnNext(Status(VX_DEVICE_LOST, "gone"), allDrivers(), next));
  EXPECT_EQ(next->report().taken->backend, "cpu");
  EXPECT_EQ(bytesOf(*next, "state"), wanted("state", 7));
  EXPECT_EQ(next->memoryLimit(), 12345u);
  EXPECT_EQ(next->memory().callLimitBytes(), 678u);
}

// A parameter is what it is in the instance that it is shared with; the others are the new one's.
TEST_P(RandomStarts, sharedOnesAreNotDrawnAgain) {
  Ref<Module> module;
  ASSERT_OK(Module::load(writeModule(), module));
  Ref<Instance> first, second;
  ASSERT_OK(makeSeeded(module, GetParam(), 5, first));
  ASSERT_OK(makeSeeded(module, GetParam(), 6, second, first));
  EXPECT_EQ(bytesOf(*second, "weight"), wanted("weight", 5));
  EXPECT_EQ(bytesOf(*first, "weight"), wanted("weight", 5));
  EXPECT_EQ(bytesOf(*second, "state"), wanted("state", 6));
  EXPECT_EQ(bytesOf(*first, "state"), wanted("state", 5));
}

INSTANTIATE_TEST_SUITE_P(Devices, RandomStarts, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &info) { return std::string(info.param); });

// A program that was built before there was a seed gives a smaller struct.
TEST(RandomStart, optionsOfTheCInterface) {
  vx_module *module = nullptr;
  ASSERT_EQ(vx_module_load(writeModule().c_str(), &module), nullptr);
  vx_instance_options options = {};
  options.device = "cpu";
  options.seed = 9;
  for (auto [size, seed] : {std::pair(sizeof(options), 9), {offsetof(vx_instance_options, seed), 0}}) {
    options.struct_size = size;
    vx_instance *instance = nullptr;
    ASSERT_EQ(vx_instance_create(module, &options, &instance), nullptr);
    EXPECT_EQ(bytesOf(objectOf<Instance>(instance), "pool"), wanted("pool", static_cast<uint64_t>(seed)));
    vx_instance_release(instance);
  }
  char *description = nullptr;
  ASSERT_EQ(vx_module_describe(module, &description), nullptr);
  const std::string text = description;
  vx_string_release(description);
  for (const char *start : {"orthogonal(2)", "normal(1, 3)", "uniform(-1, 1)"})
    EXPECT_NE(text.find("\"initial\":\"" + std::string(start) + "\""), std::string::npos) << start << " in " << text;
  vx_module_release(module);
}

} // namespace vx::test
