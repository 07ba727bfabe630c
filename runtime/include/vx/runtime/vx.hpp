// C++ over vx.h: handles that release themselves, and failures as exceptions. Header only; vx.h documents each
// function, its ownership and its threads.
#ifndef VX_RUNTIME_VX_HPP
#define VX_RUNTIME_VX_HPP

#include "vx/runtime/device.hpp"
#include "vx/runtime/error.hpp"
#include "vx/runtime/vx.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Marks a result that points into its object. Clang warns if the object is a temporary that ends earlier.
#if defined(__clang__)
#define VX_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define VX_LIFETIMEBOUND
#endif

namespace vx {
// Inline, so that users write vx::Module, and the runtime's own classes stay apart.
inline namespace api {

// Takes over a string that a function returned.
inline std::string takeString(char *string) {
  std::string result = string ? string : "";
  vx_string_release(string);
  return result;
}

// One reference to an object of the C interface.
template <typename T, void (*Retain)(T *), void (*Release)(T *)>
class Handle {
public:
  Handle() = default;
  // Takes over one reference.
  explicit Handle(T *owned) : object(owned) {}
  Handle(const Handle &other) : object(other.object) {
    if (object)
      Retain(object);
  }
  Handle(Handle &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Handle &operator=(Handle other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Handle() { Release(object); }

  T *get() const { return object; }
  explicit operator bool() const { return object != nullptr; }

protected:
  T *object = nullptr;
};

// The vx_element_type of a C++ type.
template <typename T>
constexpr vx_element_type elementTypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return VX_BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return VX_F32;
  else if constexpr (std::is_same_v<T, double>)
    return VX_F64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return VX_I8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return VX_I16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return VX_I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return VX_I64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return VX_U8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return VX_U16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return VX_U32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return VX_U64;
  else
    return VX_ELEMENT_NONE;
}

class Value : public Handle<vx_value, vx_value_retain, vx_value_release> {
public:
  using Handle::Handle;

  // A tensor with a copy of `data`.
  template <typename T>
  static Value tensor(std::span<const int64_t> dims, std::span<const T> data) {
    static_assert(elementTypeOf<T>() != VX_ELEMENT_NONE, "a type without a vx element type");
    return raw(elementTypeOf<T>(), dims, data.data(), data.size_bytes());
  }
  template <typename T>
  static Value tensor(std::initializer_list<int64_t> dims, const std::vector<T> &data) {
    return tensor<T>(std::span<const int64_t>(dims.begin(), dims.size()), std::span<const T>(data));
  }
  // A tensor of any element type with a copy of `size` bytes.
  static Value raw(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size) {
    Value value;
    check(vx_tensor_create(type, static_cast<uint32_t>(dims.size()), dims.data(), data, size, &value.object));
    return value;
  }
  // A tensor of strings of UTF-8, copied.
  static Value strings(std::span<const int64_t> dims, std::span<const std::string> texts) {
    std::vector<const char *> begins;
    std::vector<size_t> lengths;
    for (const std::string &text : texts) {
      begins.push_back(text.data());
      lengths.push_back(text.size());
    }
    Value value;
    check(vx_strings_create(static_cast<uint32_t>(dims.size()), dims.data(), texts.size(), begins.data(),
                            lengths.data(), &value.object));
    return value;
  }
  // A tensor that reads `data` in place; the bytes must outlive it.
  static Value wrap(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size) {
    Value value;
    check(vx_tensor_wrap(type, static_cast<uint32_t>(dims.size()), dims.data(), data, size, nullptr, nullptr,
                         &value.object));
    return value;
  }
  // A tensor that reads `data` in place, and keeps what owns the bytes. `owner` may go on any thread.
  static Value wrap(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size,
                    std::shared_ptr<const void> owner) {
    auto held = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
    Value value;
    check(vx_tensor_wrap(
        type, static_cast<uint32_t>(dims.size()), dims.data(), data, size,
        [](void *user) { delete static_cast<std::shared_ptr<const void> *>(user); }, held.get(), &value.object));
    (void)held.release();
    return value;
  }
  // A tensor that reads another library's in place and owns it; if this throws the caller still owns it.
  static Value fromDlpack(DLManagedTensorVersioned *tensor) {
    Value value;
    check(vx_tensor_from_dlpack(tensor, &value.object));
    return value;
  }
  // The bytes in memory of the host, for another library to read; the caller calls its deleter.
  DLManagedTensorVersioned *toDlpack() const {
    DLManagedTensorVersioned *tensor = nullptr;
    check(vx_tensor_to_dlpack(object, &tensor));
    return tensor;
  }
  // In place: a tensor on a GPU of cuda or rocm stays in its memory.
  DLManagedTensorVersioned *toDlpackInPlace() const {
    DLManagedTensorVersioned *tensor = nullptr;
    check(vx_tensor_to_dlpack_in_place(object, &tensor));
    return tensor;
  }
  static Value sequence(vx_element_type type, std::span<const Value> elements) {
    std::vector<vx_value *> pointers;
    for (const Value &element : elements)
      pointers.push_back(element.get());
    Value value;
    check(vx_sequence_create(type, pointers.size(), pointers.data(), &value.object));
    return value;
  }
  // An optional; a null `element` makes an empty one.
  static Value optional(vx_element_type type, const Value &element) {
    Value value;
    check(vx_optional_create(type, element.get(), &value.object));
    return value;
  }
  // An optional sequence; a null `sequence` makes one that holds nothing.
  static Value optionalSequence(vx_element_type type, const Value &sequence) {
    Value value;
    check(vx_optional_sequence_create(type, sequence.get(), &value.object));
    return value;
  }

  // A tensor of zeros, of ones, and one whose elements are not meant to be read (at present zeros), in the memory of a
  // device; the default device if that is no `automatic`, else the host. Throws Error: VX_INVALID_ARGUMENT for a size
  // below 0, VX_UNSUPPORTED for ones of a type of less than 16 bits that is no integer of 8, VX_NO_DEVICE,
  // VX_OUT_OF_MEMORY.
  static Value zeros(std::span<const int64_t> dims, vx_element_type type = VX_F32, const Device &device = Device()) {
    return filled(dims, type, device, {});
  }
  static Value ones(std::span<const int64_t> dims, vx_element_type type = VX_F32, const Device &device = Device()) {
    return filled(dims, type, device, oneOf(type));
  }
  static Value empty(std::span<const int64_t> dims, vx_element_type type = VX_F32, const Device &device = Device()) {
    return filled(dims, type, device, {});
  }
  static Value zeros(std::initializer_list<int64_t> dims, vx_element_type type = VX_F32,
                     const Device &device = Device()) {
    return zeros(std::span(dims.begin(), dims.size()), type, device);
  }
  static Value ones(std::initializer_list<int64_t> dims, vx_element_type type = VX_F32,
                    const Device &device = Device()) {
    return ones(std::span(dims.begin(), dims.size()), type, device);
  }
  static Value empty(std::initializer_list<int64_t> dims, vx_element_type type = VX_F32,
                     const Device &device = Device()) {
    return empty(std::span(dims.begin(), dims.size()), type, device);
  }

  // One more reference to a value that is borrowed, as an observer's are.
  static Value share(vx_value *borrowed) {
    vx_value_retain(borrowed);
    return Value(borrowed);
  }

  vx_value_info info() const { return vx_value_get_info(object); }
  // They live as long as the value.
  std::span<const int64_t> dims() const VX_LIFETIMEBOUND {
    vx_value_info facts = info();
    return {facts.dims, facts.rank};
  }
  // A tensor in the memory of a device, see vx_value_to_device.
  Value to(const std::string &device) const {
    Value result;
    check(vx_value_to_device(object, device.c_str(), &result.object));
    return result;
  }
  Value to(const Device &device) const { return to(device.text()); }
  // The device that holds a tensor, "cuda:0"; empty for a sequence or an optional.
  std::string device() const {
    const char *name = vx_value_device(object);
    return name ? name : "";
  }
  Value element(size_t index) const {
    Value result;
    check(vx_value_element(object, index, &result.object));
    return result;
  }
  // The bytes on the host; they live as long as the value.
  std::span<const std::byte> bytes() const VX_LIFETIMEBOUND {
    const void *data = nullptr;
    check(vx_tensor_data(object, &data));
    return {static_cast<const std::byte *>(data), static_cast<size_t>(info().size)};
  }
  // The elements of a tensor of strings; they live as long as the value.
  std::vector<std::string_view> strings() const VX_LIFETIMEBOUND {
    std::vector<std::string_view> texts(info().count);
    for (size_t i = 0; i < texts.size(); ++i) {
      const char *text = nullptr;
      size_t length = 0;
      check(vx_strings_element(object, i, &text, &length));
      texts[i] = {text, length};
    }
    return texts;
  }
  // The elements, which live as long as the value. `for (float x : call.run(inputs)[0].data<float>())` reads freed
  // memory: name the results first. Throws std::invalid_argument when the tensor has another element type.
  template <typename T>
  std::span<const T> data() const VX_LIFETIMEBOUND {
    if (info().element_type != elementTypeOf<T>())
      throw std::invalid_argument(std::string("the tensor's elements are ") +
                                  vx_element_type_name(info().element_type) + ", asked for " +
                                  vx_element_type_name(elementTypeOf<T>()));
    std::span<const std::byte> all = bytes();
    return {reinterpret_cast<const T *>(all.data()), all.size() / sizeof(T)};
  }

private:
  // The bytes of a 1.
  static std::vector<std::byte> oneOf(vx_element_type type) {
    auto bytesOf = [](auto number) {
      const auto *first = reinterpret_cast<const std::byte *>(&number);
      return std::vector<std::byte>(first, first + sizeof(number));
    };
    switch (type) {
    case VX_F32:
      return bytesOf(1.0F);
    case VX_F64:
      return bytesOf(1.0);
    case VX_F16:
      return bytesOf(uint16_t(0x3C00));
    case VX_BF16:
      return bytesOf(uint16_t(0x3F80));
    case VX_BOOL:
    case VX_I8:
    case VX_U8:
      return bytesOf(uint8_t(1));
    case VX_I16:
    case VX_U16:
      return bytesOf(uint16_t(1));
    case VX_I32:
    case VX_U32:
      return bytesOf(uint32_t(1));
    case VX_I64:
    case VX_U64:
      return bytesOf(uint64_t(1));
    default:
      throw Error(VX_UNSUPPORTED,
                  std::string("ones: expected a type of numbers of 8 bits or more, got ") + vx_element_type_name(type));
    }
  }
  // Of elements that are all `element`; without one all bytes are 0.
  static Value filled(std::span<const int64_t> dims, vx_element_type type, const Device &device,
                      const std::vector<std::byte> &element) {
    uint64_t count = 1;
    for (int64_t dim : dims) {
      if (dim < 0 || (dim > 0 && count > UINT64_MAX / 64 / static_cast<uint64_t>(dim)))
        throw Error(VX_INVALID_ARGUMENT,
                    "tensor: expected sizes of 0 or more that memory holds, got " + std::to_string(dim));
      count *= static_cast<uint64_t>(dim);
    }
    std::vector<std::byte> bytes;
    try {
      bytes.resize((count * vx_element_type_bits(type) + 7) / 8);
    } catch (const std::exception &) {
      throw Error(VX_OUT_OF_MEMORY,
                  "tensor: no memory for " + std::to_string(count) + " elements of " + vx_element_type_name(type));
    }
    if (!element.empty())
      for (size_t i = 0; i < bytes.size(); i += element.size())
        std::copy(element.begin(), element.end(), bytes.begin() + static_cast<ptrdiff_t>(i));
    const Value made = raw(type, dims, bytes.data(), bytes.size());
    return device.kind() == DeviceKind::automatic ? made : made.to(device);
  }
};

class Module : public Handle<vx_module, vx_module_retain, vx_module_release> {
public:
  using Handle::Handle;
  explicit Module(const std::string &path) { check(vx_module_load(path.c_str(), &object)); }
  // Of bytes that outlive the module and its instances, see vx_module_load_bytes; those of a temporary would not.
  Module(std::span<const std::byte> bytes VX_LIFETIMEBOUND, const std::string &name) {
    check(vx_module_load_bytes(bytes.data(), bytes.size(), name.c_str(), &object));
  }
  Module(std::vector<std::byte> &&bytes, const std::string &name) = delete;

  std::span<const vx_function_info> functions() const {
    size_t count = 0;
    const vx_function_info *first = vx_module_functions(object, &count);
    return {first, count};
  }
  // Of one of `functions`.
  std::span<const vx_alias_info> aliases(const vx_function_info &function) const {
    size_t count = 0;
    const vx_alias_info *first = vx_module_aliases(object, static_cast<size_t>(&function - functions().data()), &count);
    return {first, count};
  }
  // Of one of `functions`; null when nothing is known about batching its calls.
  const vx_batch_info *batch(const vx_function_info &function) const {
    return vx_module_batch(object, static_cast<size_t>(&function - functions().data()));
  }
  // Of one of `functions`: true where runs of the same sizes may take different times.
  bool hasLoops(const vx_function_info &function) const {
    return vx_module_has_loops(object, static_cast<size_t>(&function - functions().data())) != 0;
  }
  std::span<const vx_variable_info> variables() const {
    size_t count = 0;
    const vx_variable_info *first = vx_module_variables(object, &count);
    return {first, count};
  }
  // Those that are bound when an instance is made.
  std::span<const vx_symbol_info> symbols() const {
    size_t count = 0;
    const vx_symbol_info *first = vx_module_symbols(object, &count);
    return {first, count};
  }
  std::span<const vx_asset_info> assets() const {
    size_t count = 0;
    const vx_asset_info *first = vx_module_assets(object, &count);
    return {first, count};
  }
  std::span<const vx_constant_info> constants() const {
    size_t count = 0;
    const vx_constant_info *first = vx_module_constants(object, &count);
    return {first, count};
  }
  // Null when the module does not train.
  const vx_training_info *training() const { return vx_module_training(object); }
  std::string describe() const {
    char *json = nullptr;
    check(vx_module_describe(object, &json));
    return takeString(json);
  }
  void verify() const { check(vx_module_verify(object)); }
};

// Every backend with its devices or the reason why it has none, as JSON.
inline std::string listDevices() {
  char *json = nullptr;
  check(vx_list_devices(&json));
  return takeString(json);
}

struct InstanceOptions {
  std::string device = detail::defaultDeviceText(); // a Device, or its text; "cuda" is any GPU of cuda
  std::string deviceOrder = {};                     // empty: VX_DEVICE_ORDER or the default
  bool noFallback = false;
  uint32_t threads = 0;
  std::string variant = {};                                  // empty: the best
  uint32_t waitLimitMs = 0;                                  // 0: no limit
  std::vector<std::pair<std::string, int64_t>> symbols = {}; // of Module::symbols
  vx_instance *share =
      nullptr;              // its device, parameters and statistics are used; the fields above except `symbols` are not
  uint64_t seed = 0;        // of variables that start with random values
  uint64_t memoryLimit = 0; // bytes of the device, of all instances that share variables; 0: no limit
};

namespace detail {

// Sizes for the C interface; `sizes` outlives the result.
inline std::vector<vx_symbol_value> givenSizes(std::span<const std::pair<std::string, int64_t>> sizes) {
  std::vector<vx_symbol_value> given;
  for (const auto &[name, value] : sizes)
    given.push_back({name.c_str(), value});
  return given;
}

class GivenOptions {
public:
  explicit GivenOptions(const InstanceOptions &options) : symbols(givenSizes(options.symbols)) {
    given.struct_size = sizeof(given);
    given.share = options.share;
    given.seed = options.seed;
    given.memory_limit = options.memoryLimit;
    if (!options.share) {
      given.device = options.device.c_str();
      given.device_order = options.deviceOrder.empty() ? nullptr : options.deviceOrder.c_str();
      given.no_fallback = options.noFallback;
      given.threads = options.threads;
      given.variant = options.variant.empty() ? nullptr : options.variant.c_str();
      given.wait_limit_ms = options.waitLimitMs;
    }
    given.symbol_count = symbols.size();
    given.symbols = symbols.data();
  }
  const vx_instance_options *get() const { return &given; }

private:
  std::vector<vx_symbol_value> symbols;
  vx_instance_options given = {};
};

} // namespace detail

// The memory that a call of a function needs at these sizes of its inputs, on the device that an instance with these
// options would use. There need not be an instance.
inline vx_memory_estimate estimateMemory(const Module &module, const std::string &function,
                                         std::span<const std::pair<std::string, int64_t>> sizes,
                                         const InstanceOptions &options = {}) {
  const std::vector<vx_symbol_value> symbols = detail::givenSizes(sizes);
  vx_memory_estimate estimate = {};
  estimate.struct_size = sizeof(estimate);
  check(vx_module_estimate_memory(module.get(), detail::GivenOptions(options).get(), function.c_str(), symbols.size(),
                                  symbols.data(), &estimate));
  return estimate;
}

class Instance : public Handle<vx_instance, vx_instance_retain, vx_instance_release> {
public:
  using Handle::Handle;
  explicit Instance(const Module &module, const InstanceOptions &options = {}) {
    check(vx_instance_create(module.get(), detail::GivenOptions(options).get(), &object));
  }

  std::string report(vx_report_format format = VX_REPORT_TEXT) const {
    char *text = nullptr;
    check(vx_instance_report(object, format, &text));
    return takeString(text);
  }
  // The most bytes that calls use together, beside the variables; 0: no limit.
  void limitCalls(uint64_t bytes) { check(vx_instance_limit_calls(object, bytes)); }
  // The memory that a call of a function needs at these sizes of its inputs.
  vx_memory_estimate estimateMemory(const std::string &function,
                                    std::span<const std::pair<std::string, int64_t>> sizes) const {
    const std::vector<vx_symbol_value> symbols = detail::givenSizes(sizes);
    vx_memory_estimate estimate = {};
    estimate.struct_size = sizeof(estimate);
    check(vx_instance_estimate_memory(object, function.c_str(), symbols.size(), symbols.data(), &estimate));
    return estimate;
  }
  std::span<const vx_variable_info> variables() const {
    size_t count = 0;
    const vx_variable_info *first = vx_instance_variables(object, &count);
    return {first, count};
  }
  // In the order of `names`, as they are at one time.
  std::vector<Value> readVariables(std::span<const std::string> names) const {
    std::vector<const char *> texts;
    for (const std::string &name : names)
      texts.push_back(name.c_str());
    std::vector<vx_value *> values(names.size());
    check(vx_instance_read_variables(object, names.size(), texts.data(), values.data()));
    return {values.begin(), values.end()};
  }
  // See vx_instance_save_module.
  void saveModule(const std::string &path, std::span<const std::string> names) const {
    std::vector<const char *> texts;
    for (const std::string &name : names)
      texts.push_back(name.c_str());
    check(vx_instance_save_module(object, names.size(), texts.data(), path.c_str()));
  }
  // All or none.
  void writeVariables(std::span<const std::string> names, std::span<const Value> values) {
    std::vector<const char *> texts;
    for (const std::string &name : names)
      texts.push_back(name.c_str());
    std::vector<vx_value *> given;
    for (const Value &value : values)
      given.push_back(value.get());
    // A name without a value is a null pointer, which is named.
    given.resize(names.size());
    check(vx_instance_write_variables(object, names.size(), texts.data(), given.data()));
  }
  Value readVariable(const std::string &name) const {
    vx_value *value = nullptr;
    check(vx_instance_read_variable(object, name.c_str(), &value));
    return Value(value);
  }
  void writeVariable(const std::string &name, const Value &value) {
    check(vx_instance_write_variable(object, name.c_str(), value.get()));
  }

  // Runs a function of the module, and once more on the next device if that fails with VX_DEVICE_LOST,
  // VX_OUT_OF_MEMORY or VX_UNSUPPORTED: this is the instance there then, and its report has the device that failed. Not
  // after a variable has been written. For one thread at a time. See vx_try_with_fallback.
  std::vector<Value> tryWithFallback(const vx_function_info &function, std::span<const Value> inputs) {
    std::vector<vx_value *> given, results(function.output_count);
    for (const Value &input : inputs)
      given.push_back(input.get());
    check(vx_try_with_fallback(&object, function.name, given.size(), given.data(), results.size(), results.data()));
    return {results.begin(), results.end()};
  }
  std::vector<Value> tryWithFallback(const vx_function_info &function, std::initializer_list<Value> inputs) {
    return tryWithFallback(function, std::span<const Value>(inputs.begin(), inputs.size()));
  }

  // Memory of the host for inputs, from which the device copies by itself: see vx_instance_host_alloc.
  std::shared_ptr<std::byte> hostMemory(uint64_t size) const {
    void *data = nullptr;
    check(vx_instance_host_alloc(object, size, &data));
    return {static_cast<std::byte *>(data), vx_host_free};
  }
  // The tensor in the memory of the device. Calls read it there without a transfer.
  Value upload(const Value &value) {
    vx_value *placed = nullptr;
    check(vx_instance_upload(object, value.get(), &placed));
    return Value(placed);
  }
};

// A run in progress, see vx_call_submit. The last handle of it waits until it is done.
class Pending : public Handle<vx_pending, vx_pending_retain, vx_pending_release> {
public:
  Pending() = default;
  // Takes over one reference to a run with so many results.
  Pending(vx_pending *owned, size_t outputs) : Handle(owned), outputCount(outputs) {}

  // One that is held.
  void start() { check(vx_call_start(object)); }
  std::vector<Value> wait() const {
    std::vector<vx_value *> results(outputCount);
    check(vx_call_wait(object, results.size(), results.data()));
    return {results.begin(), results.end()};
  }
  // Throws Error with VX_TIMED_OUT if it is not done by then; it goes on.
  std::vector<Value> waitFor(uint32_t milliseconds) const {
    std::vector<vx_value *> results(outputCount);
    check(vx_call_wait_for(object, milliseconds, results.size(), results.data()));
    return {results.begin(), results.end()};
  }
  void cancel() const { vx_call_cancel(object); }

private:
  size_t outputCount = 0;
};

class Call : public Handle<vx_call, vx_call_retain, vx_call_release> {
public:
  using Handle::Handle;
  // `function` is one of the module's; each run gives its outputs.
  Call(const Instance &instance, const vx_function_info &function) : outputCount(function.output_count) {
    check(vx_call_create(instance.get(), function.name, &object));
  }

  std::vector<Value> run(std::span<const Value> inputs) {
    std::vector<vx_value *> given, results(outputCount);
    for (const Value &input : inputs)
      given.push_back(input.get());
    check(vx_call_run(object, given.size(), given.data(), results.size(), results.data()));
    std::vector<Value> values;
    for (vx_value *result : results)
      values.emplace_back(result);
    return values;
  }
  // A result with a place is written there, and its value reads the bytes there.
  std::vector<Value> runInto(std::span<const Value> inputs, std::span<const vx_result_place> places) {
    std::vector<vx_value *> given, results(places.size());
    for (const Value &input : inputs)
      given.push_back(input.get());
    check(vx_call_run_into(object, given.size(), given.data(), results.size(), places.data(), results.data()));
    std::vector<Value> values;
    for (vx_value *result : results)
      values.emplace_back(result);
    return values;
  }
  std::vector<Value> run(std::initializer_list<Value> inputs) {
    return run(std::span<const Value>(inputs.begin(), inputs.size()));
  }
  // Starts a run on another thread, unless it is held. `places` as for runInto, or none.
  Pending submit(std::span<const Value> inputs, bool hold = false, std::span<const vx_result_place> places = {},
                 uint32_t deadlineMs = 0) {
    return submitWith(inputs, hold, places, deadlineMs, nullptr);
  }
  Pending submit(std::initializer_list<Value> inputs, bool hold = false, std::span<const vx_result_place> places = {},
                 uint32_t deadlineMs = 0) {
    return submit(std::span<const Value>(inputs.begin(), inputs.size()), hold, places, deadlineMs);
  }

  // Is called once when a run is done: with its results, or with none and the failure, an Error. On the thread of the
  // run, or on that which drops a run that is held. It must not use the call or a run of it. Exceptions that leave it
  // are dropped. See vx_done_fn.
  using WhenDone = std::function<void(std::vector<Value> results, std::exception_ptr failed)>;
  // Starts a run, as submit does.
  Pending submit(std::span<const Value> inputs, WhenDone whenDone, std::span<const vx_result_place> places = {},
                 uint32_t deadlineMs = 0) {
    return submitWith(inputs, false, places, deadlineMs, std::make_unique<WhenDone>(std::move(whenDone)));
  }
  Pending submit(std::initializer_list<Value> inputs, WhenDone whenDone, std::span<const vx_result_place> places = {},
                 uint32_t deadlineMs = 0) {
    return submit(std::span<const Value>(inputs.begin(), inputs.size()), std::move(whenDone), places, deadlineMs);
  }

  // A run whose results go into a future, which throws the Error of a run that failed. `pending` cancels it; the last
  // handle of it waits until it is done.
  struct Submitted {
    Pending pending;
    std::future<std::vector<Value>> results;
  };
  Submitted submitFuture(std::span<const Value> inputs, std::span<const vx_result_place> places = {},
                         uint32_t deadlineMs = 0) {
    auto promise = std::make_shared<std::promise<std::vector<Value>>>();
    std::future<std::vector<Value>> results = promise->get_future();
    Pending pending = submit(
        inputs,
        [promise](std::vector<Value> given, const std::exception_ptr &failed) {
          if (failed)
            promise->set_exception(failed);
          else
            promise->set_value(std::move(given));
        },
        places, deadlineMs);
    return {std::move(pending), std::move(results)};
  }
  Submitted submitFuture(std::initializer_list<Value> inputs, std::span<const vx_result_place> places = {},
                         uint32_t deadlineMs = 0) {
    return submitFuture(std::span<const Value>(inputs.begin(), inputs.size()), places, deadlineMs);
  }
  void setProfile(bool on) { vx_call_set_profile(object, on); }
  void setStream(void *stream) { check(vx_call_set_stream(object, stream)); }
  void setObserver(vx_dispatch_observer observer, void *user) { vx_call_set_observer(object, observer, user); }
  std::string report() const {
    char *json = nullptr;
    check(vx_call_report(object, &json));
    return takeString(json);
  }
  // For Perfetto, of a run that was profiled.
  std::string trace() const {
    char *json = nullptr;
    check(vx_call_trace(object, &json));
    return takeString(json);
  }

private:
  Pending submitWith(std::span<const Value> inputs, bool hold, std::span<const vx_result_place> places,
                     uint32_t deadlineMs, std::unique_ptr<WhenDone> whenDone) {
    std::vector<vx_value *> given;
    for (const Value &input : inputs)
      given.push_back(input.get());
    vx_submit_options options = {};
    options.struct_size = sizeof(options);
    options.hold = hold;
    options.place_count = places.size();
    options.places = places.data();
    options.deadline_ms = deadlineMs;
    options.done = whenDone ? tellDone : nullptr;
    options.done_user = whenDone.get();
    vx_pending *pending = nullptr;
    check(vx_call_submit(object, given.size(), given.data(), &options, &pending));
    (void)whenDone.release(); // which `tellDone` deletes
    return Pending(pending, outputCount);
  }
  static void tellDone(void *user, vx_status status, size_t count, vx_value *const *outputs) noexcept {
    const std::unique_ptr<WhenDone> whenDone(static_cast<WhenDone *>(user));
    try {
      std::vector<Value> results;
      for (size_t i = 0; i < count; ++i)
        results.push_back(Value::share(outputs[i]));
      std::exception_ptr failed;
      if (status)
        failed = std::make_exception_ptr(Error(vx_status_code(status), vx_status_message(status)));
      (*whenDone)(std::move(results), std::move(failed));
    } catch (...) { // NOLINT: nobody is there to take it
    }
  }

  size_t outputCount = 0;
};

} // namespace api
} // namespace vx

#endif
