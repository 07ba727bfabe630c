// Runs that go on beside the thread that asked for them: what they give, in which order, and what becomes of those that
// fail or that nobody waits for.
#include "derived_program.h"
#include "exec/pending_runs.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <thread>

namespace vx::test {

using namespace derived;

namespace {

constexpr auto Soon = std::chrono::milliseconds(60);
constexpr uint64_t Unit = Count * sizeof(int32_t);

template <typename T>
bool isWaiting(const std::future<T> &future) {
  return future.wait_for(Soon) == std::future_status::timeout;
}

// Elements that begin at a multiple of 64 bytes, or behind one: read in place where a device can, or copied.
class Wrapped {
public:
  explicit Wrapped(int32_t value, bool isAligned = true) : lines(Unit / sizeof(Line) + 1) {
    auto *first = reinterpret_cast<int32_t *>(lines.data()) + (isAligned ? 0 : 1);
    std::fill(first, first + Count, value);
    const int64_t dims[] = {Count};
    EXPECT_OK(Value::wrapTensor(
        VX_I32, dims, first, Unit, [](void *user) { ++*static_cast<std::atomic<int> *>(user); }, &released, tensor));
  }
  std::atomic<int> released = 0;
  Ref<Value> tensor;

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines;
};

// A place of `function` and its runs, which are dropped before it goes.
class Place {
public:
  Place(Ref<Instance> of, uint32_t function) : instance(std::move(of)) {
    EXPECT_OK(instance->takeCall(function, state));
    runs = std::make_unique<PendingRuns>(*instance, *state);
  }
  ~Place() {
    for (PendingRun &run : all)
      runs->drop(run);
    runs = nullptr;
    instance->returnCall(std::move(state));
  }
  Status submit(const Ref<Value> &x, PendingRun *&run, bool hold = false) {
    Value *inputs[] = {x.get()};
    run = &all.emplace_back();
    return runs->submit(inputs, {}, hold, *run);
  }
  PendingRun *submit(int32_t x, bool hold = false) {
    PendingRun *run = nullptr;
    EXPECT_OK(submit(vectorValue(derived::all(x)), run, hold));
    return run;
  }
  Status wait(PendingRun *run, std::vector<int32_t> &y) {
    std::vector<Ref<Value>> outputs;
    Status status = runs->wait(*run, outputs);
    EXPECT_EQ(outputs.size(), status.ok() ? 1u : 0u);
    y = status.ok() ? elementsOf(*outputs[0]) : std::vector<int32_t>();
    return status;
  }
  std::vector<int32_t> resultOf(PendingRun *run) {
    std::vector<int32_t> y;
    EXPECT_OK(wait(run, y));
    return y;
  }

  Ref<Instance> instance;
  std::unique_ptr<CallState> state;
  std::unique_ptr<PendingRuns> runs;
  std::deque<PendingRun> all;
};

class Pending : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (const std::string missing = missingLibrary(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    ASSERT_OK(Module::load(Builder().write("pending_runs.vxm"), module));
    ASSERT_OK(makeSharing(nullptr, module, GetParam(), instance));
  }
  int32_t weight() {
    Ref<Value> value;
    EXPECT_OK(instance->readVariable("weight", value));
    const std::vector<int32_t> elements = elementsOf(*value);
    EXPECT_EQ(elements, all(elements[0]));
    return elements[0];
  }

  Ref<Module> module;
  Ref<Instance> instance;
};
INSTANTIATE_TEST_SUITE_P(Devices, Pending, testing::ValuesIn(builtDevices({"cpu", "vulkan", "cuda", "rocm"})),
                         [](const auto &device) { return std::string(device.param); });

} // namespace

// A run that is held, or waits behind others, does nothing when it is cancelled, and its place is free; what is done
// stays what it is.
TEST_P(Pending, whatIsCancelledDoesNothing) {
  Place place(instance, AddWeight);
  const int32_t before = weight();
  PendingRun *held = place.submit(1, /*hold=*/true);
  place.runs->cancel(*held);
  std::vector<int32_t> y;
  EXPECT_FAILS(place.wait(held, y), VX_CANCELLED, "the run was cancelled");
  EXPECT_FAILS(place.runs->start(*held), VX_INVALID_ARGUMENT, "the run was cancelled before");
  VariableAccesses::Ticket other = instance->queueVariables(AddWeight); // of somebody who uses the variable now
  PendingRun *late = place.submit(2);
  place.runs->cancel(*late);
  other = {};
  EXPECT_FAILS(place.wait(late, y), VX_CANCELLED, "the run was cancelled");
  EXPECT_EQ(weight(), before);
  PendingRun *done = place.submit(3);
  const std::vector<int32_t> result = place.resultOf(done);
  place.runs->cancel(*done);
  EXPECT_EQ(place.resultOf(done), result);
  EXPECT_EQ(weight(), before + 3);
}

// Who waits for a time only is told that it goes on, and gets the results later.
TEST_P(Pending, waitingForATime) {
  Place place(instance, Read);
  PendingRun *held = place.submit(1, /*hold=*/true);
  std::vector<Ref<Value>> outputs;
  EXPECT_FAILS(place.runs->waitFor(*held, 1, outputs), VX_INVALID_ARGUMENT, "the run is held and has not been started");
  EXPECT_OK(place.runs->start(*held));
  EXPECT_OK(place.runs->waitFor(*held, 60000, outputs));
  EXPECT_EQ(outputs.size(), 1u);
  EXPECT_OK(place.runs->waitFor(*held, 0, outputs));
}

// The same bits as those of a run that somebody waits for, whatever the inputs are and however many are on their way.
TEST_P(Pending, resultsAreThoseOfRuns) {
  for (uint32_t function : {Read, Both, Mix, Two}) {
    Place place(instance, function);
    std::vector<std::pair<PendingRun *, int32_t>> runs;
    for (int32_t x = 0; x < 7; ++x) {
      Wrapped given(x, x % 2 == 0);
      runs.emplace_back(nullptr, x);
      ASSERT_OK(place.submit(given.tensor, runs.back().first));
      if (x % 3 == 2) {
        // The bytes are read until the run is done.
        place.runs->waitForAll();
      } else {
        (void)place.resultOf(runs.back().first);
      }
      given.tensor = nullptr;
      EXPECT_EQ(given.released, 1);
    }
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      std::vector<int32_t> wanted;
      int derived = -1;
      ASSERT_OK(derived::run(*instance, function, run->second, wanted, derived));
      EXPECT_EQ(place.resultOf(run->first), wanted);
      EXPECT_EQ(place.resultOf(run->first), wanted) << "asked again";
    }
  }
}

TEST_P(Pending, runsAreDoneInTheOrderOfTheirStart) {
  Place place(instance, AddWeight);
  std::vector<PendingRun *> runs;
  for (int32_t x = 1; x <= 20; ++x)
    runs.push_back(place.submit(x));
  int32_t sum = 0;
  for (int32_t x = 1; x <= 20; ++x)
    EXPECT_EQ(place.resultOf(runs[static_cast<size_t>(x - 1)]), all(sum += x));
  // One that is held takes its place when it starts.
  PendingRun *held = place.submit(1000, /*hold=*/true);
  EXPECT_EQ(place.resultOf(place.submit(1)), all(211));
  EXPECT_EQ(weight(), 211);
  ASSERT_OK(place.runs->start(*held));
  EXPECT_EQ(place.resultOf(held), all(1211));
}

// Nobody waits who only submits; the third one waits for the inputs of the first.
TEST_P(Pending, twoRunsHaveInputsAtATime) {
  Place place(instance, AddWeight);
  VariableAccesses::Ticket other = instance->takeVariables(AddWeight);
  PendingRun *first = place.submit(1), *second = place.submit(2);
  std::future<PendingRun *> third = std::async(std::launch::async, [&] { return place.submit(3); });
  EXPECT_TRUE(isWaiting(third));
  std::future<std::vector<int32_t>> result = std::async(std::launch::async, [&] { return place.resultOf(first); });
  EXPECT_TRUE(isWaiting(result));
  other = {};
  EXPECT_EQ(result.get(), all(1));
  EXPECT_EQ(place.resultOf(third.get()), all(6));
  EXPECT_EQ(place.resultOf(second), all(3));
}

// What was started before comes first, whoever asks and for which function.
TEST_P(Pending, whatUsesTheirVariablesWaitsForThem) {
  Place adds(instance, AddWeight), reads(instance, Read), other(instance, AddWeight);
  for (int32_t turn = 1; turn <= 5; ++turn) {
    VariableAccesses::Ticket blocked = instance->takeVariables(AddWeight);
    adds.submit(1);
    PendingRun *read = reads.submit(5);
    other.submit(1);
    std::future<int32_t> value = std::async(std::launch::async, [&] { return weight(); });
    EXPECT_TRUE(turn > 1 || isWaiting(value));
    blocked = {};
    EXPECT_EQ(value.get(), 2 * turn);
    const int32_t then = 2 * turn - 1;
    std::vector<int32_t> wanted;
    for (int32_t i = 0; i < Count; ++i)
      wanted.push_back(5 + 2 * (i + 2 * then));
    EXPECT_EQ(reads.resultOf(read), wanted); // packed anew for the weight of that moment
  }
}

TEST_P(Pending, oneThatFailsChangesNothingAndTheNextOneRuns) {
  Place adds(instance, AddWeight), fails(instance, Fail);
  for (int again = 0; again < 2; ++again) {
    PendingRun *before = adds.submit(1), *first = fails.submit(7), *second = fails.submit(-1), *after = adds.submit(2);
    std::vector<int32_t> y;
    for (auto [run, index] : {std::pair(second, -1), std::pair(first, 7), std::pair(second, -1)}) {
      Status status = fails.wait(run, y);
      EXPECT_EQ(status.code(), VX_FAULT);
      // All elements are out of range, and any of them may be the first.
      EXPECT_TRUE(status.message().starts_with("node_3 (Gather): index at [") &&
                  status.message().ends_with(fmt::format("] is {}, allowed is [0, 1)", index)))
          << status.message();
    }
    EXPECT_EQ(adds.resultOf(before), all(3 * again + 1));
    EXPECT_EQ(adds.resultOf(after), all(3 * again + 3));
  }
  EXPECT_EQ(weight(), 6);
}

TEST_P(Pending, whatDoesNotFitIsSaidAtOnce) {
  Place place(instance, AddWeight);
  PendingRun *run = nullptr;
  for (int again = 0; again < 3; ++again)
    EXPECT_FAILS(place.submit(vectorValue({1}), run), VX_INVALID_ARGUMENT,
                 "input 'x': dim 0 must be 4096, got 1 in i32[1]");
  EXPECT_EQ(place.resultOf(place.submit(1)), all(1));
}

TEST_P(Pending, whatIsHeldRunsOnlyWhenItIsStarted) {
  Place place(instance, AddWeight);
  Wrapped given(4);
  PendingRun *first = nullptr;
  ASSERT_OK(place.submit(given.tensor, first, /*hold=*/true));
  given.tensor = nullptr;
  PendingRun *second = place.submit(2, /*hold=*/true), *third = nullptr;
  std::vector<int32_t> y;
  EXPECT_FAILS(place.wait(first, y), VX_INVALID_ARGUMENT, "the run is held and has not been started");
  EXPECT_FAILS(place.submit(vectorValue(all(3)), third), VX_INVALID_ARGUMENT,
               "2 runs of the call are held; start or release one of them");
  EXPECT_EQ(weight(), 0);
  ASSERT_OK(place.runs->start(*second));
  EXPECT_EQ(place.resultOf(second), all(2));
  EXPECT_FAILS(place.runs->start(*second), VX_INVALID_ARGUMENT, "the run has been started before");
  // One that is dropped gives its place and its inputs back.
  EXPECT_EQ(given.released, 0);
  place.runs->drop(*first);
  place.all.pop_front();
  EXPECT_EQ(given.released, 1);
  EXPECT_EQ(weight(), 2);
  PendingRun *fourth = place.submit(1, true), *fifth = place.submit(10, true);
  ASSERT_OK(place.runs->start(*fifth));
  ASSERT_OK(place.runs->start(*fourth));
  EXPECT_EQ(place.resultOf(fifth), all(12));
  EXPECT_EQ(place.resultOf(fourth), all(13));
}

TEST_P(Pending, whatIsGivenUpKeepsNoMemory) {
  Place place(instance, AddWeight);
  Wrapped given(1, /*isAligned=*/false);
  const uint64_t before = instance->usedMemory();
  for (const bool isCancelled : {false, true}) {
    PendingRun *run = nullptr;
    ASSERT_OK(place.submit(given.tensor, run, /*hold=*/true));
    EXPECT_EQ(instance->usedMemory(), before + Unit);
    if (isCancelled)
      place.runs->cancel(*run);
    else
      place.runs->drop(*run);
    EXPECT_EQ(instance->usedMemory(), before);
    if (!isCancelled)
      place.all.pop_back();
  }
}

// A call that somebody uses is idle.
TEST_P(Pending, whatUsesTheCallWaitsForItsRuns) {
  vx_call *call = nullptr;
  vx_instance *owner = giveHandle<vx_instance>(instance);
  ASSERT_EQ(vx_call_create(owner, "add_weight", &call), nullptr);
  VariableAccesses::Ticket other = instance->takeVariables(AddWeight);
  const Ref<Value> one = vectorValue(all(1));
  vx_value *x = giveHandle<vx_value>(one), *y = nullptr;
  vx_pending *pending = nullptr;
  ASSERT_EQ(vx_call_submit(call, 1, &x, nullptr, &pending), nullptr);
  std::future<std::string> report = std::async(std::launch::async, [&] {
    char *json = nullptr;
    vx_status status = vx_call_report(call, &json);
    std::string text = status ? vx_status_message(status) : json;
    vx_status_release(status);
    vx_string_release(json);
    return text;
  });
  EXPECT_TRUE(isWaiting(report));
  other = {};
  EXPECT_NE(report.get().find("\"function\":\"add_weight\""), std::string::npos);
  ASSERT_EQ(vx_call_run(call, 1, &x, 1, &y), nullptr);
  EXPECT_EQ(elementsOf(objectOf<Value>(y)), all(2));
  vx_value_release(x);
  vx_value_release(y);
  vx_instance_release(owner);
  vx_pending_release(pending);
  vx_call_release(call);
}

// Who drops a run that goes on waits for it, since it reads his bytes.
TEST_P(Pending, oneThatNobodyWaitsForIsDoneBeforeItIsDropped) {
  Place place(instance, AddWeight);
  Wrapped given(4);
  VariableAccesses::Ticket other = instance->takeVariables(AddWeight);
  PendingRun *run = nullptr;
  ASSERT_OK(place.submit(given.tensor, run));
  given.tensor = nullptr;
  std::future<void> dropped = std::async(std::launch::async, [&] { place.runs->drop(*run); });
  EXPECT_TRUE(isWaiting(dropped));
  EXPECT_EQ(given.released, 0);
  other = {};
  dropped.get();
  EXPECT_EQ(given.released, 1);
  EXPECT_EQ(weight(), 4);
}

// What they take counts, and where it is too much nothing has run and what is kept for later is dropped.
TEST_P(Pending, theMemoryLimitHoldsForThem) {
  const uint64_t variables = 2 * Unit;
  const uint64_t copy = std::string_view(GetParam()) == "cpu" ? Unit : 0; // of bytes that are read in place if aligned
  uint64_t input = copy;
  if (!copy) {
    Place place(instance, AddWeight);
    (void)place.resultOf(place.submit(1));
    input = instance->usedMemory() - variables - Unit; // and the result
  }
  ASSERT_OK(makeSharing(nullptr, module, GetParam(), instance, variables + 2 * Unit + input));
  Place place(instance, AddWeight);
  Wrapped given(1, /*isAligned=*/false);
  PendingRun *first = nullptr, *second = nullptr, *third = nullptr;
  ASSERT_OK(place.submit(given.tensor, first, /*hold=*/true));
  EXPECT_EQ(instance->usedMemory(), variables + Unit);
  ASSERT_OK(place.submit(given.tensor, second, /*hold=*/true));
  EXPECT_EQ(instance->usedMemory(), variables + 2 * Unit);
  ASSERT_OK(place.runs->start(*first));
  EXPECT_EQ(place.resultOf(first), all(1)); // which has a place of its own
  const uint64_t used = instance->usedMemory();
  EXPECT_EQ(used, variables + 3 * Unit);
  Ref<hal::Memory> rest;
  const uint64_t free = variables + 2 * Unit + input - used;
  if (free)
    ASSERT_OK(instance->allocate(free, rest));
  ASSERT_OK(place.runs->start(*second));
  std::vector<int32_t> y;
  EXPECT_EQ(place.wait(second, y).code(), VX_OUT_OF_MEMORY);
  // The places of both inputs are given back.
  EXPECT_EQ(instance->usedMemory(), variables + Unit + free);
  rest = nullptr;
  ASSERT_OK(place.submit(given.tensor, third));
  // This program stores before its result finds no room, as none of the compiler's does.
  EXPECT_EQ(place.resultOf(third), all(3));
  ASSERT_OK(makeSharing(nullptr, module, GetParam(), instance, variables + Unit - 1));
  Place small(instance, AddWeight);
  EXPECT_FAILS(small.submit(given.tensor, third), VX_OUT_OF_MEMORY,
               fmt::format("input 'x': expected at most {} more bytes, got {}: {} bytes are in use, and the instance's "
                           "memory limit is {} bytes",
                           Unit - 1, Unit, variables, variables + Unit - 1));
  EXPECT_EQ(weight(), 0);
}

// Each thread with a place of its own, two runs on their way in each, some of them dropped.
// The function of a run is called once, whatever becomes of it, before a wait for the run ends.
TEST_P(Pending, theFunctionOfARunIsCalledOnce) {
  struct Told {
    int calls = 0;
    vx_code code = VX_INTERNAL;
    std::string message;
    std::vector<int32_t> y;
  };
  std::deque<Told> all;
  Place place(instance, AddWeight);
  auto submit = [&](const Ref<Value> &x, bool hold) {
    Told &told = all.emplace_back();
    PendingRun &run = place.all.emplace_back();
    run.whenDone = [&told](const Status &status, std::span<const Ref<Value>> outputs) {
      ++told.calls;
      told.code = status.code();
      told.message = status.message();
      if (status.ok())
        told.y = elementsOf(*outputs[0]);
    };
    Value *inputs[] = {x.get()};
    EXPECT_OK(place.runs->submit(inputs, {}, hold, run));
    return &run;
  };
  const Ref<Value> x = vectorValue(derived::all(3));
  PendingRun *done = submit(x, false);
  const std::vector<int32_t> y = place.resultOf(done);
  EXPECT_EQ(all[0].calls, 1);
  EXPECT_EQ(all[0].code, VX_OK);
  EXPECT_EQ(all[0].y, y);
  PendingRun *cancelled = submit(x, true);
  EXPECT_EQ(all[1].calls, 0);
  place.runs->cancel(*cancelled);
  EXPECT_EQ(all[1].calls, 1);
  EXPECT_EQ(all[1].code, VX_CANCELLED);
  place.runs->cancel(*cancelled);
  PendingRun *dropped = submit(x, true);
  place.runs->drop(*dropped);
  EXPECT_EQ(all[2].code, VX_CANCELLED);
  EXPECT_EQ(all[2].message, "the run was held, and was released before it was started");
  PendingRun *late = nullptr;
  {
    VariableAccesses::Ticket other = instance->queueVariables(AddWeight); // of another user of the variable
    late = submit(x, false);
    EXPECT_EQ(all[3].calls, 0);
    place.runs->cancel(*late);
  }
  std::vector<int32_t> none;
  EXPECT_FAILS(place.wait(late, none), VX_CANCELLED, "the run was cancelled");
  for (const Told &told : all)
    EXPECT_EQ(told.calls, 1);
  EXPECT_EQ(all[3].message, "the run was cancelled");
}

TEST_P(Pending, manyThreads) {
  Ref<Instance> second;
  ASSERT_OK(makeSharing(instance, module, GetParam(), second));
  constexpr int Threads = 4, Runs = 25;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < Threads; ++thread)
    threads.emplace_back([&, thread] {
      const bool isReader = thread == 3;
      Place place(thread % 2 ? instance : second, isReader ? Read : AddWeight);
      std::vector<PendingRun *> runs;
      for (int i = 0; i < Runs; ++i) {
        runs.push_back(place.submit(1));
        if (i > 0 && i % 3 != 0) {
          const std::vector<int32_t> y = place.resultOf(runs[static_cast<size_t>(i - 1)]);
          for (int32_t k = 0; k < Count; ++k)
            wrong += y[static_cast<size_t>(k)] != y[0] + (isReader ? 2 * k : 0);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(weight(), 3 * Runs);
}

// The same goes on where nothing is computed.
TEST(PendingOfNull, runsAndResults) {
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(Builder().write("pending_null.vxm"), "null", instance));
  Place place(instance, AddWeight);
  PendingRun *first = place.submit(1), *second = place.submit(2);
  EXPECT_EQ(place.resultOf(second), all(0));
  EXPECT_EQ(place.resultOf(first), all(0));
}

} // namespace vx::test
