// The machine that a tool runs on.
#include "host_facts.h"

#include "../base/scratch_folder.h"
#include "vx/base/host_memory.h"

#include <sys/resource.h>

using namespace vx::tools;

namespace {

class HostFacts : public vx::test::ScratchFolder {
protected:
  HostFacts() : root(folder.string()) {
    std::filesystem::create_directories(root + "/proc/1");
    std::filesystem::create_directories(root + "/run");
  }
  void write(const std::string &name, const std::string &text) { put(root + name, text); }

  const std::string root;
};

} // namespace

TEST_F(HostFacts, containers) {
  EXPECT_EQ(findContainer(root), "");
  write("/proc/1/cgroup", "12:memory:/\n0::/init.scope\n");
  EXPECT_EQ(findContainer(root), "");
  write("/proc/1/cgroup", "12:memory:/\n0::/kubepods/besteffort/pod1/docker-1\n");
  EXPECT_EQ(findContainer(root), "kubepods (/proc/1/cgroup)");
  write("/proc/1/cgroup", "0::/system.slice/containerd.service\n");
  EXPECT_EQ(findContainer(root), "containerd (/proc/1/cgroup)");
  write("/run/.containerenv", "");
  EXPECT_EQ(findContainer(root), "podman (/run/.containerenv)");
  write("/.dockerenv", "");
  EXPECT_EQ(findContainer(root), "docker (/.dockerenv)");
}

TEST_F(HostFacts, memory) {
  EXPECT_EQ(vx::findHostMemory(root).available, std::nullopt);
  EXPECT_EQ(vx::findHostMemory(root).total, std::nullopt);
  write("/proc/meminfo", "MemTotal:       25165824 kB\nMemFree: 1 kB\nMemAvailable:   20971520 kB\n");
  EXPECT_EQ(vx::findHostMemory(root).available, uint64_t(20) << 30);
  EXPECT_EQ(vx::findHostMemory(root).total, uint64_t(24) << 30);
  for (const char *text : {"MemFree: 5 kB\n", "MemAvailable:\n", "MemAvailable: many kB\n",
                           "MemAvailable: 99999999999999999999 kB\n", "MemAvailable: 18446744073709551615 kB\n"}) {
    write("/proc/meminfo", text);
    EXPECT_EQ(vx::findHostMemory(root).available, std::nullopt) << text;
  }
}

TEST_F(HostFacts, limitsOfTheControlGroup) {
  const auto group = [&](const std::string &path, const std::string &memory, const std::string &cpu) {
    std::filesystem::create_directories(root + "/sys/fs/cgroup" + path);
    write("/sys/fs/cgroup" + path + "/memory.max", memory);
    write("/sys/fs/cgroup" + path + "/cpu.max", cpu);
  };
  std::filesystem::create_directories(root + "/proc/self");
  EXPECT_EQ(findGroupLimits(root).memory, std::nullopt);
  write("/proc/self/cgroup", "0::/a/b\n");
  group("/a/b", "max\n", "max 100000\n");
  EXPECT_EQ(findGroupLimits(root).memory, std::nullopt);
  EXPECT_EQ(findGroupLimits(root).cores, std::nullopt);
  // The least of all that are above holds.
  group("/a", "1073741824\n", "150000 100000\n");
  EXPECT_EQ(findGroupLimits(root).memory, uint64_t(1) << 30);
  EXPECT_EQ(findGroupLimits(root).cores, 1.5);
  group("/a/b", "4096\n", "200000 100000\n");
  EXPECT_EQ(findGroupLimits(root).memory, 4096u);
  EXPECT_EQ(findGroupLimits(root).cores, 1.5);
  // A container of its own group.
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(findGroupLimits(root).memory, std::nullopt);
  group("", "2048\n", "50000 100000\n");
  EXPECT_EQ(findGroupLimits(root).memory, 2048u);
  EXPECT_EQ(findGroupLimits(root).cores, 0.5);
  group("", "many\n", "50000 0\n");
  EXPECT_EQ(findGroupLimits(root).memory, std::nullopt);
  EXPECT_EQ(findGroupLimits(root).cores, std::nullopt);
}

TEST_F(HostFacts, limitsOfTheFirstVersion) {
  std::filesystem::create_directories(root + "/proc/self");
  for (const char *folder : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu/docker/1"})
    std::filesystem::create_directories(root + folder);
  write("/proc/self/cgroup", "9:name=systemd:/docker/1\n5:memory:/docker/1\n4:cpu,cpuacct:/docker/1\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(findGroupLimits(root).memory, std::nullopt);
  EXPECT_EQ(findGroupLimits(root).cores, std::nullopt);
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  write("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(findGroupLimits(root).memory, 1000000u);
  EXPECT_EQ(findGroupLimits(root).cores, 2.5);
}

TEST_F(HostFacts, limitsOfTheProcess) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit less = before;
  less.rlim_cur = 123;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &less), 0);
  EXPECT_EQ(findProcessLimits().openFiles, 123u);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}
