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

} // namespace
