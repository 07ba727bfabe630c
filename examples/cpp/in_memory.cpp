// Compiles a model and runs it in one process: from bytes to bytes, without a file.
//
//   in_memory [DEVICE]
//
// DEVICE is cpu or vulkan. The compiler reports its progress, and Ctrl-C cancels it.

#include "vx/compiler/vxc.h"
#include "vx/runtime/vx.hpp"

#include <csignal>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

// Bytes of an ONNX file would do as well.
static const std::string_view Model = R"(
vx.symbol "n"
func.func @main(%x: tensor<?xf32, #vx.enc<[n]>> {vx.name = "x"}) -> (tensor<?xf32, #vx.enc<[n]>> {vx.name = "y"}) {
  %half = vx.constant dense<0.5> : tensor<f32>
  %halves = vx.broadcast %half, [] : tensor<f32> -> tensor<?xf32, #vx.enc<[n]>>
  %scaled = vx.mul %x, %halves : tensor<?xf32, #vx.enc<[n]>>, tensor<?xf32, #vx.enc<[n]>>
  %y = vx.exp %scaled : tensor<?xf32, #vx.enc<[n]>>
  return %y : tensor<?xf32, #vx.enc<[n]>>
}
)";

static volatile std::sig_atomic_t isInterrupted = 0;

struct ReleaseModule {
  void operator()(vxc_module *module) const { vxc_module_release(module); }
};
using CompiledModule = std::unique_ptr<vxc_module, ReleaseModule>;

static CompiledModule compile(const std::string &target) {
  std::string errors;
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = target.c_str();
  options.user_data = &errors;
  options.on_message = [](void *data, vxc_severity severity, const char *message) {
    if (severity == VXC_ERROR)
      *static_cast<std::string *>(data) += std::string(message) + "\n";
    else
      std::printf("%s\n", message); // VXC_PROGRESS: "compiled 1 of 1 kernels for cpu"
  };
  options.is_cancelled = [](void *) { return static_cast<int>(isInterrupted); };
  vxc_module *module = nullptr;
  const vxc_result result = vxc_compile_bytes(Model.data(), Model.size(), "halves.mlir", &options, &module);
  if (result == VXC_CANCELLED)
    throw std::runtime_error("cancelled");
  if (result != VXC_DONE)
    throw std::runtime_error("cannot compile the model: " + errors);
  return CompiledModule(module);
}

static int run(const std::string &device) {
  const CompiledModule compiled = compile(device);
  const std::span bytes(static_cast<const std::byte *>(vxc_module_data(compiled.get())),
                        vxc_module_size(compiled.get()));
  // The bytes must live as long as the module.
  vx::Module module(bytes, "halves");
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  vx::Instance instance(module, options);
  vx::Call call(instance, module.functions()[0]);
  for (int64_t size : {2, 4}) {
    const float numbers[] = {0, 1, 2, 4};
    const int64_t dims[] = {size};
    const std::vector<vx::Value> results =
        call.run({vx::Value::raw(VX_F32, dims, numbers, static_cast<size_t>(size) * sizeof(float))});
    std::printf("exp(x / 2):");
    for (float number : results[0].data<float>())
      std::printf(" %.3f", number);
    std::printf("\n");
  }
  return 0;
}

int main(int argc, char **argv) {
  std::signal(SIGINT, [](int) { isInterrupted = 1; });
  try {
    return run(argc > 1 ? argv[1] : "cpu");
  } catch (const vx::Error &error) {
    std::fprintf(stderr, "in_memory: error: %s\n%s", error.what(), error.report().c_str());
    return error.code() == VX_NO_DEVICE ? 4 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "in_memory: error: %s\n", error.what());
    return 1;
  }
}
