// What is said when the system has no more memory. Each test runs in a process of its own with a limit.
#include "base/thread_pool.h"
#include "programs.h"
#include "runtime_test.h"

#include <cstdio>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#ifndef VX_TEST_SANITIZED // whose own memory no limit leaves room for
namespace vx::test {

// Leaves `more` bytes of address space to the process from now on.
static void limitMemory(uint64_t more) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const uint64_t bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit = {bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0)
    _exit(1);
}

// Runs `body` with 256 MiB left and ends the process with the status' message on stderr.
template <typename F>
[[noreturn]] static void sayWhatFails(F &&body) {
  limitMemory(uint64_t(256) << 20);
  Status status = body();
  fprintf(stderr, "%d: %s\n", static_cast<int>(status.code()), std::string(status.message()).c_str());
  _exit(0);
}

#define EXPECT_SAYS(body, text) EXPECT_EXIT(sayWhatFails(body), testing::ExitedWithCode(0), text)

TEST(OutOfMemory, deviceMemory) {
  for (const char *name : {"cpu", "null"}) {
    Ref<hal::Device> device;
    ASSERT_OK(findDriver(allDrivers(), name)->open(0, {}, device));
    EXPECT_SAYS(
        [&] {
          Ref<hal::Memory> memory;
          return device->allocate(uint64_t(1) << 29, hal::MemoryKind::Staging, memory);
        },
        "^6: asked for 536870912 bytes of device '" + std::string(name) + "', but the system has no more memory");
  }
}

TEST(OutOfMemory, tensors) {
  const int64_t dims[] = {int64_t(1) << 29};
  const uint8_t data = 0;
  EXPECT_SAYS(
      [&] {
        Ref<Value> value;
        return Value::copyTensor(VX_U8, dims, &data, uint64_t(1) << 29, value);
      },
      "^6: u8.536870912.: asked for 536870912 bytes, but the system has no more memory");
}

// What a call allocates says what it is for, and the node where it is one's.
TEST(OutOfMemory, resultsOfACall) {
  ModuleBuilder builder;
  builder.addFaultSites(4);
  format::FunctionT &main = builder.function();
  main.outputs.push_back(argument("y", format::ElementType::I32, constantExpr(int64_t(1) << 27)));
  auto allocation = instruction(Op::Allocate, {0, 1});
  allocation->site = 2;
  format::ProgramT &program =
      builder.program("large", 2, 1, 0,
                      block(instruction(Op::ConstI64, {0}, int64_t(1) << 27),
                            instruction(Op::ConstI64, {1}, int64_t(1) << 29), std::move(allocation)));
  program.results.push_back(tensorResult(0, {0}));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "cpu", instance));
  EXPECT_SAYS(
      [&] {
        std::vector<Ref<Value>> outputs;
        return runMain(*instance, {}, outputs);
      },
      "^6: node_2 .Gather.: result: asked for 536870912 bytes of device 'cpu', but the system has no more memory");
}

// A result is on its device until somebody wants its bytes.
TEST(OutOfMemory, resultsOfADevice) {
  ModuleBuilder builder;
  format::FunctionT &main = builder.function();
  main.outputs.push_back(argument("y", format::ElementType::I32, constantExpr(int64_t(1) << 27)));
  format::ProgramT &program =
      builder.program("large", 2, 1, 0,
                      block(instruction(Op::ConstI64, {0}, int64_t(1) << 27),
                            instruction(Op::ConstI64, {1}, int64_t(1) << 29), instruction(Op::Allocate, {0, 1})));
  program.results.push_back(tensorResult(0, {0}));
  builder.addCpuTarget();
  Ref<Instance> instance;
  ASSERT_OK(makeInstance(builder.write(), "null", instance));
  std::vector<Ref<Value>> outputs;
  ASSERT_OK(runMain(*instance, {}, outputs));
  EXPECT_SAYS(
      [&] {
        const void *bytes = nullptr;
        return outputs[0]->hostBytes(bytes);
      },
      "^6: i32.134217728.: asked for 536870912 bytes, but the system has no more memory");
}

TEST(OutOfMemory, files) {
  const std::string path = scratchPath("large.vxm");
  writeFile(path, {1, 2, 3});
  ASSERT_EQ(truncate(path.c_str(), int64_t(1) << 29), 0);
  EXPECT_SAYS(
      [&] {
        Ref<Module> module;
        return Module::load(path, module);
      },
      "^6: .*large.vxm: asked for [0-9]+ bytes, but the system has no more memory");
}

// Each thread wants a stack: some of them start.
TEST(OutOfMemory, threads) {
  EXPECT_SAYS(
      [&] {
        std::unique_ptr<ThreadPool> pool;
        return ThreadPool::create(1024, pool);
      },
      "^6: cannot start 1024 threads: Resource temporarily unavailable");
}

// Whatever the C++ library runs out of memory for leaves the C interface as a status.
TEST(OutOfMemory, cInterface) {
  const std::string path(uint64_t(512) << 20, 'x');
  EXPECT_EXIT(
      {
        limitMemory(uint64_t(256) << 20);
        vx_module *module = nullptr;
        vx_status status = vx_module_load(path.c_str(), &module);
        fprintf(stderr, "%d: %s\n", static_cast<int>(vx_status_code(status)), vx_status_message(status));
        _exit(module ? 1 : 0);
      },
      testing::ExitedWithCode(0), "^6: vx_module_load: the system has no more memory");
}

} // namespace vx::test
#endif
