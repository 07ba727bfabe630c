// What a test sees of the stand-in for libcuda: what was called, and what shall fail.
#ifndef VX_TEST_UNIT_RUNTIME_CUDA_STAND_IN_H
#define VX_TEST_UNIT_RUNTIME_CUDA_STAND_IN_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace vx::test {

struct StandIn {
  struct Failure {
    int result = 0;
    int after = 0; // calls that still work
  };

  std::mutex mutex;
  std::vector<std::string> calls;          // "cuMemsetD8Async 32"
  std::map<std::string, Failure> failures; // by function
  std::string jitLog;                      // what the assembler says
  int deviceCount = 2;
  int driverVersion = 12020;
  int capability = 90;
  uint64_t totalMemory = uint64_t(1) << 40;
  int64_t live = 0; // objects of any kind that were made and not destroyed

  int count(const std::string &prefix) {
    std::lock_guard lock(mutex);
    int number = 0;
    for (const std::string &call : calls)
      number += call.compare(0, prefix.size(), prefix) == 0;
    return number;
  }
  void forget() {
    std::lock_guard lock(mutex);
    calls.clear();
  }
  void fail(const std::string &function, int result, int after = 0) {
    std::lock_guard lock(mutex);
    failures[function] = {result, after};
  }
};

// The one of the process; the library exports it as "vx_stand_in".
using StandInFunction = StandIn *(*)();

} // namespace vx::test

#endif
