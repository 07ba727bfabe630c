// Options of the C interface that no command line of vx-compile gives.
#include "vx/compiler/vxc.h"
#include "vx/runtime/vx.hpp"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

TEST(Vxc, variantsBelongToTargets) {
  for (const char *variant : {"vulkan=baseline", "=baseline", "avx512", ""}) {
    std::string message;
    vxc_options options = {};
    options.struct_size = sizeof(options);
    options.targets = "cpu";
    options.variants = &variant;
    options.num_variants = 1;
    options.user_data = &message;
    options.on_message = [](void *data, vxc_severity, const char *text) { *static_cast<std::string *>(data) += text; };
    EXPECT_EQ(vxc_compile("nosuch.onnx", "nosuch.vxm", &options), VXC_USAGE);
    EXPECT_EQ(message,
              "variants: expected 'TARGET=NAME,...' of a target that is asked for, got '" + std::string(variant) + "'");
  }
}

// Each pointer that may not be null, and is, is named.
TEST(Vxc, nullPointers) {
  struct Case {
    const char *message;
    void (*damage)(vxc_options &options);
    const char *model = "nosuch.onnx";
    const char *output = "nosuch.vxm";
  };
  const Case cases[] = {
      {"argument 'model_path' is a null pointer", [](vxc_options &) {}, nullptr},
      {"argument 'output_path': expected a path, since neither stop_after nor check_only is set, got a null pointer",
       [](vxc_options &) {}, "nosuch.onnx", nullptr},
      {"--target: expected one or more of ", [](vxc_options &options) { options.targets = nullptr; }},
      {"option 'variants' is a null pointer, num_variants is 2",
       [](vxc_options &options) { options.num_variants = 2; }},
      {"option 'dims' is a null pointer, num_dims is 1", [](vxc_options &options) { options.num_dims = 1; }},
      {"option 'dims': item 1 is a null pointer",
       [](vxc_options &options) {
         static const char *dims[] = {"n=1", nullptr};
         options.dims = dims;
         options.num_dims = 2;
       }},
  };
  for (const Case &one : cases) {
    std::string message;
    vxc_options options = {};
    options.struct_size = sizeof(options);
    options.targets = "cpu";
    options.user_data = &message;
    options.on_message = [](void *data, vxc_severity, const char *text) { *static_cast<std::string *>(data) += text; };
    one.damage(options);
    EXPECT_EQ(vxc_compile(one.model, one.output, &options), VXC_USAGE) << one.message;
    EXPECT_EQ(message.rfind(one.message, 0), 0u) << message;
  }
  EXPECT_EQ(vxc_compile("nosuch.onnx", "nosuch.vxm", nullptr), VXC_USAGE);
  vxc_end_on_failure(nullptr);
  // Nobody listens: the fields that may be null are.
  vxc_options quiet = {};
  quiet.struct_size = sizeof(quiet);
  quiet.targets = "cpu";
  EXPECT_EQ(vxc_compile("nosuch.onnx", "nosuch.vxm", &quiet), VXC_UNSUPPORTED);
}

constexpr const char *Program =
    R"(func.func @main(%x: tensor<4xf32> {vx.name = "x"}) -> (tensor<4xf32> {vx.name = "y"}) {
  %y = vx.add %x, %x : tensor<4xf32>, tensor<4xf32>
  return %y : tensor<4xf32>
}
)";

struct Outcome {
  vxc_result result;
  std::string messages;
};

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "none";
}

Outcome compile(const std::string &model, const std::string &output, vxc_confirm_fn confirm = nullptr) {
  Outcome outcome;
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = "vulkan";
  options.confirm = confirm;
  options.user_data = &outcome.messages;
  options.on_message = [](void *data, vxc_severity severity, const char *text) {
    if (severity == VXC_ERROR)
      *static_cast<std::string *>(data) += text;
  };
  outcome.result = vxc_compile(model.c_str(), output.c_str(), &options);
  return outcome;
}

// What the tools refuse is refused to every caller.
TEST(Vxc, outputsAreNoInputs) {
  const std::string model = testing::TempDir() + "vxc-test-input.mlir";
  std::ofstream(model) << Program;
  const std::string again = testing::TempDir() + "none/../vxc-test-input.mlir";
  const Outcome outcome = compile(model, again);
  EXPECT_EQ(outcome.result, VXC_USAGE);
  EXPECT_EQ(outcome.messages,
            "the module '" + again + "' is the same file as the model '" + model + "', expected another name for it");
  EXPECT_EQ(textOf(model), Program);
}

// The caller has the last word before a module has its name.
TEST(Vxc, confirmation) {
  const std::string model = testing::TempDir() + "vxc-test-confirm.mlir";
  const std::string module = testing::TempDir() + "vxc-test-confirm.vxm";
  std::ofstream(model) << Program;
  std::ofstream(module) << "before";
  const Outcome refused = compile(model, module, [](void *) { return "the caller is not ready"; });
  EXPECT_EQ(refused.result, VXC_FAILED);
  EXPECT_EQ(refused.messages, "the caller is not ready");
  EXPECT_EQ(textOf(module), "before");
  const Outcome taken = compile(model, module, [](void *) -> const char * { return nullptr; });
  EXPECT_EQ(taken.result, VXC_DONE) << taken.messages;
  EXPECT_TRUE(textOf(module).starts_with("VXMODULE"));
}

struct Bytes {
  vxc_result result;
  std::string messages, progress;
  vxc_module *module = reinterpret_cast<vxc_module *>(this); // until the call

  explicit Bytes(std::string_view model, const char *name = "m.mlir",
                 const std::function<void(vxc_options &)> &change = nullptr) {
    vxc_options options = {};
    options.struct_size = sizeof(options);
    options.targets = "vulkan";
    options.user_data = this;
    options.on_message = [](void *data, vxc_severity severity, const char *text) {
      (severity == VXC_ERROR ? static_cast<Bytes *>(data)->messages : static_cast<Bytes *>(data)->progress) +=
          text + std::string("\n");
    };
    if (change)
      change(options);
    result = vxc_compile_bytes(model.data(), model.size(), name, &options, &module);
  }
  Bytes(const Bytes &) = delete;
  ~Bytes() { vxc_module_release(module); }
  std::string_view bytes() const {
    return {static_cast<const char *>(vxc_module_data(module)), vxc_module_size(module)};
  }
};

// The same bytes as in a file.
TEST(VxcBytes, areThoseOfAFile) {
  const std::string model = testing::TempDir() + "vxc-test-bytes.mlir";
  const std::string module = testing::TempDir() + "vxc-test-bytes.vxm";
  std::ofstream(model) << Program;
  ASSERT_EQ(compile(model, module).result, VXC_DONE);
  const Bytes memory(Program, model.c_str());
  EXPECT_EQ(memory.result, VXC_DONE) << memory.messages;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(vxc_module_data(memory.module)) % 4096, 0u);
  EXPECT_TRUE(memory.bytes() == textOf(module));
  EXPECT_NE(memory.progress.find("compiled 1 of 1 kernels for vulkan\nwriting memory\n"), std::string::npos)
      << memory.progress;
}

TEST(VxcBytes, nothingForATextOfAPhase) {
  const Bytes graph(Program, "m.mlir", [](vxc_options &options) { options.stop_after = "graph"; });
  EXPECT_EQ(graph.result, VXC_DONE) << graph.messages;
  EXPECT_EQ(graph.module, nullptr);
}

TEST(VxcBytes, trainingWantsNumbersAboveZero) {
  auto compile = [](double norm, double value) {
    return Bytes(Program, "m.mlir", [&](vxc_options &options) {
      options.train = "auto";
      options.loss = "mse";
      options.optimizer = "sgd";
      options.clip_norm = norm;
      options.clip_value = value;
    });
  };
  const Bytes negative = compile(-1, 0), infinite = compile(0, HUGE_VAL);
  EXPECT_EQ(negative.result, VXC_USAGE);
  EXPECT_NE(negative.messages.find("--clip-norm: expected a number above 0, got -1.000000"), std::string::npos)
      << negative.messages;
  EXPECT_EQ(infinite.result, VXC_USAGE);
  EXPECT_NE(infinite.messages.find("--clip-value: expected a number above 0, got inf"), std::string::npos)
      << infinite.messages;
}

TEST(VxcBytes, anExportIsOfWhatIsTrained) {
  const Bytes unknown(Program, "m.mlir", [](vxc_options &options) { options.onnx_export = "outside"; });
  EXPECT_EQ(unknown.result, VXC_USAGE);
  EXPECT_EQ(unknown.messages, "--export: expected inside, external or none, got 'outside'\n");
  const Bytes untrained(Program, "m.mlir", [](vxc_options &options) { options.onnx_export = "inside"; });
  EXPECT_EQ(untrained.result, VXC_USAGE);
  EXPECT_EQ(untrained.messages,
            "--export: expected --train, --loss and --optimizer with it, got none: it writes the trained model\n");
}

TEST(VxcBytes, badArguments) {
  EXPECT_EQ(vxc_compile_bytes("", 0, "m", nullptr, nullptr), VXC_USAGE);
  std::string message;
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = "cpu";
  options.user_data = &message;
  options.on_message = [](void *data, vxc_severity, const char *text) { *static_cast<std::string *>(data) = text; };
  EXPECT_EQ(vxc_compile_bytes("", 0, "m", &options, nullptr), VXC_USAGE);
  EXPECT_EQ(message, "argument 'out_module' is a null pointer");
  const Bytes null(std::string_view(nullptr, 0));
  EXPECT_EQ(null.result, VXC_USAGE);
  EXPECT_EQ(null.messages, "argument 'model' is a null pointer\n");
  EXPECT_EQ(null.module, nullptr);
  const Bytes external(Program, "m.mlir", [](vxc_options &changed) { changed.weights = VXC_WEIGHTS_EXTERNAL; });
  EXPECT_EQ(external.result, VXC_USAGE);
  EXPECT_EQ(external.messages, "option 'weights': expected 0 (inside) for a module in memory, got 1\n");
  const Bytes none("", nullptr);
  EXPECT_EQ(none.result, VXC_UNSUPPORTED);
  EXPECT_EQ(none.messages,
            "model: expects an ONNX model, got an empty file; give the .onnx file that an exporter has written\n");
  const Bytes text("func.func @main(", "m.mlir");
  EXPECT_EQ(text.result, VXC_UNSUPPORTED);
  EXPECT_EQ(text.messages.rfind("m.mlir:1:16: ", 0), 0u) << text.messages;
  EXPECT_EQ(vxc_module_data(nullptr), nullptr);
  EXPECT_EQ(vxc_module_size(nullptr), 0u);
  vxc_module_release(nullptr);
}

// A network cut anywhere is refused or, where the cut leaves a whole model, compiled; nothing else happens.
TEST(VxcBytes, truncatedNetwork) {
  const std::string network = textOf(VX_TEST_NETWORK);
  ASSERT_GT(network.size(), 1000u);
  for (size_t size = 1; size < network.size(); size += network.size() / 23) {
    const Bytes cut(std::string_view(network).substr(0, size), "cut.onnx",
                    [](vxc_options &options) { options.check_only = 1; });
    EXPECT_EQ(cut.result, VXC_UNSUPPORTED) << size;
    EXPECT_EQ(cut.messages.rfind("cut.onnx: ", 0), 0u) << cut.messages;
    EXPECT_EQ(cut.module, nullptr);
  }
}

TEST(VxcBytes, diagnosticsNameNodes) {
  std::string network = textOf(VX_TEST_NETWORK);
  const size_t at = network.find("\x22\x04Relu"); // the op type of the first such node
  ASSERT_NE(at, std::string::npos);
  network.replace(at + 2, 4, "Rexu");
  const Bytes wrong(network, "wrong.onnx");
  EXPECT_EQ(wrong.result, VXC_UNSUPPORTED);
  EXPECT_EQ(wrong.messages.rfind("wrong.onnx: node '", 0), 0u) << wrong.messages;
  EXPECT_NE(wrong.messages.find("' (Rexu, ai.onnx "), std::string::npos) << wrong.messages;
  EXPECT_NE(wrong.messages.find(") is not supported: the op is not imported; export the model again with "
                                "ops that docs/onnx-ops.md lists, or add the op to the model as a function of it\n"
                                "wrong.onnx: 1 node is not supported\n"),
            std::string::npos)
      << wrong.messages;
}

// Cancelled at each place where it is asked, from the first on, until there is none left.
TEST(VxcBytes, cancelled) {
  static int left;
  int places = 0;
  for (;; ++places) {
    left = places;
    const Bytes one(Program, "m.mlir", [](vxc_options &options) {
      options.is_cancelled = [](void *) { return static_cast<int>(left-- <= 0); };
    });
    if (one.result == VXC_DONE)
      break;
    EXPECT_EQ(one.result, VXC_CANCELLED);
    EXPECT_EQ(one.messages, "");
    EXPECT_EQ(one.module, nullptr);
    ASSERT_LT(places, 100);
  }
  EXPECT_GE(places, 5); // the graph, the schedule, a kernel, before and after writing
}

TEST(Vxc, cancelledFileKeepsTheOldOne) {
  const std::string model = testing::TempDir() + "vxc-test-cancel.mlir", folder = testing::TempDir() + "vxc-cancel";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string module = folder + "/m.vxm";
  std::ofstream(model) << Program;
  std::ofstream(module) << "before";
  static int left;
  bool isDone = false;
  for (int place = 0; !isDone; ++place) {
    left = place;
    vxc_options options = {};
    options.struct_size = sizeof(options);
    options.targets = "vulkan";
    options.is_cancelled = [](void *) { return static_cast<int>(left-- <= 0); };
    const vxc_result result = vxc_compile(model.c_str(), module.c_str(), &options);
    isDone = result == VXC_DONE;
    if (!isDone) {
      EXPECT_EQ(result, VXC_CANCELLED);
      EXPECT_EQ(textOf(module), "before");
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    ASSERT_LT(place, 100);
  }
  EXPECT_TRUE(textOf(module).starts_with("VXMODULE"));
}

uint64_t countWrittenBytes() {
  std::ifstream file("/proc/self/io");
  std::string key;
  uint64_t bytes = 0;
  while (file >> key >> bytes)
    if (key == "write_bytes:")
      return bytes;
  throw std::runtime_error("/proc/self/io has no line 'write_bytes'");
}

// From bytes to results in one process; no disk sees a byte of it, though CPU code is linked.
TEST(VxcBytes, runInOneProcess) {
  ::unsetenv("TMPDIR");
  const uint64_t before = countWrittenBytes();
  const Bytes compiled(Program, "m.mlir", [](vxc_options &options) { options.targets = "cpu"; });
  ASSERT_EQ(compiled.result, VXC_DONE) << compiled.messages;
  vx::Module module(std::as_bytes(std::span(compiled.bytes())), "m");
  vx::InstanceOptions options;
  options.device = "cpu";
  vx::Instance instance(module, options);
  vx::Call call(instance, module.functions()[0]);
  const float numbers[] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  const std::vector<vx::Value> results = call.run({vx::Value::raw(VX_F32, dims, numbers, sizeof(numbers))});
  const std::span<const float> sums = results[0].data<float>();
  EXPECT_EQ(std::vector<float>(sums.begin(), sums.end()), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(countWrittenBytes(), before);
}

} // namespace
