// Tensors from other libraries and for them, as DLPack lays them out.
#include "api/dlpack.h"
#include "vx/runtime/vx.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

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
  EXPECT_EQ(gap.refusal(VX_UNSUPPORTED), name + "dimension 0 has the stride 4, want 3: row-major without gaps");
  Foreign order;
  order.strides[0] = 1, order.strides[1] = 2;
  EXPECT_EQ(order.refusal(VX_UNSUPPORTED), name + "dimension 1 has the stride 2, want 1: row-major without gaps");
  Foreign backward;
  backward.strides[1] = -1;
  EXPECT_EQ(backward.refusal(VX_UNSUPPORTED), name + "dimension 1 has the stride -1, want 1: row-major without gaps");
  Foreign elsewhere;
  elsewhere.tensor.dl_tensor.device = {2, 1};
  EXPECT_EQ(elsewhere.refusal(VX_UNSUPPORTED),
            name + "the tensor is in memory of CUDA device 1, want memory of the host");
  elsewhere.tensor.dl_tensor.device = {99, 0};
  EXPECT_EQ(elsewhere.refusal(VX_UNSUPPORTED),
            name + "the tensor is in memory of DLPack's device type 99, want memory of the host");
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
  EXPECT_EQ(later.refusal(VX_UNSUPPORTED), name + "the tensor is of DLPack 2.3, want version 1");
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

TEST(Dlpack, whatCannotBeGiven) {
  vx_value *four = nullptr;
  const int64_t dims[] = {2};
  const uint8_t byte = 0x21;
  ASSERT_EQ(vx_tensor_create(VX_I4, 1, dims, &byte, 1, &four), nullptr);
  DLManagedTensorVersioned *tensor = nullptr;
  vx_status status = vx_tensor_to_dlpack(four, &tensor);
  EXPECT_STREQ(vx_status_message(status), "vx_tensor_to_dlpack: i4[2] is of a type that DLPack has not");
  vx_status_release(status);
  vx_value *list = nullptr;
  ASSERT_EQ(vx_sequence_create(VX_I4, 1, &four, &list), nullptr);
  status = vx_tensor_to_dlpack(list, &tensor);
  EXPECT_STREQ(vx_status_message(status), "vx_tensor_to_dlpack: want a tensor, got sequence of i4");
  EXPECT_EQ(tensor, nullptr);
  vx_status_release(status);
  vx_value_release(list);
  vx_value_release(four);
}

} // namespace vx::test
