// What a program may do wrong with objects that are there: a call in two threads, an object that goes while it is used,
// a process that forks. Each is an error or of no effect.
#include "vx/runtime/vx.h"

#include "programs.h"
#include "runtime_test.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace vx;
using namespace vx::test;

namespace {

std::string messageOf(vx_status status) {
  const std::string message = vx_status_message(status);
  vx_status_release(status);
  return message;
}

class Misuse : public testing::Test {
protected:
  void SetUp() override {
    ModuleBuilder builder;
    addAffine(builder, 4096);
    builder.addCpuTarget();
    builder.addVulkanTarget();
    path = builder.write("misuse.vxm");
    ASSERT_EQ(vx_module_load(path.c_str(), &module), nullptr);
    make("cpu", instance);
    ASSERT_EQ(vx_call_create(instance, nullptr, &call), nullptr);
    for (int32_t i = 0; i < 1000; ++i) {
      numbers.push_back(i);
      wanted.push_back(3 * i + 7);
      wantedTwice.push_back(3 * (3 * i + 7) + 7);
    }
    const int64_t dims[] = {static_cast<int64_t>(numbers.size())};
    ASSERT_EQ(vx_tensor_create(VX_I32, 1, dims, numbers.data(), numbers.size() * sizeof(int32_t), &x), nullptr);
  }
  void TearDown() override {
    vx_value_release(x);
    vx_call_release(call);
    vx_instance_release(instance);
    vx_module_release(module);
  }
  void make(const char *device, vx_instance *&made) {
    vx_instance_options options = {};
    options.struct_size = sizeof(options);
    options.device = device;
    options.threads = 2;
    vx_status status = vx_instance_create(module, &options, &made);
    ASSERT_EQ(status, nullptr) << vx_status_message(status);
  }
  static std::vector<int32_t> numbersOf(vx_value *value) {
    const void *data = nullptr;
    EXPECT_EQ(vx_tensor_data(value, &data), nullptr);
    const auto *first = static_cast<const int32_t *>(data);
    return {first, first + vx_value_get_info(value).size / sizeof(int32_t)};
  }

  // An observer in whose hands the call's run stays until it is told to go on.
  struct Hold {
    std::promise<void> begun, goOn;
    vx_call *call = nullptr;
    std::string asked; // what the observer was told about its call
    static void observe(void *user, const vx_dispatch_info *) {
      Hold &hold = *static_cast<Hold *>(user);
      char *json = nullptr;
      hold.asked = messageOf(vx_call_report(hold.call, &json));
      hold.begun.set_value();
      hold.goOn.get_future().wait();
    }
  };

  std::vector<int32_t> numbers, wanted, wantedTwice; // enough for several threads
  std::string path;
  vx_module *module = nullptr;
  vx_instance *instance = nullptr;
  vx_call *call = nullptr;
  vx_value *x = nullptr;
};

const char *const inUse =
    "argument 'call' is in use by another thread, or by the run whose observer asks; a call is for one at "
    "a time, and each thread may have its own";

} // namespace

// The second one is told so at once, whichever function it is in, and the first one's run is what it was.
TEST_F(Misuse, twoThreadsOnOneCall) {
  Hold hold;
  hold.call = call;
  vx_call_set_observer(call, Hold::observe, &hold);
  vx_value *y = nullptr, *other = nullptr;
  auto first = std::async(std::launch::async, [&] { return messageOf(vx_call_run(call, 1, &x, 1, &y)); });
  hold.begun.get_future().wait();
  std::vector<std::string> told;
  vx_set_log([](void *user, vx_log_level,
                const char *message) { static_cast<std::vector<std::string> *>(user)->push_back(message); },
             &told, VX_LOG_ERROR);
  char *json = nullptr;
  vx_pending *pending = nullptr;
  const vx_result_place places[1] = {};
  EXPECT_EQ(messageOf(vx_call_run(call, 1, &x, 1, &other)), std::string("vx_call_run: ") + inUse);
  EXPECT_EQ(messageOf(vx_call_run_into(call, 1, &x, 1, places, &other)), std::string("vx_call_run_into: ") + inUse);
  EXPECT_EQ(messageOf(vx_call_submit(call, 1, &x, nullptr, &pending)), std::string("vx_call_submit: ") + inUse);
  EXPECT_EQ(messageOf(vx_call_report(call, &json)), std::string("vx_call_report: ") + inUse);
  EXPECT_EQ(messageOf(vx_call_trace(call, &json)), std::string("vx_call_trace: ") + inUse);
  EXPECT_EQ(messageOf(vx_call_set_stream(call, nullptr)), std::string("vx_call_set_stream: ") + inUse);
  vx_call_set_profile(call, 1);
  vx_call_set_observer(call, nullptr, nullptr);
  vx_set_log(nullptr, nullptr, VX_LOG_INFO);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], std::string("vx_call_set_profile: ") + inUse);
  EXPECT_EQ(told[1], std::string("vx_call_set_observer: ") + inUse);
  EXPECT_EQ(hold.asked, std::string("vx_call_report: ") + inUse);
  hold.goOn.set_value();
  EXPECT_EQ(first.get(), "ok");
  EXPECT_EQ(numbersOf(y), wanted);
  vx_value_release(y);
  vx_call_set_observer(call, nullptr, nullptr);
  ASSERT_EQ(vx_call_run(call, 1, &x, 1, &y), nullptr);
  vx_value_release(y);
}

// Everything that a run uses may be released while it goes on.
TEST_F(Misuse, releasedWhileItRuns) {
  Hold hold;
  hold.call = call;
  vx_call_set_observer(call, Hold::observe, &hold);
  vx_value *y = nullptr;
  auto run = std::async(std::launch::async, [&] { return messageOf(vx_call_run(call, 1, &x, 1, &y)); });
  hold.begun.get_future().wait();
  vx_call_release(call);
  vx_instance_release(instance);
  vx_module_release(module);
  vx_value_release(x);
  hold.goOn.set_value();
  EXPECT_EQ(run.get(), "ok");
  EXPECT_EQ(numbersOf(y), wanted);
  vx_value_release(y);
  call = nullptr;
  instance = nullptr;
  module = nullptr;
  x = nullptr;
}

// A result of one device is an input of another.
TEST_F(Misuse, valuesOfAnotherDevice) {
  vx_instance *gpu = nullptr;
  ASSERT_NO_FATAL_FAILURE(make("vulkan", gpu));
  for (auto [from, to] : {std::pair(instance, gpu), {gpu, instance}}) {
    vx_value *y = nullptr, *z = nullptr;
    ASSERT_EQ(vx_instance_call(from, nullptr, 1, &x, 1, &y), nullptr);
    ASSERT_EQ(vx_instance_call(to, nullptr, 1, &y, 1, &z), nullptr);
    EXPECT_EQ(numbersOf(z), wantedTwice);
    vx_value_release(y);
    vx_value_release(z);
  }
  vx_instance_release(gpu);
}

#ifndef VX_TEST_SANITIZED // the thread sanitizer has no forks of processes with threads
// In a copy of the process what the original has made is refused or usable, as the header says, and nothing hangs.
TEST_F(Misuse, forked) {
  vx_value *y = nullptr, *late = nullptr;
  ASSERT_EQ(vx_call_run(call, 1, &x, 1, &y), nullptr);
  vx_instance *gpu = nullptr;
  ASSERT_NO_FATAL_FAILURE(make("vulkan", gpu)); // the CPU where there is none
  char *report = nullptr;
  ASSERT_EQ(vx_instance_report(gpu, VX_REPORT_TEXT, &report), nullptr);
  auto listed = [] {
    char *json = nullptr;
    EXPECT_EQ(vx_list_devices(&json), nullptr);
    const std::string text = json;
    vx_string_release(json);
    return text;
  };
  const bool hasCuda = listed().find("\"cuda:0\"") != std::string::npos;
  const bool hasGpu = std::string(report).find("vulkan:") != std::string::npos;
  vx_string_release(report);
  vx_pending *pending = nullptr;
  ASSERT_EQ(vx_call_submit(call, 1, &x, nullptr, &pending), nullptr);
  ASSERT_EQ(vx_call_wait(pending, 1, &late), nullptr);

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60); // a hang ends the copy
    const std::string left = "was made before the process was forked, whose threads and devices it uses; make one here";
    vx_value *z = nullptr;
    int failed = 0;
    auto expect = [&](bool holds) { failed += !holds; };
    expect(messageOf(vx_call_run(call, 1, &x, 1, &z)) == "vx_call_run: argument 'call' " + left);
    expect(messageOf(vx_instance_call(instance, nullptr, 1, &x, 1, &z)) ==
           "vx_instance_call: argument 'instance' " + left);
    expect(messageOf(vx_call_wait(pending, 1, &z)) == "vx_call_wait: argument 'pending' " + left);
    expect(numbersOf(y) == wanted);
    vx_value_release(y);
    vx_pending_release(pending);
    vx_call_release(call);
    vx_instance_release(instance);
    vx_instance_release(gpu);
    // A new one works, with threads of its own, and a GPU that had been opened is refused.
    vx_instance *mine = nullptr;
    vx_instance_options options = {};
    options.struct_size = sizeof(options);
    options.device = "vulkan";
    options.threads = 2;
    expect(vx_instance_create(module, &options, &mine) == nullptr);
    expect(vx_instance_report(mine, VX_REPORT_TEXT, &report) == nullptr);
    if (hasGpu)
      expect(std::string(report).find(
                 "the process was forked after it had looked for vulkan devices, which its copy can't use") !=
             std::string::npos);
    // Why there was none before is what it was.
    expect((listed().find("it had looked for cuda devices") != std::string::npos) == hasCuda);
    expect(vx_instance_call(mine, nullptr, 1, &x, 1, &z) == nullptr);
    expect(numbersOf(z) == wanted);
    vx_value_release(z);
    vx_instance_release(mine);
    _exit(failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "checks failed in the copy";
  // The original goes on.
  vx_value *z = nullptr;
  EXPECT_EQ(vx_call_run(call, 1, &x, 1, &z), nullptr);
  EXPECT_EQ(numbersOf(z), wanted);
  for (vx_value *value : {y, z, late})
    vx_value_release(value);
  vx_pending_release(pending);
  vx_instance_release(gpu);
}
#endif

// On a CPU a run ends between two kernels of one segment. Each kernel adds x = 1 to the caller's memory for the result,
// which tells how many have run. All of them would take seconds.
TEST(Cancelling, endsBetweenKernels) {
  constexpr int64_t elements = int64_t(1) << 18;
  constexpr int32_t kernels = 20000;
  ModuleBuilder builder;
  addCounting(builder, kernels);
  builder.addCpuTarget();
  Ref<Instance> made;
  ASSERT_OK(makeInstance(builder.write("cancelling.vxm"), "cpu", made, 1));
  vx_instance *instance = giveHandle<vx_instance>(made);
  vx_call *call = nullptr;
  ASSERT_EQ(vx_call_create(instance, nullptr, &call), nullptr);
  struct alignas(64) Line {
    int32_t values[16];
  };
  const std::vector<Line> ones(elements / 16, [] {
    Line line;
    std::ranges::fill(line.values, 1);
    return line;
  }());
  std::vector<Line> counts(elements / 16);
  auto wrap = [&](int64_t size) {
    vx_value *x = nullptr;
    EXPECT_EQ(vx_tensor_wrap(VX_I32, 1, &size, ones.data(), static_cast<size_t>(size) * sizeof(int32_t), nullptr,
                             nullptr, &x),
              nullptr);
    return x;
  };
  vx_value *x = wrap(elements), *few = wrap(16), *y = nullptr;
  vx_pending *pending = nullptr;
  vx_result_place place = {};
  auto submit = [&](vx_value *input, uint32_t deadline) {
    std::ranges::fill(counts, Line());
    place.data = counts.data();
    place.size = counts.size() * sizeof(Line);
    vx_submit_options options = {};
    options.struct_size = sizeof(options);
    options.place_count = 1;
    options.places = &place;
    options.deadline_ms = deadline;
    ASSERT_EQ(messageOf(vx_call_submit(call, 1, &input, &options, &pending)), "ok");
  };
  // Some kernels have run, each of them on all elements.
  auto expectSome = [&](int32_t fewest, const char *message) {
    vx_status status = vx_call_wait(pending, 1, &y);
    EXPECT_EQ(vx_status_code(status), VX_CANCELLED);
    EXPECT_NE(messageOf(status).find(message), std::string::npos);
    const int32_t first = counts[0].values[0];
    EXPECT_GE(first, fewest);
    EXPECT_LT(first, kernels);
    EXPECT_TRUE(std::ranges::all_of(counts, [&](const Line &line) {
      return std::ranges::all_of(line.values, [&](int32_t count) { return count == first; });
    })) << "a kernel was left before its end";
    vx_pending_release(pending);
  };
  submit(x, 0);
  while (std::atomic_ref(counts[0].values[0]).load() == 0)
    std::this_thread::yield();
  vx_call_cancel(pending);
  expectSome(1, "the run was cancelled");
  submit(x, 1);
  expectSome(0, "was not done after its deadline of 1 ms");
  // The call goes on being usable.
  submit(few, 0);
  EXPECT_EQ(messageOf(vx_call_wait(pending, 1, &y)), "ok");
  EXPECT_EQ(counts[0].values[15], kernels);
  vx_pending_release(pending);
  for (vx_value *value : {x, few, y})
    vx_value_release(value);
  vx_call_release(call);
  vx_instance_release(instance);
}
