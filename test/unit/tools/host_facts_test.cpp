// The machine that a tool runs on.
#include "host_facts.h"

#include "../base/scratch_folder.h"

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

TEST_F(HostFacts, freeMemory) {
  EXPECT_EQ(findFreeMemory(root), std::nullopt);
  write("/proc/meminfo", "MemTotal:       24683652 kB\nMemFree: 1 kB\nMemAvailable:   20971520 kB\n");
  EXPECT_EQ(findFreeMemory(root), uint64_t(20) << 30);
  for (const char *text : {"MemFree: 5 kB\n", "MemAvailable:\n", "MemAvailable: many kB\n",
                           "MemAvailable: 99999999999999999999 kB\n", "MemAvailable: 18446744073709551615 kB\n"}) {
    write("/proc/meminfo", text);
    EXPECT_EQ(findFreeMemory(root), std::nullopt) << text;
  }
}
