// examples/running_sum through the C++ interface: the variable lives across calls, a call that fails changes nothing,
// four threads call one instance at once, and the number of CPU threads changes no bit.
//
//   running_sum_threads MODULE.vxm DEVICE

#include "vx/runtime/vx.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> failures = 0;

static void expect(bool good, const std::string &what) {
  if (good)
    return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

static vx::Value vectorOf(const std::vector<float> &values) {
  return vx::Value::tensor<float>({static_cast<int64_t>(values.size())}, values);
}
static vx::Value scalarOf(int64_t value) { return vx::Value::tensor<int64_t>({}, {value}); }
static float scalarIn(const vx::Value &value) { return value.data<float>()[0]; }
static float totalOf(const vx::Instance &instance) { return scalarIn(instance.readVariable("total")); }

// The bytes of all results, elements of sequences one after another.
static std::string bytesOf(const std::vector<vx::Value> &values) {
  std::string all;
  for (const vx::Value &value : values) {
    vx_value_info info = value.info();
    if (info.kind == VX_SEQUENCE) {
      for (size_t i = 0; i < info.count; ++i)
        all += bytesOf({value.element(i)});
      continue;
    }
    std::span<const std::byte> bytes = value.bytes();
    all.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  }
  return all;
}

static vx::Instance makeInstance(const vx::Module &module, const std::string &device, uint32_t threads = 0) {
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  options.threads = threads;
  return vx::Instance(module, options);
}

static void keepsItsSum(const vx::Module &module, const std::string &device) {
  vx::Instance instance = makeInstance(module, device);
  vx::Call call(instance, module.functions()[0]);
  expect(totalOf(instance) == 0, "the total starts at 0");
  std::vector<vx::Value> first = call.run({vectorOf({0, 1.5f, 0, -0.5f}), scalarOf(1)});
  expect(scalarIn(first[0]) == 1 && scalarIn(first[1]) == 1 && scalarIn(first[2]) == 1.5f, "the first call");
  expect(first[3].dims().size() == 1 && first[3].dims()[0] == 2, "a positive sum keeps the two values");
  expect(first[4].info().count == 2 && scalarIn(first[4].element(0)) == 1.5f, "the partial sums");
  std::vector<vx::Value> second = call.run({vectorOf({2, 0, 3, 4, 0}), scalarOf(-2)});
  expect(scalarIn(second[0]) == 9 && scalarIn(second[1]) == 10 && scalarIn(second[2]) == 4,
         "the second call, of another size");
  expect(second[4].info().count == 3, "three partial sums");
  // Another call context sees the same variable, another instance its own.
  vx::Call other(instance, module.functions()[0]);
  expect(scalarIn(other.run({vectorOf({-20}), scalarOf(0)})[1]) == -10, "another call of the instance goes on from 10");
  expect(totalOf(instance) == -10, "the variable as the instance reads it");
  expect(totalOf(makeInstance(module, device)) == 0, "a new instance starts at 0");
}

static void failsWithoutATrace(const vx::Module &module, const std::string &device) {
  vx::Instance instance = makeInstance(module, device);
  vx::Call call(instance, module.functions()[0]);
  call.run({vectorOf({1, 2}), scalarOf(0)});
  for (int64_t pick : {int64_t(2), int64_t(-3), int64_t(1) << 40}) {
    std::string message;
    vx_code code = VX_OK;
    try {
      call.run({vectorOf({5, 6}), scalarOf(pick)});
    } catch (const vx::Error &error) {
      message = error.what();
      code = error.code();
    }
    const std::string expected = "index is " + std::to_string(pick) + ", allowed is [-2, 2)";
    expect(code == VX_FAULT, "the code of a fault, got " + std::to_string(code));
    expect(message.find("running_sum.mlir:") != std::string::npos && message.find(expected) != std::string::npos,
           "expected a place and '" + expected + "', got '" + message + "'");
    expect(totalOf(instance) == 3, "a failed call leaves the total");
  }
  expect(scalarIn(call.run({vectorOf({4}), scalarOf(0)})[1]) == 7, "the same call works after faults");
}

static void isCalledByFour(const vx::Module &module, const std::string &device) {
  vx::Instance instance = makeInstance(module, device);
  constexpr int rounds = 8;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      try {
        vx::Call call(instance, module.functions()[0]);
        for (int round = 0; round < rounds; ++round) {
          const float value = static_cast<float>(t + 1);
          std::vector<vx::Value> results = call.run({vectorOf({0, value, value, 0}), scalarOf(1)});
          expect(scalarIn(results[0]) == 2 * value && scalarIn(results[2]) == value, "a thread gets its own results");
          // One thread also fails now and then, which the others must not see.
          if (t == 3) {
            bool failed = false;
            try {
              call.run({vectorOf({100}), scalarOf(1)});
            } catch (const vx::Error &) {
              failed = true;
            }
            expect(failed, "the index is out of range");
          }
        }
      } catch (const vx::Error &error) {
        expect(false, error.what());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  const float wanted = rounds * 2 * (1 + 2 + 3 + 4);
  expect(totalOf(instance) == wanted,
         "no call is lost: expected " + std::to_string(wanted) + ", got " + std::to_string(totalOf(instance)));
}

static void givesTheSameBits(const vx::Module &module, const std::string &device) {
  std::vector<float> values(1031);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 3 == 0 ? 0.0f : static_cast<float>(i * 37 % 101) / 7.0f - 5.0f;
  std::string first;
  for (uint32_t threads : {1u, 2u, 4u}) {
    vx::Instance instance = makeInstance(module, device, threads);
    vx::Call call(instance, module.functions()[0]);
    std::string bytes;
    for (int i = 0; i < 2; ++i)
      bytes += bytesOf(call.run({vectorOf(values), scalarOf(7)}));
    if (first.empty())
      first = bytes;
    expect(bytes.size() > 1031 && bytes == first, "the same bits at " + std::to_string(threads) + " threads");
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: running_sum_threads MODULE.vxm DEVICE\n");
    return 2;
  }
  try {
    vx::Module module(argv[1]);
    keepsItsSum(module, argv[2]);
    failsWithoutATrace(module, argv[2]);
    isCalledByFour(module, argv[2]);
    givesTheSameBits(module, argv[2]);
  } catch (const vx::Error &error) {
    std::fprintf(stderr, "running_sum_threads: %s\n", error.what());
    return 1;
  }
  std::printf("%d checks failed on %s\n", failures.load(), argv[2]);
  return failures == 0 ? 0 : 1;
}
