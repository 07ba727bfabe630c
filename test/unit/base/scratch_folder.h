// A folder for the files of one test.
#ifndef VX_TEST_UNIT_BASE_SCRATCH_FOLDER_H
#define VX_TEST_UNIT_BASE_SCRATCH_FOLDER_H

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

namespace vx::test {

class ScratchFolder : public testing::Test {
protected:
  ScratchFolder() : folder(std::filesystem::path(testing::TempDir()) / ("vx-base-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~ScratchFolder() override { std::filesystem::remove_all(folder); }

  std::string at(const std::string &name) const { return (folder / name).string(); }
  static void put(const std::string &path, const std::string &text) { std::ofstream(path) << text; }
  // Its text, or "none".
  static std::string contents(const std::string &path) {
    std::ifstream file(path);
    return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "none";
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

  const std::filesystem::path folder;
};

} // namespace vx::test

#endif
