// vx.hpp over the shared library, as an application uses it. Argument: a module file of the tests.
#include "vx/runtime/vx.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

// The bytes of a temporary do not outlive the module.
static_assert(!std::is_constructible_v<vx::Module, std::vector<std::byte>, std::string>);
static_assert(std::is_constructible_v<vx::Module, const std::vector<std::byte> &, std::string>);

static int check(bool condition, const char *what) {
  if (!condition)
    std::fprintf(stderr, "wrong: %s\n", what);
  return condition ? 0 : 1;
}

static_assert(std::is_nothrow_copy_constructible_v<vx::Device> && std::is_trivially_copyable_v<vx::Device>);

static std::string faultOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const vx::Error &error) {
    return std::to_string(error.code()) + ' ' + error.what();
  }
  return "none";
}

// Results by a function that is called, and by a future.
static int checkWhenDone(vx::Call &call, const vx::Value &x) {
  int wrong = 0;
  std::promise<std::thread::id> told;
  std::vector<vx::Value> results;
  vx::Pending run = call.submit({x}, [&](std::vector<vx::Value> given, const std::exception_ptr &failed) {
    results = std::move(given);
    if (!failed)
      told.set_value(std::this_thread::get_id());
    throw std::runtime_error("which is dropped");
  });
  wrong += check(told.get_future().get() != std::this_thread::get_id(), "the thread of a function that is called");
  wrong += check(run.wait()[0].data<int32_t>()[0] == 10 && results.at(0).data<int32_t>()[0] == 10, "results twice");
  vx::Call::Submitted submitted = call.submitFuture({x});
  wrong += check(submitted.results.get().at(0).data<int32_t>()[0] == 10, "a future");
  // It is called before a wait goes on, so that what it uses may go then.
  for (int turn = 0; turn < 100; ++turn) {
    auto isTold = std::make_unique<bool>(false);
    vx::Pending one =
        call.submit({x}, [&](const std::vector<vx::Value> &, const std::exception_ptr &) { *isTold = true; });
    (void)one.wait();
    wrong += check(*isTold, "a function that is called before the end of a wait");
  }
  try {
    (void)call.submitFuture({x, x});
    wrong += check(false, "a future of too many inputs");
  } catch (const vx::Error &error) {
    wrong += check(error.code() == VX_INVALID_ARGUMENT, error.what());
  }
  return wrong;
}

// The null device copies inputs, which the CPU reads in place: within the limit the call fits on the CPU alone.
static int checkFallback(const vx::Module &module, const vx::Value &x) {
  int wrong = 0;
  vx::InstanceOptions options;
  options.device = "null";
  const vx_function_info &function = module.functions()[0];
  const std::vector<std::pair<std::string, int64_t>> sizes = {{"n", x.dims()[0]}};
  const vx_memory_estimate onNull = vx::estimateMemory(module, function.name, sizes, options);
  options.memoryLimit = onNull.arena + onNull.results + onNull.inputs - 1;
  vx::Instance instance(module, options);
  static std::string warning;
  vx_set_log([](void *, vx_log_level, const char *message) { warning = message; }, nullptr, VX_LOG_WARNING);
  const std::vector<vx::Value> results = instance.tryWithFallback(function, {x});
  vx_set_log(nullptr, nullptr, VX_LOG_NONE);
  wrong += check(results.at(0).data<int32_t>()[0] == 10, "results of another device");
  wrong += check(instance.report().find("device taken: cpu:0") != std::string::npos &&
                     instance.report().find("device failed: null:0: ") != std::string::npos,
                 instance.report().c_str());
  wrong += check(warning.starts_with("null:0 failed (out_of_memory: ") && warning.ends_with("); falling back to cpu"),
                 warning.c_str());
  return wrong;
}

static int checkDeviceValues() {
  using vx::Device, vx::DeviceKind;
  int wrong = 0;
  wrong += check(Device("cuda:1").kind() == DeviceKind::cuda && Device("cuda:1").index() == 1, "a device's parts");
  wrong += check(Device("cuda") == Device(DeviceKind::cuda) && Device("cuda:1") != Device("cuda:2") &&
                     Device("cuda:1") != Device("rocm:1"),
                 "equal devices");
  wrong += check(Device("vulkan:3").text() == "vulkan:3" && Device("auto").text() == "auto" &&
                     std::string(Device(DeviceKind::automatic, 3)) == "auto" &&
                     Device(DeviceKind::automatic, 3) == Device("auto"),
                 "texts of devices");
  const std::set<Device> ordered = {Device("cpu"), Device("cuda:1"), Device("cuda"), Device("cpu:0")};
  wrong += check(ordered.size() == 3 && std::hash<Device>()(Device("cpu")) == std::hash<Device>()(Device("cpu:0")) &&
                     std::hash<Device>()(Device("cpu")) != std::hash<Device>()(Device("cpu:1")),
                 "devices in sets");
  wrong +=
      check(faultOf([] { Device("gpu"); }) == "1 device 'gpu': expected auto, cpu, cuda, rocm, vulkan or null, and "
                                              "a number after a colon or none",
            "an unknown kind");
  for (const char *text : {"cuda:", "cuda:-1", "cuda:1x", "cuda:4294967296"})
    wrong +=
        check(faultOf([&] { (void)Device(text); }) ==
                  std::string("1 device '") + text + "': expected a number after the colon, got '" + (text + 5) + "'",
              text);
  wrong += check(faultOf([] { Device("auto:0"); }).ends_with("after the colon, and none for auto, got '0'"), "auto:0");
  // The host's memory is that of the CPU.
  wrong += check(vx::available(DeviceKind::cpu) && Device("cpu").isAvailable() && !Device("cpu").isGpu(), "the CPU");
  wrong += check(Device("cpu").freeMemory() > 0 && Device("cpu").freeMemory() <= Device("cpu").info().total_memory,
                 "free memory of the CPU");
  wrong += check(faultOf([] { (void)Device("null").freeMemory(); }) ==
                     "4 vx_device_free_memory: device 'null:0' does not tell its free memory",
                 "free memory of no device");
  wrong += check(!Device("cpu:1").isAvailable() && !Device("cpu:1").isGpu(), "a CPU that is not there");
  wrong += check(std::string_view(Device("cpu").info().device) == "cpu:0" && Device("cpu").info().name[0] != 0 &&
                     Device("cpu").info().software == 0,
                 "facts about the CPU");
  wrong += check(vx::devices(DeviceKind::cpu) == std::vector{Device("cpu")} &&
                     vx::devices(DeviceKind::automatic).size() == 1,
                 "all devices");
  wrong += check(faultOf([] { (void)Device("cpu:9").info(); }) ==
                     "5 vx_device_find: device 'cpu:9' is not there: cpu: there is no device 9, but 1 of them",
                 faultOf([] { (void)Device("cpu:9").info(); }).c_str());
  wrong += check(!Device("null").isGpu(), "null is no GPU");
  // The default: the environment's, then one that is set.
  unsetenv("VX_DEVICE");
  wrong += check(Device() == Device("auto") && vx::InstanceOptions().device == "auto", "no default device");
  setenv("VX_DEVICE", "cuda", 1);
  wrong += check(Device() == Device("cuda:0") && vx::InstanceOptions().device == "cuda", "VX_DEVICE");
  vx::setDefaultDevice(Device("cpu"));
  wrong += check(Device() == Device("cpu") && vx::InstanceOptions().device == "cpu:0", "a device that is set");
  wrong += check(faultOf([] { vx::setDefaultDevice(Device("cpu:9")); }).starts_with("5 ") && Device() == Device("cpu"),
                 "a default device that is not there");
  wrong += check(vx::Value::ones({2}).device() == "cpu:0", "tensors on the default device");
  vx::setDefaultDevice(std::nullopt);
  wrong += check(Device() == Device("cuda"), "VX_DEVICE again");
  setenv("VX_DEVICE", "gpu", 1);
  wrong += check(faultOf([] { Device(); }).starts_with("1 VX_DEVICE: device 'gpu': expected "), "a wrong VX_DEVICE");
  setenv("VX_DEVICE", "", 1);
  wrong += check(Device() == Device("auto"), "an empty VX_DEVICE");
  return wrong;
}

// Equal bytes after each way, on all devices that are there.
static int checkFilled() {
  using vx::Device, vx::DeviceKind;
  int wrong = 0;
  std::vector<Device> all = {Device("cpu")};
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::rocm, DeviceKind::vulkan})
    for (const Device &device : vx::devices(kind))
      all.push_back(device);
  std::printf("%zu devices\n", all.size());
  for (const Device &device : all) {
    const vx::Value zeros = vx::Value::zeros({2, 3}, VX_I16, device), ones = vx::Value::ones({3}, VX_F32, device);
    wrong += check(zeros.device() == device.text() && ones.device() == device.text(), "where tensors are");
    const vx::Value home = zeros.to(Device("cpu")), one = ones.to("cpu");
    wrong += check(home.dims()[1] == 3 && home.bytes().size() == 12 && home.data<int16_t>()[5] == 0, "zeros");
    wrong += check(one.data<float>()[0] == 1 && one.data<float>()[2] == 1, "ones");
    std::vector<int64_t> numbers(1000);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<int64_t>(i * i) - 5000;
    const vx::Value x = vx::Value::tensor<int64_t>({10, 100}, numbers);
    for (const Device &other : all) {
      const vx::Value back = x.to(device).to(other).to(device).to(DeviceKind::cpu);
      wrong += check(std::equal(numbers.begin(), numbers.end(), back.data<int64_t>().begin()) && back.dims()[1] == 100,
                     "bytes after a round trip");
    }
  }
  wrong += check(
      vx::Value::ones({1}, VX_F64).data<double>()[0] == 1 && vx::Value::ones({1}, VX_I64).data<int64_t>()[0] == 1 &&
          vx::Value::ones({2}, VX_U8).data<uint8_t>()[1] == 1 && vx::Value::ones({2}, VX_I32).data<int32_t>()[1] == 1 &&
          vx::Value::ones({2}, VX_BOOL).bytes()[1] == std::byte(1),
      "ones of other types");
  wrong += check(vx::Value::ones({1}, VX_F16).bytes()[1] == std::byte(0x3C) &&
                     vx::Value::ones({1}, VX_BF16).bytes()[1] == std::byte(0x3F),
                 "ones of narrow floats");
  wrong += check(vx::Value::zeros({}).bytes().size() == 4 && vx::Value::empty({0, 7}).bytes().empty(), "shapes");
  wrong += check(faultOf([] { (void)vx::Value::zeros({2, -1}); }) ==
                     "1 tensor: expected sizes of 0 or more that memory holds, got -1",
                 "a size below 0");
  wrong +=
      check(faultOf([] { (void)vx::Value::zeros({1LL << 62, 1LL << 62}); }).starts_with("1 "), "too many elements");
  wrong += check(faultOf([] { (void)vx::Value::ones({2}, VX_I4); }) ==
                     "4 ones: expected a type of numbers of 8 bits or more, got i4",
                 "ones of i4");
  wrong += check(vx::Value::zeros({3}, VX_I4).bytes().size() == 2, "zeros of i4");
  wrong +=
      check(faultOf([] { (void)vx::Value::zeros({1}, VX_F32, Device("cpu:3")); }).starts_with("5 "), "no such device");
  return wrong;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  int wrong = 0;
  try {
    vx::Module module(argv[1]);
    module.verify();
    wrong += check(module.functions().size() == 1 && module.variables().empty(), "signature");
    wrong += check(module.describe().starts_with("{\"version\":1,"), "describe");
    vx::Instance instance(module,
                          {.device = "cpu", .deviceOrder = "", .noFallback = true, .threads = 2, .variant = ""});
    const vx_memory_estimate before = vx::estimateMemory(module, "main", {{{"n", 3}}}, {.device = "cpu"});
    wrong += check(before.total == 24 && before.total == instance.estimateMemory("main", {{{"n", 3}}}).total,
                   "estimate before there is an instance");
    vx::Call call(instance, module.functions()[0]);
    vx::Value x = vx::Value::tensor<int32_t>({3}, {1, 2, 3});
    // By way of another library's tensor: the same bytes.
    x = vx::Value::fromDlpack(x.toDlpack());
    std::vector<vx::Value> outputs = call.run({x});
    wrong += check(outputs.size() == 1 && outputs[0].data<int32_t>()[2] == 16, "result");
    const std::shared_ptr<std::byte> memory = instance.hostMemory(12);
    std::memcpy(memory.get(), x.bytes().data(), 12);
    const vx::Value inMemory = vx::Value::wrap(VX_I32, x.dims(), memory.get(), 12, memory);
    wrong +=
        check(reinterpret_cast<uintptr_t>(memory.get()) % 64 == 0 && call.run({inMemory})[0].data<int32_t>()[2] == 16,
              "an input in memory for inputs");
    static std::string logged;
    vx_set_log([](void *, vx_log_level, const char *message) { logged = message; }, nullptr, VX_LOG_ERROR);
    vx_host_free(&wrong);
    vx_set_log(nullptr, nullptr, VX_LOG_NONE);
    wrong += check(logged == "vx_host_free: the memory is not of vx_instance_host_alloc, or has been freed before",
                   logged.c_str());
    const vx::Value words = vx::Value::strings(std::vector<int64_t>{2}, std::vector<std::string>{"a", "\u00e4b"});
    wrong += check(words.info().count == 2 && words.strings()[1] == "\u00e4b", "strings");
    wrong += checkDeviceValues();
    wrong += checkFilled();
    wrong += check(vx::listDevices().starts_with("{\"version\":1,"), "devices");
    call.setStream(nullptr);
    try {
      call.setStream(&call);
      wrong += check(false, "a stream on the CPU");
    } catch (const vx::Error &error) {
      wrong += check(error.code() == VX_UNSUPPORTED, error.what());
    }
    wrong += check(vx::Value::share(x.get()).data<int32_t>()[1] == 2, "one more reference");
    vx::Value kept = outputs[0];
    outputs.clear();
    wrong += check(kept.dims()[0] == 3 && kept.data<int32_t>()[0] == 10, "kept result");
    try {
      kept.data<float>();
      wrong += check(false, "another element type");
    } catch (const std::invalid_argument &error) {
      wrong += check(error.what() == std::string("the tensor's elements are i32, asked for f32"), error.what());
    }
    const vx::Value parts[] = {x, kept};
    vx::Value sequence = vx::Value::sequence(VX_I32, parts);
    wrong += check(sequence.info().count == 2 && sequence.element(1).data<int32_t>()[1] == 13, "sequence");
    wrong += check(vx::Value::optional(VX_I32, vx::Value()).info().count == 0, "optional");
    wrong += check(vx::Value::optionalSequence(VX_I32, vx::Value()).info().count == 0, "optional sequence");
    try {
      vx::Instance refused(module,
                           {.device = "cuda", .deviceOrder = "", .noFallback = true, .threads = 0, .variant = ""});
      wrong += check(false, "a device that is not there");
    } catch (const vx::Error &error) {
      wrong += check(error.code() == VX_NO_DEVICE, error.what());
      // Where there is one, the module has no code for it.
      wrong += check(error.report().find("\"refused\":[{\"device\":\"cuda\",\"code\":\"no_") != std::string::npos,
                     error.report().c_str());
    }
    try {
      call.run({x, x});
      wrong += check(false, "too many inputs");
    } catch (const vx::Error &error) {
      wrong += check(error.what() == std::string("vx_call_run: function 'main' takes 1 inputs, got 2"), error.what());
    }
    call.submit(parts);
    wrong += check(false, "too many inputs of a run that is submitted");
  } catch (const vx::Error &error) {
    wrong += check(error.what() == std::string("vx_call_submit: function 'main' takes 1 inputs, got 2"), error.what());
  }
  try {
    vx::Module module(argv[1]);
    vx::Instance instance(module,
                          {.device = "cpu", .deviceOrder = "", .noFallback = true, .threads = 2, .variant = ""});
    vx::Call call(instance, module.functions()[0]);
    const vx::Value x = vx::Value::tensor<int32_t>({3}, {1, 2, 3}), y = vx::Value::tensor<int32_t>({2}, {4, 5});
    alignas(64) int32_t place[3] = {};
    const vx_result_place places[] = {{place, sizeof(place), nullptr}};
    vx::Pending held = call.submit({&y, 1}, true), placed = call.submit({&x, 1}, false, places);
    wrong += check(placed.wait()[0].data<int32_t>().data() == place && place[2] == 16, "a result's place");
    try {
      held.wait();
      wrong += check(false, "a run that is held");
    } catch (const vx::Error &error) {
      wrong +=
          check(error.what() == std::string("vx_call_wait: the run is held and has not been started"), error.what());
    }
    held.start();
    const std::vector<vx::Value> first = held.wait(), again = held.wait();
    wrong +=
        check(first[0].data<int32_t>().data() == again[0].data<int32_t>().data() && first[0].data<int32_t>()[1] == 22,
              "a result twice");
    wrong += checkWhenDone(call, x);
    wrong += checkFallback(module, x);
    // One that nobody waits for, and what uses the call waits for it.
    call.submit({&x, 1});
    call.setProfile(true);
    vx::Pending last = call.submit({&x, 1});
    wrong += check(call.report().find("\"kernels\":[{") != std::string::npos, "a profiled run");
    call = {};
    instance = {};
    wrong += check(last.wait()[0].data<int32_t>()[0] == 10, "a run that outlives its call");
  } catch (const vx::Error &error) {
    wrong += check(false, error.what());
  }
  return wrong ? 1 : 0;
}
