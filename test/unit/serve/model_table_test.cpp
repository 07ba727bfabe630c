// What becomes of models that are loaded, taken out and changed at the same time. None of them is there in the end:
// what is loaded has its tests in test/serve.
#include "model_table.h"

#include "vx/serve/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using vx::serve::ErrorCode;
using vx::serve::ModelSettings;
using vx::serve::ModelTable;
using vx::serve::ServiceError;

// The first call of `prepare` waits until it may go on, and every one fails as the test wants.
class ModelTableTest : public testing::Test {
protected:
  std::string prepare(const ModelSettings &settings) {
    std::unique_lock guard(lock);
    prepared.push_back(settings.path);
    changed.notify_all();
    changed.wait(guard, [this] { return !isHeld; });
    throw ServiceError(failure);
  }
  void waitForPrepare() {
    std::unique_lock guard(lock);
    ASSERT_TRUE(changed.wait_for(guard, 20s, [this] { return !prepared.empty(); }));
  }
  void letGo() {
    std::lock_guard guard(lock);
    isHeld = false;
    changed.notify_all();
  }
  void add(const std::string &name, const std::string &path = "a.vxm") {
    ModelSettings settings;
    settings.name = name;
    settings.path = path;
    table.add(settings);
  }
  static std::string failureOf(const std::function<void()> &function) {
    try {
      function();
      return "none";
    } catch (const ServiceError &error) {
      return fmt::format("{} {}: {}", httpStatus(error.code), errorCodeName(error.code), error.what());
    }
  }

  std::mutex lock;
  std::condition_variable changed;
  bool isHeld = false;
  ServiceError failure{ErrorCode::internal, "broken"};
  std::vector<std::string> prepared;
  std::vector<std::string> told;
  vx::serve::Metrics metrics;
  ModelTable table{metrics,
                   [this](const ModelSettings &settings) { return prepare(settings); },
                   [this](const ModelTable::Entry &entry) { told.push_back(entry.reason); },
                   {}};
};

TEST_F(ModelTableTest, whatIsLoadedByOneIsAConflictForAnother) {
  isHeld = true;
  add("digits");
  auto loading = std::async(std::launch::async, [&] { return failureOf([&] { table.load("digits"); }); });
  waitForPrepare();
  EXPECT_EQ(table.entry("digits").stateText(), "loading");
  EXPECT_EQ(failureOf([&] { table.load("digits"); }), "409 conflict: model 'digits' is being loaded");
  EXPECT_EQ(failureOf([&] { table.unload("digits"); }), "409 conflict: model 'digits' is being loaded");
  EXPECT_EQ(failureOf([&] { (void)table.find("digits"); }), "503 loading: model 'digits' is being loaded");
  letGo();
  EXPECT_EQ(loading.get(), "500 internal: model 'digits' cannot be loaded: broken");
  EXPECT_EQ(table.entry("digits").stateText(), "failed");
  EXPECT_EQ(failureOf([&] { (void)table.find("digits"); }), "503 loading: model 'digits' could not be loaded: broken");
  EXPECT_THAT(told, ElementsAre("broken"));
}

// The client learns what is needed and what is there, and who of them is at fault.
TEST_F(ModelTableTest, failuresHaveTheirCode) {
  add("digits");
  failure = ServiceError(ErrorCode::out_of_memory, "expected 12 bytes, have 7");
  EXPECT_EQ(failureOf([&] { table.load("digits"); }),
            "507 out_of_memory: model 'digits' cannot be loaded: expected 12 bytes, have 7");
  failure = ServiceError(ErrorCode::invalid_value, "'digits.vxm' is no module");
  EXPECT_EQ(failureOf([&] { table.load("digits"); }),
            "500 internal: model 'digits' cannot be loaded: 'digits.vxm' is no module");
  failure = ServiceError(ErrorCode::device_lost, "no device");
  EXPECT_EQ(failureOf([&] { table.load("digits"); }), "503 device_lost: model 'digits' cannot be loaded: no device");
  EXPECT_EQ(failureOf([&] { table.load("nix"); }), "404 model_not_found: no model 'nix'");
}

TEST_F(ModelTableTest, whatIsTakenOutWhileItIsLoadedIsGone) {
  isHeld = true;
  add("digits");
  add("digits-small");
  auto loading = std::async(std::launch::async, [&] { return failureOf([&] { table.load("digits"); }); });
  waitForPrepare();
  table.remove("digits");
  letGo();
  EXPECT_EQ(loading.get(), "500 internal: model 'digits' cannot be loaded: broken");
  // The other one, which the name means by now, has not got what was loaded.
  EXPECT_EQ(table.entry("digits").settings.name, "digits-small");
  EXPECT_EQ(table.entry("digits").stateText(), "unloaded");
  EXPECT_TRUE(told.empty());
}

TEST_F(ModelTableTest, settingsThatComeWhileItIsLoadedHoldInTheEnd) {
  isHeld = true;
  add("digits", "a.vxm");
  auto loading = std::async(std::launch::async, [&] { return failureOf([&] { table.load("digits"); }); });
  waitForPrepare();
  add("digits", "b.vxm");
  EXPECT_TRUE(table.entry("digits").isWaiting);
  letGo();
  loading.get();
  EXPECT_THAT(prepared, ElementsAre("a.vxm", "b.vxm"));
  EXPECT_FALSE(table.entry("digits").isWaiting);
  // The same once more is nothing new.
  add("digits", "b.vxm");
  EXPECT_FALSE(table.entry("digits").isWaiting);
}

TEST_F(ModelTableTest, whatIsRefusedIsKnownByItsName) {
  add("digits");
  table.refuse({{"e5-large", "no tokenizer.json"}, {"digits", "'/m/digits.onnx' has this name too, and is taken"}});
  EXPECT_EQ(failureOf([&] { (void)table.find("e5-large"); }),
            "404 model_not_found: model 'e5-large' is refused: no tokenizer.json");
  EXPECT_EQ(failureOf([&] { (void)table.find("e5"); }), "404 model_not_found: no model 'e5'");
  EXPECT_EQ(table.entry("digits").reason, "");
  EXPECT_FALSE(table.keep("digits", "nothing of it is loaded"));
  EXPECT_EQ(table.refusals().size(), 2u);
  table.refuse({});
  EXPECT_EQ(failureOf([&] { (void)table.find("e5-large"); }), "404 model_not_found: no model 'e5-large'");
}

} // namespace
