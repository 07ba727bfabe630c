// Tensors that stay in a GPU's memory between this library and another one, by DLPack.
//
//   vx-check-dlpack running_sum.vxm DEVICE
//
// On cuda memory that nobody but this program has allocated is read in place; on cuda and rocm a result goes from one
// module into another one, and back to the host with the same bits; on vulkan, whose memory has no addresses for
// others, a result is refused. Exit code: 0 all as wanted, 1 not.

#include "api/dlpack_tensor.h"

#include "vx/runtime/vx.hpp"

#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>

static int failed = 0;
static void check(bool holds, const char *what) {
  std::printf("%s  %s\n", holds ? "ok" : "FAILED", what);
  failed += !holds;
}

static constexpr int32_t hostType = 1, cudaType = 2, rocmType = 10;

// What CUDA's own library allocates.
struct CudaMemory {
  uint64_t address = 0;
  int givenBack = 0;
  DLManagedTensorVersioned tensor = {};
  int64_t shape[1] = {0};

  static std::optional<std::string> fill(CudaMemory &memory, const std::vector<float> &values) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return dlerror();
    auto call = [&]<typename... A>(const char *name, A... arguments) {
      auto function = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
      return function && function(arguments...) == 0;
    };
    int device = 0;
    void *context = nullptr;
    const size_t size = values.size() * sizeof(float);
    if (!call("cuInit", 0u) || !call("cuDeviceGet", &device, 0) ||
        !call("cuDevicePrimaryCtxRetain", &context, device) || !call("cuCtxSetCurrent", context) ||
        !call("cuMemAlloc_v2", &memory.address, size) ||
        !call("cuMemcpyHtoD_v2", memory.address, static_cast<const void *>(values.data()), size))
      return "the CUDA driver allocates nothing";
    memory.shape[0] = static_cast<int64_t>(values.size());
    memory.tensor.version = {1, 0};
    memory.tensor.manager_ctx = &memory;
    memory.tensor.deleter = [](DLManagedTensorVersioned *self) {
      ++static_cast<CudaMemory *>(self->manager_ctx)->givenBack;
    };
    memory.tensor.dl_tensor = {
        reinterpret_cast<void *>(memory.address), {cudaType, 0}, 1, {2, 32, 1}, memory.shape, nullptr, 0};
    return std::nullopt;
  }
};

static bool areEqual(const vx::Value &value, const std::vector<float> &wanted) {
  const auto bytes = value.bytes();
  return bytes.size() == wanted.size() * sizeof(float) && std::memcmp(bytes.data(), wanted.data(), bytes.size()) == 0;
}

static int run(const char *path, const std::string &device) {
  constexpr size_t kept = 3; // of the program's outputs: its positive input itself
  std::vector<float> numbers(1021);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const int64_t zero = 0;
  const vx::Value pick = vx::Value::tensor<int64_t>({}, {zero});
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  vx::Module firstModule(path), secondModule(path);
  vx::Instance first(firstModule, options), second(secondModule, options);
  vx::Call one(first, firstModule.functions()[0]), other(second, secondModule.functions()[0]);
  const vx::Value x = vx::Value::tensor<float>({1021}, numbers);
  const vx::Value result = one.run({x, pick})[kept];
  check(areEqual(result, numbers), "a result");
  if (device == "vulkan") {
    std::string refusal;
    try {
      DLManagedTensorVersioned *tensor = result.toDlpackInPlace();
      refusal = tensor->dl_tensor.device.device_type == hostType ? "in memory of the host" : "";
      tensor->deleter(tensor);
    } catch (const vx::Error &error) {
      refusal = error.what();
    }
    check(!refusal.empty(), refusal.c_str());
    return failed;
  }
  const int32_t type = device == "cuda" ? cudaType : rocmType;
  {
    const vx::Value fresh = one.run({x, pick})[kept]; // whose bytes nobody has fetched
    DLManagedTensorVersioned *tensor = fresh.toDlpackInPlace();
    check(tensor->dl_tensor.device.device_type == type && tensor->dl_tensor.device.device_id == 0,
          "is given where it is");
    const vx::Value taken = vx::Value::fromDlpack(tensor);
    check(areEqual(other.run({taken, pick})[kept], numbers), "goes into another module");
    check(areEqual(taken, numbers), "and to the host");
  }
  if (device != "cuda")
    return failed;
  CudaMemory memory;
  if (std::optional<std::string> why = CudaMemory::fill(memory, numbers)) {
    check(false, why->c_str());
    return failed;
  }
  {
    const vx::Value taken = vx::Value::fromDlpack(&memory.tensor);
    check(areEqual(one.run({taken, pick})[kept], numbers), "memory of somebody else's is read");
    check(areEqual(other.run({taken, pick})[kept], numbers), "by two modules");
    check(memory.givenBack == 0, "and stays as long as there is a reader");
  }
  check(memory.givenBack == 1, "and is given back once");
  return failed;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: vx-check-dlpack running_sum.vxm DEVICE\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2]) ? 1 : 0;
  } catch (const vx::Error &error) {
    std::fprintf(stderr, "vx-check-dlpack: error: %s\n", error.what());
    return 1;
  }
}
