// Which pages of a file a device is asked to read in place.
#include "exec/page_runs.h"
#include "programs.h"
#include "runtime_test.h"

#include <unistd.h>

namespace vx::test {

class PageRuns : public testing::Test {
protected:
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

  // Constants at these offsets and of these sizes in one section.
  void load(const std::vector<std::pair<uint64_t, uint64_t>> &places) {
    ModuleBuilder builder;
    addAffine(builder);
    std::vector<uint8_t> bytes(16 * page);
    const auto add = [&](uint64_t size) {
      return builder.addConstant("c" + std::to_string(builder.module.constants.size()), format::ElementType::I8,
                                 {static_cast<int64_t>(size)}, bytes.data(), size);
    };
    const uint32_t first = add(bytes.size());
    for (auto [offset, size] : places) {
      const uint32_t constant = add(size);
      builder.module.constants[constant]->section = builder.module.constants[first]->section;
      builder.module.constants[constant]->offset = offset;
    }
    builder.addCpuTarget();
    const std::string path = builder.write("page_runs.vxm");
    ASSERT_OK(Module::load(path, module));
    begin = module->data().sections[module->data().constants[first].section].bytes.data();
    start = first + 1;
  }
  // As (page of the section, pages, constants) of the runs, all in units of the test.
  using Run = std::tuple<int64_t, uint64_t, std::vector<size_t>>;
  std::vector<Run> runs(std::vector<size_t> numbers, uint64_t most = UINT64_MAX) const {
    std::vector<bool> wanted(module->data().constants.size());
    for (size_t number : numbers)
      wanted[start + number] = true;
    std::vector<Run> result;
    for (const PageRun &run : findPageRuns(*module, wanted, most)) {
      std::vector<size_t> constants;
      for (size_t index : run.constants)
        constants.push_back(index - start);
      result.emplace_back((run.begin - begin) / static_cast<int64_t>(page), run.size / page, constants);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(run.begin) % page, 0u);
      EXPECT_EQ(run.size % page, 0u);
    }
    return result;
  }

  Ref<Module> module;
  const uint8_t *begin = nullptr;
  size_t start = 0;
};

TEST_F(PageRuns, joinConstantsOfOnePageAndOfTheNext) {
  load({{64, 64}, {0, 64}, {page, page}, {3 * page - 64, 128}, {6 * page, 1}});
  EXPECT_EQ(runs({0, 1, 2, 3, 4}), (std::vector<Run>{{0, 4, {1, 0, 2, 3}}, {6, 1, {4}}}));
  EXPECT_EQ(runs({0}), (std::vector<Run>{{0, 1, {0}}}));
  EXPECT_EQ(runs({0, 3}), (std::vector<Run>{{0, 1, {0}}, {2, 2, {3}}}));
  EXPECT_EQ(runs({}), std::vector<Run>());
}

// One constant may lie within another one.
TEST_F(PageRuns, coverTheLongest) {
  load({{0, 5 * page}, {page, 64}, {5 * page, 64}});
  EXPECT_EQ(runs({0, 1, 2}), (std::vector<Run>{{0, 6, {0, 1, 2}}}));
  EXPECT_EQ(runs({0, 1}), (std::vector<Run>{{0, 5, {0, 1}}}));
}

TEST_F(PageRuns, areNoLongerThanADeviceTakes) {
  load({{0, page}, {page, page}, {2 * page, 4 * page}, {6 * page, 64}});
  EXPECT_EQ(runs({0, 1, 2, 3}, 3 * page), (std::vector<Run>{{0, 2, {0, 1}}, {2, 4, {2}}, {6, 1, {3}}}));
  EXPECT_EQ(runs({0, 1, 2, 3}, 2 * page - 1), (std::vector<Run>{{0, 1, {0}}, {1, 1, {1}}, {2, 4, {2}}, {6, 1, {3}}}));
}

TEST_F(PageRuns, leaveOutWhatHasNoBytes) {
  load({{0, 0}, {64, 64}});
  EXPECT_EQ(runs({0, 1}), (std::vector<Run>{{0, 1, {1}}}));
}

} // namespace vx::test
