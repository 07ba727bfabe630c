// vx.hpp over the shared library, as an application uses it. Argument: a module file of the tests.
#include "vx/runtime/vx.hpp"

#include <cstdio>

// The bytes of a temporary do not outlive the module.
static_assert(!std::is_constructible_v<vx::Module, std::vector<std::byte>, std::string>);
static_assert(std::is_constructible_v<vx::Module, const std::vector<std::byte> &, std::string>);

static int check(bool condition, const char *what) {
  if (!condition)
    std::fprintf(stderr, "wrong: %s\n", what);
  return condition ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  int wrong = 0;
  try {
    vx::Module module(argv[1]);
    module.verify();
    wrong += check(module.functions().size() == 1 && module.variables().empty(), "signature");
    wrong += check(module.describe().starts_with("{\"version\":1,"), "describe");
    vx::Instance instance(module,
                          {.device = "cpu", .deviceOrder = "", .noFallback = true, .threads = 2, .variant = ""});
    const vx_memory_estimate before = vx::estimateMemory(module, "main", {{{"n", 3}}}, {.device = "cpu"});
    wrong += check(before.total == 24 && before.total == instance.estimateMemory("main", {{{"n", 3}}}).total,
                   "estimate before there is an instance");
    vx::Call call(instance, module.functions()[0]);
    vx::Value x = vx::Value::tensor<int32_t>({3}, {1, 2, 3});
    // By way of another library's tensor: the same bytes.
    x = vx::Value::fromDlpack(x.toDlpack());
    std::vector<vx::Value> outputs = call.run({x});
    wrong += check(outputs.size() == 1 && outputs[0].data<int32_t>()[2] == 16, "result");
    const vx::Value words = vx::Value::strings(std::vector<int64_t>{2}, std::vector<std::string>{"a", "\u00e4b"});
    wrong += check(words.info().count == 2 && words.strings()[1] == "\u00e4b", "strings");
    wrong += check(vx::listDevices().starts_with("{\"version\":1,"), "devices");
    call.setStream(nullptr);
    try {
      call.setStream(&call);
      wrong += check(false, "a stream on the CPU");
    } catch (const vx::Error &error) {
      wrong += check(error.code() == VX_UNSUPPORTED, error.what());
    }
    wrong += check(vx::Value::share(x.get()).data<int32_t>()[1] == 2, "one more reference");
    vx::Value kept = outputs[0];
    outputs.clear();
    wrong += check(kept.dims()[0] == 3 && kept.data<int32_t>()[0] == 10, "kept result");
    try {
      kept.data<float>();
      wrong += check(false, "another element type");
    } catch (const std::invalid_argument &error) {
      wrong += check(error.what() == std::string("the tensor's elements are i32, asked for f32"), error.what());
    }
    const vx::Value parts[] = {x, kept};
    vx::Value sequence = vx::Value::sequence(VX_I32, parts);
    wrong += check(sequence.info().count == 2 && sequence.element(1).data<int32_t>()[1] == 13, "sequence");
    wrong += check(vx::Value::optional(VX_I32, vx::Value()).info().count == 0, "optional");
    wrong += check(vx::Value::optionalSequence(VX_I32, vx::Value()).info().count == 0, "optional sequence");
    try {
      vx::Instance refused(module,
                           {.device = "cuda", .deviceOrder = "", .noFallback = true, .threads = 0, .variant = ""});
      wrong += check(false, "a device that is not there");
    } catch (const vx::Error &error) {
      wrong += check(error.code() == VX_NO_DEVICE, error.what());
      // Where there is one, the module has no code for it.
      wrong += check(error.report().find("\"refused\":[{\"device\":\"cuda\",\"code\":\"no_") != std::string::npos,
                     error.report().c_str());
    }
    try {
      call.run({x, x});
      wrong += check(false, "too many inputs");
    } catch (const vx::Error &error) {
      wrong += check(error.what() == std::string("vx_call_run: function 'main' takes 1 inputs, got 2"), error.what());
    }
    call.submit(parts);
    wrong += check(false, "too many inputs of a run that is submitted");
  } catch (const vx::Error &error) {
    wrong += check(error.what() == std::string("vx_call_submit: function 'main' takes 1 inputs, got 2"), error.what());
  }
  try {
    vx::Module module(argv[1]);
    vx::Instance instance(module,
                          {.device = "cpu", .deviceOrder = "", .noFallback = true, .threads = 2, .variant = ""});
    vx::Call call(instance, module.functions()[0]);
    const vx::Value x = vx::Value::tensor<int32_t>({3}, {1, 2, 3}), y = vx::Value::tensor<int32_t>({2}, {4, 5});
    alignas(64) int32_t place[3] = {};
    const vx_result_place places[] = {{place, sizeof(place), nullptr}};
    vx::Pending held = call.submit({&y, 1}, true), placed = call.submit({&x, 1}, false, places);
    wrong += check(placed.wait()[0].data<int32_t>().data() == place && place[2] == 16, "a result's place");
    try {
      held.wait();
      wrong += check(false, "a run that is held");
    } catch (const vx::Error &error) {
      wrong +=
          check(error.what() == std::string("vx_call_wait: the run is held and has not been started"), error.what());
    }
    held.start();
    const std::vector<vx::Value> first = held.wait(), again = held.wait();
    wrong +=
        check(first[0].data<int32_t>().data() == again[0].data<int32_t>().data() && first[0].data<int32_t>()[1] == 22,
              "a result twice");
    // One that nobody waits for, and what uses the call waits for it.
    call.submit({&x, 1});
    call.setProfile(true);
    vx::Pending last = call.submit({&x, 1});
    wrong += check(call.report().find("\"kernels\":[{") != std::string::npos, "a profiled run");
    call = {};
    instance = {};
    wrong += check(last.wait()[0].data<int32_t>()[0] == 10, "a run that outlives its call");
  } catch (const vx::Error &error) {
    wrong += check(false, error.what());
  }
  return wrong ? 1 : 0;
}
