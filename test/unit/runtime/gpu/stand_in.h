// What a test sees of a library that stands in for a vendor's: what was called, and what shall fail.
#ifndef VX_TEST_UNIT_RUNTIME_GPU_STAND_IN_H
#define VX_TEST_UNIT_RUNTIME_GPU_STAND_IN_H

#include <atomic>
#include <climits>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace vx::test {

struct StandIn {
  struct Failure {
    int result = 0;
    int after = 0;   // calls that still work
    int device = -1; // the one that must be current; -1: any
    int times = INT_MAX;
  };

  std::mutex mutex;
  std::vector<std::string> calls;          // "cuMemsetD8Async 32"
  std::map<std::string, Failure> failures; // by function
  std::multiset<const void *> live;        // objects of any kind that were made and not given back

  int count(const std::string &prefix) {
    std::lock_guard lock(mutex);
    int number = 0;
    for (const std::string &call : calls)
      number += call.compare(0, prefix.size(), prefix) == 0;
    return number;
  }
  // Records a call and says what it shall answer; 0 is success for every vendor.
  int record(const std::string &function, const std::string &arguments, int device) {
    std::lock_guard lock(mutex);
    calls.push_back(function + arguments);
    auto found = failures.find(function);
    if (found == failures.end())
      return 0;
    Failure &failure = found->second;
    if ((failure.device >= 0 && failure.device != device) || failure.after-- > 0)
      return 0;
    if (failure.times-- <= 0)
      return 0;
    return failure.result;
  }
  template <typename T>
  T *made(T *object) {
    std::lock_guard lock(mutex);
    live.insert(object);
    return object;
  }
  // What was not made, or was given back before, is a call that a test sees.
  void givenBack(const void *object) {
    std::lock_guard lock(mutex);
    if (auto found = live.find(object); found != live.end())
      live.erase(found);
    else
      calls.emplace_back("no such object is given back");
  }
  void forget() {
    std::lock_guard lock(mutex);
    calls.clear();
  }
  void fail(const std::string &function, int result, int after = 0, int device = -1, int times = INT_MAX) {
    std::lock_guard lock(mutex);
    failures[function] = {result, after, device, times};
  }
};

// Of CUDA or HIP. The one of the process; the library exports it as "vx_stand_in".
struct GpuStandIn : StandIn {
  int deviceCount = 2;
  int version = 0;
  uint64_t totalMemory = uint64_t(1) << 40;
  bool sharesMemory = false, readsPages = false;      // of the host
  uint64_t allocated = 0, mostAllocated = UINT64_MAX; // from pools, in bytes
  const void *foreignStream = nullptr;                // one of another device
  std::vector<const void *> launchStreams;            // that graphs were launched in
  std::vector<std::pair<uint64_t, uint64_t>> copies;  // that were queued: the source's address, and bytes
  // CUDA only.
  int capability = 90;
  bool hasPools = true, isUnified = true;
  std::string jitLog;                         // what the assembler says of errors
  std::map<std::string, std::string> jitInfo; // and of the code of a kernel
  int linksAtOnce = 0;                        // a link is not complete before so many are open, for 10 seconds at most
  std::atomic<int> openLinks{0}, mostOpenLinks{0};

  // Whether a pool has so many bytes, which are taken then.
  bool allocate(uint64_t size) {
    std::lock_guard lock(mutex);
    if (allocated > mostAllocated || size > mostAllocated - allocated)
      return false;
    allocated += size;
    return true;
  }
  void givenBackToPool(uint64_t size) {
    std::lock_guard lock(mutex);
    allocated -= size;
  }

  void copied(uint64_t source, uint64_t size) {
    std::lock_guard lock(mutex);
    copies.emplace_back(source, size);
  }
  void launched(const void *stream) {
    std::lock_guard lock(mutex);
    launchStreams.push_back(stream);
  }
};
using StandInFunction = GpuStandIn *(*)();

} // namespace vx::test

#endif
