// Options of the C interface that no command line of vx-compile gives.
#include "vx/compiler/vxc.h"

#include "gtest/gtest.h"

#include <fstream>
#include <iterator>
#include <string>

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
              "variants: want 'TARGET=NAME,...' of a target that is asked for, got '" + std::string(variant) + "'");
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
      {"argument 'output_path' is a null pointer, want a path without stop_after and check_only", [](vxc_options &) {},
       "nosuch.onnx", nullptr},
      {"--target: want one or more of ", [](vxc_options &options) { options.targets = nullptr; }},
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
            "the module '" + again + "' is the same file as the model '" + model + "', want another name for it");
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

} // namespace
