// Failures of the kernel that no limit brings about: a filter makes it refuse system calls, as those of hardened
// systems and containers do.
#ifndef VX_TEST_UNIT_RUNTIME_REFUSED_SYSTEM_CALL_H
#define VX_TEST_UNIT_RUNTIME_REFUSED_SYSTEM_CALL_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace vx::test {

// A call by its number; with `bits`, only where argument `argument` has one of them.
struct RefusedCall {
  long number;
  uint32_t argument = 0, bits = 0;
};

// Whether the kernel has filters at all: without one it says that the address is wrong, or that it knows no filter.
inline bool canRefuseSystemCalls() {
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0) != 0 && errno == EFAULT;
}

// From now on `calls` fail with `error` in this thread and those it starts. There is no way back: for a process of its
// own.
inline void refuseSystemCalls(std::initializer_list<RefusedCall> calls, uint32_t error) {
  std::vector<sock_filter> filter;
  for (const RefusedCall &call : calls) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call.number), 0,
                              static_cast<uint8_t>(call.bits ? 3 : 1)));
    if (call.bits) {
      const auto place = static_cast<uint32_t>(offsetof(seccomp_data, args) + call.argument * sizeof(uint64_t));
      filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place)); // the low half: little-endian
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.bits, 0, 1));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  // Without new privileges a process may filter its own calls, root or not.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    _exit(99);
}

} // namespace vx::test

#endif
