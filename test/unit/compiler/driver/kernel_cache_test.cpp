// What a compiled kernel is found by again.
#include "KernelCache.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <set>
#include <unistd.h>

namespace vx {

// Two specs that differ in one field, whichever it is, have two texts. The fields are taken apart: one that is added
// does not compile until it has its change here.
TEST(KernelCache, everyFieldCounts) {
  TargetSpec spec;
  std::set<std::string> texts = {serializeSpec(spec)};
  auto expectChange = [&](auto &field, auto value) {
    auto before = field;
    field = value;
    EXPECT_TRUE(texts.insert(serializeSpec(spec)).second) << "change " << texts.size();
    field = before;
  };
  auto &[target, variant, triple, cpu, features, requirements, vectorBits, registers, maskedBits, l1Bytes, l2Bytes,
         maxThreads, workgroupMemory, matrixUnit, asyncCopyBytes, hasByteDots] = spec;
  for (std::string *text : {&target, &variant, &triple, &cpu, &features})
    expectChange(*text, "x");
  expectChange(requirements, std::vector<std::string>{"x"});
  expectChange(requirements, std::vector<std::string>{"x", ""});
  expectChange(requirements, std::vector<std::string>{"", "x"});
  for (int64_t *number :
       {&vectorBits, &registers, &maskedBits, &l1Bytes, &l2Bytes, &maxThreads, &workgroupMemory, &asyncCopyBytes})
    expectChange(*number, *number + 1);
  auto &[depths, subgroup, elements, laneColumns, rowStep, columnStep, readsAcross] = matrixUnit;
  expectChange(depths, std::map<std::string, int64_t>{{"f16", 8}});
  expectChange(depths, std::map<std::string, int64_t>{{"f16", 16}});
  expectChange(elements, std::vector<std::pair<int64_t, int64_t>>{{1, 2}});
  expectChange(elements, std::vector<std::pair<int64_t, int64_t>>{{12, 0}});
  for (int64_t *number : {&subgroup, &laneColumns, &rowStep, &columnStep})
    expectChange(*number, *number + 1);
  expectChange(readsAcross, true);
  expectChange(hasByteDots, true);
}

// The code lies in libraries: the program that asks does not count. Here the compiler is linked into the test.
TEST(KernelCache, identityIsOfTheCode) {
  const std::string identity = getCompilerIdentity();
  EXPECT_TRUE(identity.starts_with("vx ")) << identity;
  EXPECT_EQ(identity, getCompilerIdentity());
  EXPECT_EQ(identity.find("process"), std::string::npos) << identity;
  // Version and number of vx, of LLVM, and an id each for vx, MLIR and LLVM.
  EXPECT_EQ(std::count(identity.begin(), identity.end(), ' '), 6) << identity;
}

class KernelCacheFolder : public testing::Test {
protected:
  KernelCacheFolder() : folder(testing::TempDir() + "/vx-kernel-cache-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder);
  }
  ~KernelCacheFolder() override { std::filesystem::remove_all(folder); }

  const std::string folder;
  TargetSpec spec;
};

TEST_F(KernelCacheFolder, givesBackWhatWasStored) {
  KernelCache cache(folder);
  EXPECT_FALSE(cache.load("key", spec));
  cache.store("key", spec, {"entry", {'c', 'o', 'd', 'e'}, "loops", "a reason"});
  EXPECT_EQ(cache.problem(), "");
  auto found = cache.load("key", spec);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->entry, "entry");
  EXPECT_EQ(std::string(found->code.begin(), found->code.end()), "code");
  EXPECT_EQ(found->takenStrategy, "loops");
  EXPECT_EQ(found->declineReason, "a reason");
  EXPECT_FALSE(cache.load("other", spec));
  spec.asyncCopyBytes = 16;
  EXPECT_FALSE(cache.load("key", spec));
  spec.asyncCopyBytes = 0;
  spec.matrixUnit.depths["f16"] = 8;
  EXPECT_FALSE(cache.load("key", spec));
}

TEST_F(KernelCacheFolder, namesWhatIsWrong) {
  KernelCache cache("/proc/nowhere");
  EXPECT_FALSE(cache.load("key", spec));
  EXPECT_EQ(cache.problem(), "");
  cache.store("key", spec, {"entry", {'c'}, "", ""});
  EXPECT_EQ(cache.problem(), "cannot use the cache of kernels '/proc/nowhere': No such file or directory");
}

} // namespace vx
