// Vendors' libraries that hang or crash when they are opened: a refusal with a reason, and neither of a tool.
#include "../base/scratch_folder.h"
#include "module_builder.h"
#include "programs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>

namespace {

class DriverProbe : public vx::test::ScratchFolder {
protected:
  // Runs a tool with a library in the place of each vendor's that fails in a way, and gives its exit code.
  int run(const std::string &how, const std::string &command, const std::string &variables = "VX_PROBE_SECONDS=60") {
    const std::string line =
        fmt::format("FAILING_DRIVER='{0}' FAILING_DRIVER_PID={1} VX_CUDA_LIBRARY={2} VX_HIP_LIBRARY=/nonexistent.so "
                    "VX_VULKAN_LIBRARY={2} {3} {4} >{5} 2>{6}",
                    how, at("pid"), VX_TEST_FAILING_DRIVER, variables, command, at("out"), at("err"));
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string out() { return contents(at("out")); }
  std::string err() { return contents(at("err")); }
  void expectLine(const std::string &line) { EXPECT_NE(out().find(line + "\n"), std::string::npos) << out() << err(); }
};

} // namespace

TEST_F(DriverProbe, driversThatCrashAreRefused) {
  const struct {
    const char *how, *end;
  } cases[] = {{"abort", "was ended by signal 6 (Aborted)"},
               {"crash", "was ended by signal 9 (Killed)"},
               {"exit 3", "ended with exit code 3"},
               {"exit 0", "ended with exit code 0"}};
  for (const auto &[how, end] : cases) {
    EXPECT_EQ(run(how, VX_INFO " --hardware"), 0) << how;
    for (const char *backend : {"cuda", "vulkan"})
      expectLine(fmt::format("{0}: the {0} driver is not used: the process that tried it {1} before it answered; "
                             "VX_PROBE=0 tries no driver",
                             backend, end));
    EXPECT_NE(out().find("\ncpu:0: "), std::string::npos);
    EXPECT_EQ(err(), "");
  }
  EXPECT_EQ(run("abort", VX_INFO " --hardware --json"), 0);
  const nlohmann::json hardware = nlohmann::json::parse(out());
  for (const auto &backend : hardware["backends"])
    if (backend["name"] == "cuda") {
      EXPECT_EQ(backend["available"], false);
      EXPECT_EQ(backend["code"], "driver_failed");
    }
}

TEST_F(DriverProbe, driversThatHangAreRefusedInTime) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run("hang", VX_INFO " --hardware", "VX_PROBE_SECONDS=1"), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)); // two drivers
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  expectLine("cuda: the cuda driver is not used: the process that tried it did not answer within 1 s; VX_PROBE_SECONDS "
             "sets the limit, and VX_PROBE=0 tries no driver");
  // Nothing is left of it.
  EXPECT_EQ(::kill(std::stoi(contents(at("pid"))), 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(DriverProbe, otherToolsTakeTheNextDevice) {
  using namespace vx::test;
  ModuleBuilder builder;
  addAffine(builder);
  builder.addCpuTarget();
  builder.addVulkanTarget();
  const std::vector<uint8_t> bytes = builder.bytes();
  put(at("m.vxm"), {bytes.begin(), bytes.end()});
  const std::string command = VX_RUN " " + at("m.vxm") + " --input x=i32[3]:ones --print --device=vulkan";
  EXPECT_EQ(run("abort", command), 0) << err();
  EXPECT_EQ(out(), "y: i32[3]\n[10, 10, 10]\n");
  EXPECT_NE(err().find("the process that tried it was ended by signal 6 (Aborted)"), std::string::npos) << err();
  EXPECT_EQ(run("abort", command + " --no-fallback"), 4);
  EXPECT_NE(err().find("the vulkan driver is not used: the process that tried it was ended by signal 6 (Aborted)"),
            std::string::npos)
      << err();
}

TEST_F(DriverProbe, driversThatAnswerAreUsed) {
  // One that writes what nobody has asked for answers too.
  for (const char *how : {"loud", ""}) {
    EXPECT_EQ(run(how, VX_INFO " --hardware"), 0) << how;
    EXPECT_NE(out().find(fmt::format("cuda: '{}' has no function ", VX_TEST_FAILING_DRIVER)), std::string::npos)
        << out();
  }
  // A probe that cannot be started is none.
  EXPECT_EQ(run("", VX_INFO " --hardware", "VX_PROBE=/nonexistent"), 0);
  EXPECT_NE(out().find(fmt::format("cuda: '{}' has no function ", VX_TEST_FAILING_DRIVER)), std::string::npos);
  // Another program is no probe that answers.
  EXPECT_EQ(run("", VX_INFO " --hardware", "VX_PROBE=/bin/true"), 0);
  expectLine("cuda: the cuda driver is not used: the process that tried it ended with exit code 0 before it answered; "
             "VX_PROBE=0 tries no driver");
}

TEST_F(DriverProbe, withoutItTheToolHasTheFault) { EXPECT_EQ(run("exit 7", VX_INFO " --hardware", "VX_PROBE=0"), 7); }

#ifdef VX_TEST_STAND_IN_CUDA // with the driver of cuda

// The driver finds its devices, and ends the process that opens one.
TEST_F(DriverProbe, freeMemoryIsAskedForInAnotherProcess) {
  const std::string variables = "VX_PROBE_SECONDS=60 VX_CUDA_LIBRARY=" VX_TEST_STAND_IN_CUDA;
  for (const char *tool : {VX_INFO " --hardware", VX_RUN " --list-devices"}) {
    EXPECT_EQ(run("abort", tool, variables), 0) << err();
    EXPECT_NE(out().find("cuda:1: Stand-in 1"), std::string::npos) << out();
    EXPECT_NE(out().find("\n  memory: 1024.0 GiB, 0.0 GiB free\n"), std::string::npos) << out();
    EXPECT_EQ(err(), "");
    EXPECT_EQ(run("abort", tool, variables + " STAND_IN_CRASH=cuMemGetInfo"), 0) << err();
    EXPECT_NE(out().find("cuda:1: Stand-in 1"), std::string::npos) << out();
    EXPECT_NE(out().find("\n  memory: 1024.0 GiB\n"), std::string::npos) << out();
    EXPECT_NE(err().find(": warning: cuda: the free memory of devices is not known: '"), std::string::npos) << err();
    EXPECT_NE(err().find("' was ended by signal 6"), std::string::npos) << err();
  }
  EXPECT_EQ(run("abort", VX_INFO " --hardware --json", variables), 0);
  const nlohmann::json facts = nlohmann::json::parse(out());
  for (const auto &backend : facts["backends"])
    for (const auto &device : backend.value("devices", nlohmann::json::array())) {
      if (backend["name"] == "cuda")
        EXPECT_EQ(device["free_memory"], 1000) << device;
      if (backend["name"] == "cpu")
        EXPECT_GT(device["free_memory"].get<uint64_t>(), 0u);
    }
  EXPECT_EQ(run("abort", VX_INFO " --hardware --json", variables + " STAND_IN_CRASH=cuMemGetInfo"), 0);
  const nlohmann::json withoutFigure = nlohmann::json::parse(out());
  for (const auto &backend : withoutFigure["backends"])
    if (backend["name"] == "cuda")
      EXPECT_TRUE(backend["devices"][0]["free_memory"].is_null());
  // Without a probe it is this process that ends.
  EXPECT_EQ(run("abort", VX_INFO " --hardware", variables + " STAND_IN_CRASH=cuMemGetInfo VX_PROBE=0"), 128 + 6);
}

// What a library writes between the lines is no size.
TEST_F(DriverProbe, freeMemoryIsThatOfItsDevice) {
  EXPECT_EQ(run("", VX_INFO " --free-memory=cpu:0,null:0,cuda:0", "VX_CUDA_LIBRARY=" VX_TEST_STAND_IN_CUDA), 0);
  EXPECT_EQ(out().find("free memory of cpu:0: "), 0u) << out();
  EXPECT_NE(out().find("\nfree memory of cuda:0: 1000\n"), std::string::npos) << out();
  EXPECT_EQ(out().find("null"), std::string::npos) << out();
}

#endif
