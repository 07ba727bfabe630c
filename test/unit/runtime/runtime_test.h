// What the runtime's tests share: status checks and short ways to values and calls.
#ifndef VX_TEST_UNIT_RUNTIME_RUNTIME_TEST_H
#define VX_TEST_UNIT_RUNTIME_RUNTIME_TEST_H

#include "api/drivers.h"
#include "api/handle.h"
#include "exec/call_state.h"
#include "exec/instance.h"
#include "module/module.h"
#include "module_builder.h"

#include <gtest/gtest.h>

namespace vx::test {

#define EXPECT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    ::vx::Status expectedOk = (expression);                                                                            \
    EXPECT_TRUE(expectedOk.ok()) << expectedOk.message();                                                              \
  } while (false)
#define ASSERT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    ::vx::Status assertedOk = (expression);                                                                            \
    ASSERT_TRUE(assertedOk.ok()) << assertedOk.message();                                                              \
  } while (false)
#define EXPECT_FAILS(expression, expectedCode, expectedMessage)                                                        \
  do {                                                                                                                 \
    ::vx::Status expectedFailure = (expression);                                                                       \
    EXPECT_EQ(expectedFailure.code(), expectedCode);                                                                   \
    EXPECT_EQ(expectedFailure.message(), expectedMessage);                                                             \
  } while (false)

// Those of the devices whose drivers this runtime is built with.
inline std::vector<const char *> builtDevices(std::initializer_list<const char *> names) {
  std::vector<const char *> built;
  for (const char *name : names)
    if (std::string_view drivers = "," VX_TEST_DRIVERS ",null,";
        drivers.find("," + std::string(name) + ",") != std::string_view::npos)
      built.push_back(name);
  return built;
}

// Why there is no library of CUDA's or HIP's, whose drivers are tested where one is named; empty for all else.
inline std::string missingLibrary(std::string_view driver) {
  std::vector<hal::DeviceInfo> devices;
  if (driver != "cuda" && driver != "rocm")
    return {};
  hal::Refusal refusal = findDriver(allDrivers(), driver)->enumerate(devices);
  return devices.empty() ? refusal.reason : std::string();
}

// A reference of the C interface to what a test has, for its release function; and the other way.
template <typename C, typename T>
C *giveHandle(Ref<T> object) {
  return reinterpret_cast<C *>(Handle<T>::make(std::move(object)));
}
template <typename T, typename C>
T &objectOf(C *handle) {
  return *reinterpret_cast<Handle<T> *>(handle)->object();
}

// An i32 vector.
inline Ref<Value> vectorValue(const std::vector<int32_t> &values) {
  Ref<Value> value;
  int64_t dims[] = {static_cast<int64_t>(values.size())};
  EXPECT_OK(Value::copyTensor(VX_I32, dims, values.data(), values.size() * sizeof(int32_t), value));
  return value;
}

inline std::vector<int32_t> elementsOf(const Value &value) {
  const void *bytes = nullptr;
  EXPECT_OK(value.hostBytes(bytes));
  const auto *data = static_cast<const int32_t *>(bytes);
  return {data, data + value.size() / sizeof(int32_t)};
}

inline Status makeInstance(const std::string &path, const char *device, Ref<Instance> &instance, uint32_t threads = 2) {
  Ref<Module> module;
  VX_RETURN_IF_ERROR(Module::load(path, module));
  DeviceRequest request;
  VX_RETURN_IF_ERROR(parseDeviceRequest(device, nullptr, allDrivers(), request));
  request.noFallback = true;
  request.threads = threads;
  return Instance::create(std::move(module), request, allDrivers(), instance);
}

// Runs function 0 in a pooled place.
inline Status runMain(Instance &instance, const std::vector<Ref<Value>> &inputs, std::vector<Ref<Value>> &outputs,
                      uint32_t function = 0) {
  std::unique_ptr<CallState> call;
  VX_RETURN_IF_ERROR(instance.takeCall(function, call));
  std::vector<Value *> pointers;
  for (const Ref<Value> &input : inputs)
    pointers.push_back(input.get());
  Status status = call->run(pointers, outputs);
  instance.returnCall(std::move(call));
  return status;
}

} // namespace vx::test

#endif
