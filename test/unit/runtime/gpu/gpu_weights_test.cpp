// Weights of devices that share the host's memory: kernels read them in the file, and nothing is copied.
#include "derived_program.h"
#include "exec/memory_estimate.h"
#include "gpu/gpu_driver_test.h"

namespace vx::test {

template <typename Traits>
class GpuWeights : public GpuTest<Traits> {
protected:
  static constexpr int64_t Elements = 4096;
  static constexpr uint64_t Bytes = Elements * sizeof(int32_t);

  void SetUp() override {
    GpuTest<Traits>::SetUp();
    this->gpu->sharesMemory = true;
  }
  void TearDown() override {
    instance = nullptr;
    module = nullptr;
    driver = nullptr;
    GpuTest<Traits>::TearDown();
  }

  void addTarget(ModuleBuilder &builder) {
    builder.addGpuTarget(Traits::backend, Traits::common, {this->bytes(Traits::scaleAdd), this->bytes(Traits::gather)});
  }
  // 3 x + 7.
  std::string affine() {
    ModuleBuilder builder;
    addAffine(builder, Elements);
    addTarget(builder);
    return builder.write(fmt::format("weights_{}.vxm", Traits::backend));
  }
  Status create(const std::string &path) {
    VX_RETURN_IF_ERROR(Module::load(path, module));
    return create();
  }
  Status create() {
    instance = nullptr;
    driver = std::make_unique<typename Traits::Driver>(this->options);
    hal::Driver *const drivers[] = {driver.get()};
    DeviceRequest request;
    VX_RETURN_IF_ERROR(parseDeviceRequest(Traits::backend, nullptr, drivers, request));
    request.noFallback = true;
    this->gpu->forget();
    return Instance::create(module, request, drivers, instance);
  }
  void expectAffine() {
    std::vector<Ref<Value>> outputs;
    ASSERT_OK(runMain(*instance, {vectorValue({1, 2, 3})}, outputs));
    EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{10, 13, 16}));
  }

  int copies() { return this->gpu->count(this->names.MemcpyAsync.name); }
  int maps() { return this->gpu->count(fmt::format("{} ", this->names.MemHostRegister.name)); }
  int unmaps() { return this->gpu->count(this->names.MemHostUnregister.name); }
  std::string weights() {
    const std::string text = instance->report().text();
    const size_t begin = text.find("weights: ");
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  }

  std::unique_ptr<typename Traits::Driver> driver;
  Ref<Module> module;
  Ref<Instance> instance;
};
TYPED_TEST_SUITE(GpuWeights, Vendors, VendorName);

TYPED_TEST(GpuWeights, areReadInTheFile) {
  ASSERT_OK(this->create(this->affine()));
  EXPECT_EQ(this->copies(), 0);
  EXPECT_EQ(this->maps(), 1);
  EXPECT_EQ(this->gpu->count(fmt::format("{} {} 10", this->names.MemHostRegister.name, this->Bytes)), 1);
  EXPECT_EQ(this->weights(), "weights: 16384 bytes read in place from the file");
  EXPECT_NE(this->instance->report().json().find(
                "\"threads\":0,\"weights\":{\"in_place\":16384,\"copied\":0,\"reason\":\"\"}}"),
            std::string::npos)
      << this->instance->report().json();
  EXPECT_EQ(this->instance->loaded().constantBytes(), 0u);
  this->expectAffine();
  EXPECT_EQ(this->unmaps(), 0);
  this->instance = nullptr;
  EXPECT_EQ(this->unmaps(), 1);
}

TYPED_TEST(GpuWeights, areCopiedToMemoryOfTheDevicesOwn) {
  this->gpu->sharesMemory = false;
  ASSERT_OK(this->create(this->affine()));
  EXPECT_GT(this->copies(), 0);
  EXPECT_EQ(this->maps(), 0);
  EXPECT_EQ(this->weights(), "");
  EXPECT_EQ(this->instance->report().json().find("weights"), std::string::npos);
  EXPECT_EQ(this->instance->loaded().constantBytes(), this->Bytes);
  this->expectAffine();
}

TYPED_TEST(GpuWeights, areCopiedWhereTheDriverCannotAndTheReportSaysSo) {
  this->gpu->fail(this->names.MemHostRegister.name, 1);
  ASSERT_OK(this->create(this->affine()));
  EXPECT_GT(this->copies(), 0);
  EXPECT_EQ(this->weights(), fmt::format("weights: 0 bytes read in place from the file, 16384 bytes copied: {} failed "
                                         "with {} (as the test wanted)",
                                         this->names.MemHostRegister.name, TypeParam::otherError));
  EXPECT_NE(this->instance->report().json().find("\"in_place\":0,\"copied\":16384,\"reason\":\""), std::string::npos);
  EXPECT_EQ(this->instance->loaded().constantBytes(), this->Bytes);
  this->expectAffine();
}

// Pages that are locked and have no address are unlocked.
TYPED_TEST(GpuWeights, arePagesWithAnAddress) {
  ASSERT_OK(this->create(this->affine()));
  int before = 0; // calls for other memory
  for (const std::string &call : this->gpu->calls) {
    if (call.starts_with(this->names.MemHostRegister.name))
      break;
    before += call.starts_with(this->names.MemHostGetDevicePointer.name);
  }
  this->instance = nullptr;
  this->gpu->fail(this->names.MemHostGetDevicePointer.name, 1, before, /*device=*/-1, /*times=*/1);
  ASSERT_OK(this->create());
  EXPECT_EQ(this->maps(), 1);
  EXPECT_EQ(this->unmaps(), 1);
  EXPECT_TRUE(this->weights().starts_with("weights: 0 bytes read in place from the file, 16384 bytes copied: "))
      << this->weights();
  this->gpu->failures.clear();
  this->expectAffine();
}

TYPED_TEST(GpuWeights, aLostDeviceIsNoReasonToCopy) {
  this->gpu->fail(this->names.MemHostRegister.name, 700);
  const Status status = this->create(this->affine());
  EXPECT_EQ(status.code(), VX_NO_DEVICE);
  EXPECT_NE(status.message().find(": weights: device 'Stand-in 0' was lost: "), std::string_view::npos)
      << status.message();
  EXPECT_EQ(this->copies(), 0);
}

// A device that reads all memory of the host needs no pages that are locked.
TYPED_TEST(GpuWeights, areReadWithoutLockedPages) {
  this->gpu->fail(this->names.MemHostRegister.name, 1);
  this->gpu->readsPages = true;
  ASSERT_OK(this->create(this->affine()));
  EXPECT_EQ(this->copies(), 0);
  EXPECT_EQ(this->weights(), "weights: 16384 bytes read in place from the file");
  this->expectAffine();
  this->instance = nullptr;
  EXPECT_EQ(this->unmaps(), 0);
}

TYPED_TEST(GpuWeights, ofAModuleFromMemoryAreCopied) {
  const std::vector<uint8_t> bytes = readFile(this->affine());
  ASSERT_OK(Module::fromMemory("memory", bytes, this->module));
  ASSERT_OK(this->create());
  EXPECT_EQ(this->maps(), 0);
  EXPECT_EQ(this->weights(), "weights: 0 bytes read in place from the file, 16384 bytes copied: the module was loaded "
                             "from memory");
  this->expectAffine();
}

// A variable that a program stores is the instance's own: the file and the initial value of other instances stay.
TYPED_TEST(GpuWeights, variablesAreCopied) {
  ModuleBuilder builder;
  addAccumulate(builder);
  const int32_t start[] = {5, 6, 7, 8};
  const uint32_t initial = builder.addConstant("start", format::ElementType::I32, {4}, start, sizeof(start));
  builder.module.variables[0]->init = std::make_unique<format::InitT>();
  builder.module.variables[0]->init->kind = format::InitKind::Constant;
  builder.module.variables[0]->init->constant = initial;
  this->addTarget(builder);
  const std::string path = builder.write(fmt::format("stored_{}.vxm", TypeParam::backend));
  const std::vector<uint8_t> before = readFile(path);
  ASSERT_OK(this->create(path));
  EXPECT_EQ(this->maps(), 0);
  for (int turn = 0; turn < 2; ++turn) {
    for (int32_t call = 1; call <= 2; ++call) {
      std::vector<Ref<Value>> outputs;
      ASSERT_OK(runMain(*this->instance, {vectorValue({1, 1, 1, 1})}, outputs));
      EXPECT_EQ(elementsOf(*outputs[0]), (std::vector<int32_t>{5 + call, 6 + call, 7 + call, 8 + call}));
    }
    EXPECT_EQ(readFile(path), before);
    if (turn == 0)
      ASSERT_OK(this->create());
  }
}

// The derived values' module, where one of a constant alone is `scaled`, and a function adds the constant `kept` to x.
class WithKept : public derived::Builder {
public:
  WithKept() {
    // `scaled` is base + 2 base, and `mix` is x + kept.
    std::vector<int32_t> numbers(derived::Count, 9);
    const uint32_t kept = addConstant("kept", format::ElementType::I32, {derived::Count}, numbers.data(), Bytes);
    // In the pages after those of `base`.
    std::vector<uint8_t> &section = sections[module.constants[base]->section];
    section.insert(section.end(), reinterpret_cast<const uint8_t *>(numbers.data()),
                   reinterpret_cast<const uint8_t *>(numbers.data()) + Bytes);
    module.constants[kept]->section = module.constants[base]->section;
    module.constants[kept]->offset = Bytes;
    for (auto &program : module.programs)
      for (InstructionPtr &one : program->body->instructions)
        if (program->name == "scaled" && one->op == Op::Variable)
          one = instruction(Op::Constant, {2}, base);
        else if (program->name == "mix" && one->op == Op::Derived)
          one = instruction(Op::Constant, {2}, kept);
  }
  static constexpr uint64_t Bytes = derived::Count * sizeof(int32_t);
};

// Constants that only the load reads are read in place while it lasts, and then their pages are given back.
TYPED_TEST(GpuWeights, ofTheLoadAloneGiveTheirPagesBack) {
  WithKept builder;
  std::erase_if(builder.module.targets, [](const auto &target) { return target->name != TypeParam::backend; });
  ASSERT_OK(this->create(builder.write(fmt::format("load_{}.vxm", TypeParam::backend))));
  // The programs' arguments are copied, which are smaller.
  EXPECT_EQ(this->gpu->count(fmt::format("{} {}", this->names.MemcpyAsync.name, WithKept::Bytes)), 0);
  EXPECT_EQ(this->weights(), "weights: 32768 bytes read in place from the file");
  // Both at first, as one run of pages, then the one that calls read.
  EXPECT_EQ(this->gpu->count(fmt::format("{} {} 10", this->names.MemHostRegister.name, 2 * WithKept::Bytes)), 1);
  EXPECT_EQ(this->gpu->count(fmt::format("{} {} 10", this->names.MemHostRegister.name, WithKept::Bytes)), 1);
  EXPECT_EQ(this->unmaps(), 1);
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*this->instance, {vectorValue(derived::all(5))}, outputs, derived::Mix));
  EXPECT_EQ(elementsOf(*outputs[0]), derived::all(5 + 9));
  ASSERT_OK(runMain(*this->instance, {vectorValue(derived::all(5))}, outputs, derived::Read));
  EXPECT_EQ(elementsOf(*outputs[0])[10], 5 + 2 * 30);
}

// Pages are locked once for a GPU: a second module has a part of them, and the last owner gives them back.
TYPED_TEST(GpuWeights, areLockedOnce) {
  ASSERT_OK(this->create(this->affine()));
  hal::Driver *const drivers[] = {this->driver.get()};
  DeviceRequest request;
  ASSERT_OK(parseDeviceRequest(TypeParam::backend, nullptr, drivers, request));
  request.noFallback = true;
  request.waitLimitMs = 60000; // another module on the device
  Ref<Instance> second;
  this->gpu->forget();
  ASSERT_OK(Instance::create(this->module, request, drivers, second));
  ASSERT_NE(&second->loaded(), &this->instance->loaded());
  EXPECT_EQ(this->maps(), 0);
  EXPECT_EQ(this->copies(), 0);
  EXPECT_EQ(second->loaded().constantBytes(), 0u);
  this->instance = second;
  second = nullptr;
  EXPECT_EQ(this->unmaps(), 0);
  this->expectAffine();
  this->instance = nullptr;
  EXPECT_EQ(this->unmaps(), 1);
}

TYPED_TEST(GpuWeights, mayBeginWithinAPage) {
  ModuleBuilder builder;
  addAffine(builder, this->Elements);
  std::vector<uint8_t> &section = builder.sections[builder.module.constants[0]->section];
  section.insert(section.begin(), 64, 0);
  builder.module.constants[0]->offset = 64;
  this->addTarget(builder);
  ASSERT_OK(this->create(builder.write(fmt::format("within_{}.vxm", TypeParam::backend))));
  EXPECT_EQ(this->weights(), "weights: 16384 bytes read in place from the file");
  EXPECT_EQ(this->gpu->count(fmt::format("{} 20480 10", this->names.MemHostRegister.name)), 1);
  EXPECT_EQ(this->instance->loaded().constantBytes(), 0u);
  this->expectAffine();
}

// A part is of the same GPU and not longer than the pages that are locked.
TYPED_TEST(GpuWeights, arePartsOfThePagesOfTheirDevice) {
  typename TypeParam::Driver driver(this->options);
  Ref<hal::Device> device, other;
  ASSERT_OK(driver.open(0, {}, device));
  ASSERT_OK(driver.open(1, {}, other));
  const std::unique_ptr<void, decltype(&std::free)> pages(std::aligned_alloc(4096, 3 * 4096), std::free);
  const auto *begin = static_cast<const uint8_t *>(pages.get());
  auto map = [&](hal::Device &by, const uint8_t *data, uint64_t size) {
    Ref<hal::Memory> memory;
    std::string reason;
    EXPECT_OK(by.mapFile(data, size, memory, reason));
    EXPECT_EQ(reason.empty(), bool(memory));
    return memory;
  };
  const Ref<hal::Memory> locked = map(*device, begin, 2 * 4096);
  ASSERT_TRUE(locked);
  const Ref<hal::Memory> part = map(*device, begin + 4096, 4096);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->address(), locked->address() + 4096);
  EXPECT_EQ(part->host(), begin + 4096);
  EXPECT_EQ(this->maps(), 1);
  // The library takes no page twice.
  EXPECT_FALSE(map(*device, begin + 4096, 2 * 4096));
  EXPECT_FALSE(map(*device, begin, 3 * 4096));
  EXPECT_FALSE(map(*other, begin, 4096));
  EXPECT_EQ(this->maps(), 4);
}

// An estimate asks about one page, which it gives back.
TYPED_TEST(GpuWeights, areNoMemoryOfAnEstimate) {
  for (auto [isOpen, fails] : {std::pair(true, false), {false, false}, {false, true}}) {
    ASSERT_OK(this->create(this->affine()));
    this->gpu->forget();
    hal::Driver *const drivers[] = {this->driver.get()};
    DeviceRequest request;
    ASSERT_OK(parseDeviceRequest(TypeParam::backend, nullptr, drivers, request));
    request.noFallback = true;
    if (!isOpen)
      this->instance = nullptr;
    this->gpu->forget();
    if (fails)
      this->gpu->fail(this->names.MemHostRegister.name, 1);
    Ref<Instance> planned;
    InstanceSetup setup;
    setup.isLoaded = false;
    ASSERT_OK(Instance::create(this->module, request, drivers, planned, setup));
    EXPECT_EQ(planned->loaded().constantBytes(), fails ? this->Bytes : 0u);
    EXPECT_EQ(this->gpu->count(fmt::format("{} 4096 10", this->names.MemHostRegister.name)), isOpen ? 0 : 1);
    EXPECT_EQ(this->unmaps(), isOpen || fails ? 0 : 1);
  }
}

} // namespace vx::test
