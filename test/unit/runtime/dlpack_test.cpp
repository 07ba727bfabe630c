// Tensors from other libraries and for them, as DLPack lays them out.
#include "api/dlpack.h"
#include "vx/runtime/vx.h"

#include "programs.h"
#include "runtime_test.h"

#include <atomic>
#include <cstdlib>
#include <numeric>

#include <dlfcn.h>

namespace vx::test {

namespace {

// A tensor of someone else's, who counts how often it is given back.
struct Foreign {
  Foreign() {
    std::iota(std::begin(numbers), std::end(numbers), 0);
    tensor.version = {1, 1};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensorVersioned *self) { ++static_cast<Foreign *>(self->manager_ctx)->returned; };
    tensor.dl_tensor = {numbers, {1, 0}, 2, {0, 32, 1}, shape, strides, 0};
  }
  // Why it is refused; it is still the caller's then.
  std::string refusal(vx_code code) {
    vx_value *value = nullptr;
    vx_status status = vx_tensor_from_dlpack(&tensor, &value);
    EXPECT_EQ(vx_status_code(status), code);
    EXPECT_EQ(value, nullptr);
    EXPECT_EQ(returned, 0);
    std::string message = vx_status_message(status);
    vx_status_release(status);
    vx_value_release(value);
    return message;
  }

  alignas(64) int32_t numbers[24];
  int64_t shape[4] = {2, 3, 1, 1}, strides[4] = {3, 1, 1, 1};
  DLManagedTensorVersioned tensor = {};
  std::atomic<int> returned = 0;
};

// A value that is released at the end, with its elements.
class Taken {
public:
  explicit Taken(DLManagedTensorVersioned &tensor) {
    vx_status status = vx_tensor_from_dlpack(&tensor, &value);
    EXPECT_EQ(status, nullptr) << vx_status_message(status);
    vx_status_release(status);
  }
  ~Taken() { vx_value_release(value); }
  Taken(const Taken &) = delete;
  Taken &operator=(const Taken &) = delete;

  const void *data() const {
    const void *bytes = nullptr;
    EXPECT_EQ(vx_tensor_data(value, &bytes), nullptr);
    return bytes;
  }
  std::vector<int32_t> elements() const {
    const auto *numbers = static_cast<const int32_t *>(data());
    return {numbers, numbers + vx_value_get_info(value).size / sizeof(int32_t)};
  }

  vx_value *value = nullptr;
};

} // namespace

TEST(Dlpack, isReadInPlaceAndGivenBackOnce) {
  Foreign foreign;
  foreign.tensor.dl_tensor.byte_offset = 8;
  {
    const Taken taken(foreign.tensor);
    const vx_value_info info = vx_value_get_info(taken.value);
    EXPECT_EQ(std::vector(info.dims, info.dims + info.rank), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(taken.elements(), (std::vector<int32_t>{2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(taken.data(), foreign.numbers + 2);
    vx_value_retain(taken.value);
    vx_value_release(taken.value);
    EXPECT_EQ(foreign.returned, 0);
  }
  EXPECT_EQ(foreign.returned, 1);
}

TEST(Dlpack, stridesThatAreOfNoMatter) {
  Foreign foreign;
  foreign.tensor.dl_tensor.strides = nullptr;
  EXPECT_EQ(Taken(foreign.tensor).elements(), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  Foreign ones; // dimensions of one place
  ones.shape[0] = 1;
  ones.strides[0] = -77;
  EXPECT_EQ(Taken(ones.tensor).elements(), (std::vector<int32_t>{0, 1, 2}));
  Foreign empty;
  empty.shape[1] = 0;
  empty.strides[0] = 5;
  empty.tensor.dl_tensor.data = nullptr;
  EXPECT_TRUE(Taken(empty.tensor).elements().empty());
  Foreign scalar;
  scalar.tensor.dl_tensor.ndim = 0;
  scalar.tensor.dl_tensor.shape = scalar.tensor.dl_tensor.strides = nullptr;
  EXPECT_EQ(Taken(scalar.tensor).elements(), std::vector<int32_t>{0});
  Foreign unowned; // who needs nothing back
  unowned.tensor.deleter = nullptr;
  EXPECT_EQ(Taken(unowned.tensor).elements().size(), 6u);
}

TEST(Dlpack, whatIsRefusedStaysTheCallers) {
  const std::string name = "vx_tensor_from_dlpack: ";
  Foreign gap;
  gap.strides[0] = 4;
  EXPECT_EQ(gap.refusal(VX_UNSUPPORTED), name + "dimension 0 has the stride 4, expected 3: row-major without gaps");
  Foreign order;
  order.strides[0] = 1, order.strides[1] = 2;
  EXPECT_EQ(order.refusal(VX_UNSUPPORTED), name + "dimension 1 has the stride 2, expected 1: row-major without gaps");
  Foreign backward;
  backward.strides[1] = -1;
  EXPECT_EQ(backward.refusal(VX_UNSUPPORTED),
            name + "dimension 1 has the stride -1, expected 1: row-major without gaps");
  Foreign elsewhere;
  elsewhere.tensor.dl_tensor.device = {8, 1};
  EXPECT_EQ(elsewhere.refusal(VX_UNSUPPORTED),
            name + "the tensor is in memory of Metal device 1, expected memory of the host, of CUDA or of ROCm");
  elsewhere.tensor.dl_tensor.device = {99, 0};
  EXPECT_EQ(elsewhere.refusal(VX_UNSUPPORTED),
            name +
                "the tensor is in memory of DLPack's device type 99, expected memory of the host, of CUDA or of ROCm");
  Foreign complex;
  complex.tensor.dl_tensor.dtype = {5, 64, 1};
  EXPECT_EQ(complex.refusal(VX_UNSUPPORTED),
            name + "the tensor has DLPack's type code 5 of 64 bits and 1 lanes, which is no type of vx");
  Foreign lanes;
  lanes.tensor.dl_tensor.dtype.lanes = 4;
  EXPECT_EQ(lanes.refusal(VX_UNSUPPORTED),
            name + "the tensor has DLPack's type code 0 of 32 bits and 4 lanes, which is no type of vx");
  Foreign later;
  later.tensor.version = {2, 3};
  EXPECT_EQ(later.refusal(VX_UNSUPPORTED), name + "the tensor is of DLPack 2.3, expected version 1");
  Foreign ranks;
  ranks.tensor.dl_tensor.ndim = -1;
  EXPECT_EQ(ranks.refusal(VX_INVALID_ARGUMENT), name + "the tensor has -1 dimensions and their sizes");
  ranks.tensor.dl_tensor.ndim = 2;
  ranks.tensor.dl_tensor.shape = nullptr;
  EXPECT_EQ(ranks.refusal(VX_INVALID_ARGUMENT), name + "the tensor has 2 dimensions and no sizes of them");
  Foreign nothing;
  nothing.tensor.dl_tensor.data = nullptr;
  EXPECT_EQ(nothing.refusal(VX_INVALID_ARGUMENT), name + "argument 'data' is a null pointer, i32[2,3] needs 24 bytes");
  Foreign huge;
  huge.shape[0] = huge.shape[1] = INT64_MAX / 2;
  huge.tensor.dl_tensor.strides = nullptr;
  (void)huge.refusal(VX_INVALID_ARGUMENT);
  Foreign negative;
  negative.shape[1] = -3;
  negative.tensor.dl_tensor.strides = nullptr;
  (void)negative.refusal(VX_INVALID_ARGUMENT);
}

TEST(Dlpack, whatIsGivenKeepsItsValue) {
  const int64_t dims[] = {2, 1, 3};
  DLManagedTensorVersioned *tensor = nullptr;
  {
    const float numbers[] = {0, 1, 2, 3, 4, 5};
    vx_value *value = nullptr;
    ASSERT_EQ(vx_tensor_create(VX_F32, 3, dims, numbers, sizeof numbers, &value), nullptr);
    ASSERT_EQ(vx_tensor_to_dlpack(value, &tensor), nullptr);
    vx_value_release(value);
  }
  EXPECT_EQ(tensor->version.major, 1u);
  EXPECT_EQ(tensor->flags, 1u); // read-only
  const DLTensor &inner = tensor->dl_tensor;
  EXPECT_EQ(inner.device.device_type, 1);
  EXPECT_EQ(inner.ndim, 3);
  EXPECT_EQ(inner.dtype.code, 2);
  EXPECT_EQ(inner.dtype.bits, 32);
  EXPECT_EQ(inner.dtype.lanes, 1);
  EXPECT_EQ(std::vector(inner.shape, inner.shape + 3), (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(std::vector(inner.strides, inner.strides + 3), (std::vector<int64_t>{3, 3, 1}));
  const auto *numbers = static_cast<const float *>(inner.data);
  EXPECT_EQ(std::vector(numbers, numbers + 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  // And back: the same bytes.
  EXPECT_EQ(Taken(*tensor).data(), numbers);
}

TEST(Dlpack, elementsOfFewBits) {
  const std::tuple<vx_element_type, uint8_t, uint8_t> types[] = {
      {VX_F8E4M3FN, 10, 8}, {VX_F8E4M3FNUZ, 11, 8}, {VX_F8E5M2, 12, 8}, {VX_F8E5M2FNUZ, 13, 8}, {VX_F8E8M0, 14, 8},
      {VX_F4E2M1, 17, 4},   {VX_I4, 0, 4},          {VX_U4, 1, 4},      {VX_I2, 0, 2},          {VX_U2, 1, 2}};
  const int64_t dims[] = {5};
  const uint8_t bytes[] = {0x21, 0x43, 0x05, 0x76, 0x87};
  for (auto [type, code, bits] : types) {
    vx_value *value = nullptr;
    const uint64_t size = (5 * bits + 7) / 8;
    ASSERT_EQ(vx_tensor_create(type, 1, dims, bytes, size, &value), nullptr);
    DLManagedTensorVersioned *tensor = nullptr;
    ASSERT_EQ(vx_tensor_to_dlpack(value, &tensor), nullptr);
    vx_value_release(value);
    EXPECT_EQ(tensor->dl_tensor.dtype.code, code);
    EXPECT_EQ(tensor->dl_tensor.dtype.bits, bits);
    const Taken taken(*tensor);
    EXPECT_EQ(vx_value_get_info(taken.value).element_type, type);
    EXPECT_EQ(vx_value_get_info(taken.value).size, size);
    EXPECT_EQ(memcmp(taken.data(), bytes, size), 0);
  }
  Foreign padded;
  padded.tensor.dl_tensor.dtype = {1, 4, 1};
  padded.tensor.flags = 4;
  EXPECT_EQ(padded.refusal(VX_UNSUPPORTED),
            "vx_tensor_from_dlpack: the tensor has a byte for each u4, expected packed elements");
}

TEST(Dlpack, whatCannotBeGiven) {
  vx_value *text = nullptr;
  const int64_t dims[] = {1};
  const char *texts[] = {"a"};
  const size_t lengths[] = {1};
  ASSERT_EQ(vx_strings_create(1, dims, 1, texts, lengths, &text), nullptr);
  DLManagedTensorVersioned *tensor = nullptr;
  vx_status status = vx_tensor_to_dlpack(text, &tensor);
  EXPECT_STREQ(vx_status_message(status), "vx_tensor_to_dlpack: string[1] is of a type that DLPack has not");
  vx_status_release(status);
  vx_value *list = nullptr;
  ASSERT_EQ(vx_sequence_create(VX_STRING, 1, &text, &list), nullptr);
  status = vx_tensor_to_dlpack(list, &tensor);
  EXPECT_STREQ(vx_status_message(status), "vx_tensor_to_dlpack: expected a tensor, got sequence of string");
  EXPECT_EQ(tensor, nullptr);
  vx_status_release(status);
  vx_value_release(list);
  vx_value_release(text);
}

// A function of a vendor's library, by types that are the vendor's but for their names.
template <typename... A>
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
int callOf(void *library, const char *name, A... arguments) {
  auto function = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
  return function ? function(arguments...) : -1;
}

// Tensors that stay in the memory of a GPU.
class DlpackOfDevice : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    first = instanceOf("first.vxm", GetParam());
    second = instanceOf("second.vxm", GetParam());
    const int64_t dims[] = {3};
    const int32_t numbers[] = {1, 2, 3};
    ASSERT_EQ(vx_tensor_create(VX_I32, 1, dims, numbers, sizeof(numbers), &x), nullptr);
  }
  void TearDown() override {
    vx_value_release(x);
    vx_instance_release(first);
    vx_instance_release(second);
  }
  // 3 x + 7, each in a module of its own.
  static vx_instance *instanceOf(const char *name, const char *device) {
    ModuleBuilder builder;
    addAffine(builder, 64);
    builder.module.functions[0]->aliases.emplace_back(0, 0);
    builder.addCpuTarget();
    builder.addVulkanTarget();
    for (const char *backend : {"cuda", "rocm"})
      builder.addStandInTarget(backend);
    Ref<Instance> instance;
    EXPECT_OK(makeInstance(builder.write(name), device, instance));
    return instance ? giveHandle<vx_instance>(std::move(instance)) : nullptr;
  }
  static vx_value *run(vx_instance *instance, vx_value *input) {
    vx_value *output = nullptr;
    vx_status status = vx_instance_call(instance, nullptr, 1, &input, 1, &output);
    EXPECT_EQ(status, nullptr) << vx_status_message(status);
    vx_status_release(status);
    return output;
  }
  static std::vector<int32_t> numbersOf(vx_value *value) { return elementsOf(objectOf<Value>(value)); }
  static DLManagedTensorVersioned *inPlace(vx_value *value) {
    DLManagedTensorVersioned *tensor = nullptr;
    vx_status status = vx_tensor_to_dlpack_in_place(value, &tensor);
    EXPECT_EQ(status, nullptr) << vx_status_message(status);
    vx_status_release(status);
    return tensor;
  }
  static int32_t deviceType() { return std::string_view(GetParam()) == "cuda" ? 2 : 10; }

  vx_instance *first = nullptr, *second = nullptr;
  vx_value *x = nullptr;
};

// Out of one module and into another one without a copy to the host; the bytes live as long as somebody reads them.
TEST_P(DlpackOfDevice, goesFromModuleToModuleInPlace) {
  vx_value *y = run(first, x);
  DLManagedTensorVersioned *given = inPlace(y);
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->dl_tensor.device.device_type, deviceType());
  EXPECT_EQ(given->dl_tensor.device.device_id, 0);
  EXPECT_EQ(given->flags, 1u); // read only
  const void *data = given->dl_tensor.data;
  EXPECT_EQ(reinterpret_cast<uint64_t>(data), objectOf<Value>(y).memory()->address() + objectOf<Value>(y).offset());
  vx_value *taken = nullptr;
  ASSERT_EQ(vx_tensor_from_dlpack(given, &taken), nullptr);
  vx_value_release(y);
  vx_instance_release(std::exchange(first, nullptr));
  vx_value *z = run(second, taken);
  EXPECT_EQ(objectOf<Value>(taken).knownHostBytes(), nullptr); // nobody asked for them there
  DLManagedTensorVersioned *again = inPlace(taken);
  EXPECT_EQ(again->dl_tensor.data, data);
  again->deleter(again);
  EXPECT_EQ(numbersOf(z), (std::vector<int32_t>{37, 46, 55}));
  EXPECT_EQ(numbersOf(taken), (std::vector<int32_t>{10, 13, 16}));
  vx_value_release(z);
  // On another device, by way of the host.
  vx_instance *cpu = instanceOf("third.vxm", "cpu");
  z = run(cpu, taken);
  EXPECT_EQ(numbersOf(z), (std::vector<int32_t>{37, 46, 55}));
  vx_value_release(z);
  vx_value_release(taken);
  vx_instance_release(cpu);
}

// A value itself, too, is read in place by another module on its GPU.
TEST_P(DlpackOfDevice, soDoValues) {
  vx_value *y = run(first, x), *z = run(second, y);
  EXPECT_EQ(objectOf<Value>(y).knownHostBytes(), nullptr);
  EXPECT_EQ(numbersOf(z), (std::vector<int32_t>{37, 46, 55}));
  vx_value_release(y);
  vx_value_release(z);
}

// What does not begin where kernels want it is copied on the device.
TEST_P(DlpackOfDevice, isCopiedThereWhereItIsNotAligned) {
  vx_value *y = run(first, x);
  DLManagedTensorVersioned *given = inPlace(y);
  struct Part {
    DLManagedTensorVersioned tensor, *whole;
    int64_t shape[1];
  } part = {*given, given, {2}};
  part.tensor.manager_ctx = &part;
  part.tensor.deleter = [](DLManagedTensorVersioned *self) {
    Part &mine = *static_cast<Part *>(self->manager_ctx);
    mine.whole->deleter(std::exchange(mine.whole, nullptr));
  };
  part.tensor.dl_tensor.shape = part.shape;
  part.tensor.dl_tensor.byte_offset = 4;
  vx_value *taken = nullptr;
  ASSERT_EQ(vx_tensor_from_dlpack(&part.tensor, &taken), nullptr);
  vx_value *z = run(second, taken);
  EXPECT_EQ(objectOf<Value>(taken).knownHostBytes(), nullptr);
  EXPECT_EQ(numbersOf(z), (std::vector<int32_t>{46, 55}));
  EXPECT_NE(part.whole, nullptr);
  vx_value_release(taken);
  EXPECT_EQ(part.whole, nullptr) << "it was not given back";
  vx_value_release(y);
  vx_value_release(z);
}

// A result takes over the memory of a value that is the runtime's own, and never that of somebody else's.
TEST_P(DlpackOfDevice, isNeverOverwritten) {
  vx_call *call = nullptr;
  ASSERT_EQ(vx_call_create(second, nullptr, &call), nullptr);
  for (const bool isForeign : {false, true}) {
    vx_value *y = run(first, x), *taken = nullptr, *z = nullptr;
    DLManagedTensorVersioned *given = inPlace(y);
    const void *data = given->dl_tensor.data;
    if (isForeign) {
      ASSERT_EQ(vx_tensor_from_dlpack(given, &taken), nullptr);
    } else {
      given->deleter(given);
      taken = std::exchange(y, nullptr);
    }
    const vx_result_place places[] = {{nullptr, 0, taken}};
    ASSERT_EQ(vx_call_run_into(call, 1, &taken, 1, places, &z), nullptr);
    DLManagedTensorVersioned *result = inPlace(z);
    EXPECT_EQ(result->dl_tensor.data == data, !isForeign);
    result->deleter(result);
    EXPECT_EQ(numbersOf(z), (std::vector<int32_t>{37, 46, 55}));
    if (isForeign)
      EXPECT_EQ(numbersOf(y), (std::vector<int32_t>{10, 13, 16}));
    for (vx_value *value : {y, taken, z})
      vx_value_release(value);
  }
  vx_call_release(call);
}

// What the default stream still has to write is there when the tensor is taken.
TEST_P(DlpackOfDevice, waitsForTheDefaultStream) {
  if (std::string_view(GetParam()) != "cuda")
    return; // the default stream of others has no name
  const char *path = std::getenv("VX_CUDA_LIBRARY");
  void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto call = [&]<typename... A>(const char *name, A... arguments) { return callOf(library, name, arguments...); };
  int device = 0;
  void *context = nullptr;
  ASSERT_EQ(call("cuDeviceGet", &device, 0), 0);
  ASSERT_EQ(call("cuDevicePrimaryCtxRetain", &context, device), 0);
  ASSERT_EQ(call("cuCtxPushCurrent_v2", context), 0);
  vx_value *y = run(first, x), *more = run(second, y);
  DLManagedTensorVersioned *late = inPlace(y), *source = inPlace(more);
  const auto address = [](DLManagedTensorVersioned *tensor) {
    return reinterpret_cast<uint64_t>(tensor->dl_tensor.data);
  };
  void *const defaultStream = reinterpret_cast<void *>(uintptr_t(1));
  ASSERT_EQ(call("cuMemcpyAsync", address(late), address(source), size_t(12), defaultStream), 0);
  vx_value *taken = nullptr;
  ASSERT_EQ(vx_tensor_from_dlpack(late, &taken), nullptr);
  vx_value *z = run(second, taken);
  EXPECT_EQ(numbersOf(z), (std::vector<int32_t>{118, 145, 172})); // of 37, 46, 55
  source->deleter(source);
  for (vx_value *value : {y, more, taken, z})
    vx_value_release(value);
  EXPECT_EQ(call("cuCtxPopCurrent_v2", &context), 0);
  EXPECT_EQ(call("cuDevicePrimaryCtxRelease_v2", device), 0);
}

TEST_P(DlpackOfDevice, ofAGpuThatIsNotThere) {
  Foreign foreign;
  foreign.tensor.dl_tensor.device = {deviceType(), 77};
  const std::string text = std::string_view(GetParam()) == "cuda" ? "CUDA" : "ROCm";
  EXPECT_EQ(
      foreign.refusal(VX_NO_DEVICE)
          .find("vx_tensor_from_dlpack: the tensor is in memory of " + text + " device 77, which is not one of the "),
      0u);
  foreign.tensor.dl_tensor.device.device_id = 0;
  foreign.tensor.dl_tensor.data = nullptr;
  EXPECT_EQ(foreign.refusal(VX_INVALID_ARGUMENT),
            "vx_tensor_from_dlpack: the tensor has no data, and its shape 24 bytes");
}
INSTANTIATE_TEST_SUITE_P(Devices, DlpackOfDevice, testing::ValuesIn(builtDevices({"cuda", "rocm"})),
                         [](const auto &info) { return std::string(info.param); });

// Memory of the host is given as it is, that of Vulkan is not.
TEST(Dlpack, inPlace) {
  const int64_t dims[] = {3};
  const int32_t numbers[] = {1, 2, 3};
  vx_value *x = nullptr;
  ASSERT_EQ(vx_tensor_create(VX_I32, 1, dims, numbers, sizeof(numbers), &x), nullptr);
  for (const char *device : {"cpu", "vulkan"}) {
    ModuleBuilder builder;
    addAffine(builder, 64);
    builder.addCpuTarget();
    const bool hasCode = builder.addVulkanTarget();
    Ref<Instance> made;
    if (std::string_view(device) == "vulkan" && (!hasCode || !makeInstance(builder.write(), device, made).ok()))
      continue;
    if (!made)
      ASSERT_OK(makeInstance(builder.write(), device, made));
    vx_instance *instance = giveHandle<vx_instance>(std::move(made));
    vx_value *y = nullptr;
    ASSERT_EQ(vx_instance_call(instance, nullptr, 1, &x, 1, &y), nullptr);
    DLManagedTensorVersioned *tensor = nullptr;
    vx_status status = vx_tensor_to_dlpack_in_place(y, &tensor);
    if (std::string_view(device) == "cpu") {
      ASSERT_EQ(status, nullptr);
      EXPECT_EQ(tensor->dl_tensor.device.device_type, 1);
      EXPECT_EQ(static_cast<const int32_t *>(tensor->dl_tensor.data)[2], 16);
      tensor->deleter(tensor);
    } else if (!objectOf<Value>(y).memory()->host()) {
      EXPECT_EQ(vx_status_code(status), VX_UNSUPPORTED);
      EXPECT_NE(std::string(vx_status_message(status))
                    .find("which has no addresses for others; vx_tensor_to_dlpack copies it to the host"),
                std::string::npos)
          << vx_status_message(status);
    } else if (tensor) {
      tensor->deleter(tensor);
    }
    vx_status_release(status);
    vx_value_release(y);
    vx_instance_release(instance);
  }
  vx_value_release(x);
}

} // namespace vx::test
