// The names of CPU variants.
#include "cpu_image.h"
#include "vx/Target/LLVMCPU/CPUTarget.h"
#include "gtest/gtest.h"

using namespace vx;

namespace {

std::vector<std::string> names(const std::vector<std::string> &request) {
  std::string error;
  auto specs = createCPUTarget()->variants(request, error);
  std::vector<std::string> result;
  if (failed(specs))
    return {error};
  for (const TargetSpec &spec : *specs)
    result.push_back(spec.variant);
  return result;
}

TEST(Variants, areBestFirstAndEachOnce) {
  EXPECT_EQ(names({}), (std::vector<std::string>{"avx512+vnni", "avx512", "x86-64-v3"}));
  EXPECT_EQ(names({"generic", "avx512", "x86-64-v3", "x86-64-v4", "avx512+vnni"}),
            (std::vector<std::string>{"avx512+vnni", "avx512", "x86-64-v3", "generic"}));
}

TEST(Variants, nameWhatIsKnown) {
  EXPECT_EQ(names({"z80"}), (std::vector<std::string>{"unknown variant 'z80' of target 'cpu', known are: native, "
                                                      "avx512+vnni, avx512, x86-64-v3, x86-64-v2, generic"}));
}

#if defined(__x86_64__)
TEST(Variants, nativeAsksForWhatItUses) {
  std::string error;
  auto specs = createCPUTarget()->variants({"native"}, error);
  ASSERT_TRUE(succeeded(specs)) << error;
  const TargetSpec &spec = specs->front();
  // Each feature beyond the base is both in the name and required.
  for (llvm::StringRef rest = spec.features; !rest.empty();) {
    auto [feature, tail] = rest.split(',');
    EXPECT_NE(spec.variant.find(feature.str()), std::string::npos) << feature.str();
    EXPECT_EQ(std::count(spec.requires_.begin(), spec.requires_.end(), feature.drop_front().str()), 1);
    rest = tail;
  }
}
#else
TEST(Variants, nativeIsWhatTheCodeIsFor) {
  EXPECT_EQ(names({"native"}),
            (std::vector<std::string>{"variant 'native' of target 'cpu': expected an x86-64 processor to compile on, "
                                      "got another; name another variant"}));
}
#endif

} // namespace
