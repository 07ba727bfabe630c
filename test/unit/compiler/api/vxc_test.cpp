// Options of the C interface that no command line of vx-compile gives.
#include "vx/compiler/vxc.h"

#include "gtest/gtest.h"

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

} // namespace
