// What the runtime tells of beside results (vx_set_log).
#include "base/log.h"
#include "derived_program.h"

#include <thread>
#include <vector>

namespace vx::test {

using namespace derived;

namespace {

/// Gathers what is told while it lives.
class Told {
public:
  explicit Told(vx_log_level least = VX_LOG_INFO) { vx_set_log(take, this, least); }
  ~Told() { vx_set_log(nullptr, nullptr, VX_LOG_INFO); }

  std::vector<std::pair<vx_log_level, std::string>> messages;

private:
  static void take(void *user, vx_log_level level, const char *message) {
    static_cast<Told *>(user)->messages.emplace_back(level, message);
  }
};

} // namespace

TEST(Log, tellsWhichDeviceIsTaken) {
  const std::string path = Builder().write("log.vxm");
  vx_module *module = nullptr;
  ASSERT_EQ(vx_module_load(path.c_str(), &module), nullptr);
  auto create = [&](const char *device) {
    vx_instance_options options = {};
    options.struct_size = sizeof(options);
    options.device = device;
    options.device_order = "cpu";
    vx_instance *instance = nullptr;
    vx_status status = vx_instance_create(module, &options, &instance);
    EXPECT_EQ(status, nullptr);
    vx_status_release(status);
    vx_instance_release(instance);
  };
  {
    Told told;
    create("cpu");
    ASSERT_EQ(told.messages.size(), 1u);
    EXPECT_EQ(told.messages[0].first, VX_LOG_INFO);
    EXPECT_EQ(told.messages[0].second.rfind(path + ": device cpu:0 (", 0), 0u) << told.messages[0].second;
    create("cuda:9"); // no machine has so many
    ASSERT_EQ(told.messages.size(), 3u);
    EXPECT_NE(told.messages[1].second.find("device cuda:9 is not taken: "), std::string::npos)
        << told.messages[1].second;
    EXPECT_EQ(told.messages[2].first, VX_LOG_WARNING);
    EXPECT_NE(told.messages[2].second.find("device cuda:9 was asked for, cpu:0 ("), std::string::npos);
  }
  {
    Told told(VX_LOG_WARNING);
    create("cpu");
    create("cuda:9");
    ASSERT_EQ(told.messages.size(), 1u);
    EXPECT_EQ(told.messages[0].first, VX_LOG_WARNING);
  }
  create("cpu"); // nobody is told
  vx_module_release(module);
}

// When another function is set the one before does not run any more.
TEST(Log, functionsMayChangeWhileThreadsTell) {
  std::atomic<bool> isDone = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!isDone)
        log(VX_LOG_INFO, "number {}", 7);
    });
  for (int i = 0; i < 200; ++i) {
    const auto told = std::make_unique<Told>();
    std::this_thread::yield();
  }
  Told told(VX_LOG_NONE);
  isDone = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(told.messages.empty());
}

} // namespace vx::test
