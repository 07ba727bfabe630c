// A library that is loaded before the compiler's and the runtime's, and has faults that $VX_PLANTED_FAULT names: a
// compiler that ends, fails or refuses where it has code to make for several targets, a runtime that takes no sizes but
// those of a call's first run, and one that rounds results, or the first input, to f16.
#include "vx/compiler/vxc.h"
#include "vx/runtime/vx.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string_view>
#include <vector>

static std::string_view fault() {
  const char *name = std::getenv("VX_PLANTED_FAULT");
  return name ? name : "";
}

template <typename Function>
static Function own(const char *name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

vxc_result vxc_compile_bytes(const void *model, size_t size, const char *name, const vxc_options *options,
                             vxc_module **module) {
  const bool areSeveral = std::strchr(options->targets, ',') != nullptr && !options->stop_after;
  auto fail = [&](const char *message, vxc_result result) {
    options->on_message(options->user_data, VXC_ERROR, message);
    return result;
  };
  if (areSeveral && fault() == "compiler-ends")
    std::raise(SIGSEGV);
  if (areSeveral && fault() == "compiler-fails")
    return fail("the IR is invalid", VXC_FAILED);
  if (areSeveral && fault() == "compiler-refuses")
    return fail("not supported", VXC_UNSUPPORTED);
  static const auto compile = own<decltype(&vxc_compile_bytes)>("vxc_compile_bytes");
  return compile(model, size, name, options, module);
}

using Sizes = std::vector<std::vector<int64_t>>; // of each input

static Sizes sizesOf(size_t count, vx_value *const *inputs) {
  Sizes sizes;
  for (size_t i = 0; i < count; ++i) {
    const vx_value_info info = vx_value_get_info(inputs[i]);
    sizes.emplace_back(info.dims, info.dims + info.rank);
  }
  return sizes;
}

// A copy of which each f32 has a mantissa of ten bits; null for another type.
static vx_value *rounded(const vx_value *value) {
  const vx_value_info info = vx_value_get_info(value);
  const void *data = nullptr;
  if (info.kind != VX_TENSOR || info.element_type != VX_F32 || vx_tensor_data(value, &data) != nullptr)
    return nullptr;
  std::vector<uint32_t> bits(info.size / sizeof(uint32_t));
  if (!bits.empty())
    std::memcpy(bits.data(), data, info.size);
  for (uint32_t &each : bits)
    if ((each & 0x7f800000) != 0x7f800000)
      each = (each + 0xfff + (each >> 13 & 1)) & ~uint32_t(0x1fff);
  vx_value *made = nullptr;
  if (vx_status status = vx_tensor_create(VX_F32, info.rank, info.dims, bits.data(), info.size, &made))
    vx_status_release(status);
  return made;
}

static std::map<vx_call *, Sizes> firstSizes; // of each call's first run

vx_status vx_call_create(vx_instance *instance, const char *function, vx_call **call) {
  static const auto create = own<decltype(&vx_call_create)>("vx_call_create");
  vx_status status = create(instance, function, call);
  if (!status)
    firstSizes.erase(*call);
  return status;
}

vx_status vx_call_run(vx_call *call, size_t inputCount, vx_value *const *inputs, size_t outputCount,
                      vx_value **outputs) {
  static const auto run = own<decltype(&vx_call_run)>("vx_call_run");
  if (fault() == "sizes-refused" && inputCount > 0) {
    const Sizes sizes = sizesOf(inputCount, inputs);
    if (firstSizes.try_emplace(call, sizes).first->second != sizes)
      return run(call, inputCount - 1, inputs, outputCount, outputs); // which is refused
  }
  std::vector<vx_value *> given(inputs, inputs + inputCount);
  vx_value *factor = fault() == "input-rounded" && inputCount > 0 ? rounded(inputs[0]) : nullptr;
  if (factor)
    given[0] = factor;
  vx_status status = run(call, inputCount, given.data(), outputCount, outputs);
  if (factor)
    vx_value_release(factor);
  if (!status && fault() == "results-rounded")
    for (size_t i = 0; i < outputCount; ++i)
      if (vx_value *made = rounded(outputs[i])) {
        vx_value_release(outputs[i]);
        outputs[i] = made;
      }
  return status;
}
