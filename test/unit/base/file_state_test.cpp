// The state of files is another one when something of them has changed.
#include "scratch_folder.h"

#include "vx/base/file_state.h"

namespace vx::test {
namespace {

class FileState : public ScratchFolder {};

TEST_F(FileState, followsEveryFileOfAFolder) {
  std::filesystem::create_directories(folder / "onnx");
  put(at("config.json"), "{}");
  put(at("onnx/model.onnx"), "a");
  const std::string before = stateOfFiles(folder, true);
  EXPECT_EQ(stateOfFiles(folder, true), before);
  put(at("onnx/model.onnx"), "ab");
  EXPECT_NE(stateOfFiles(folder, true), before);
  const std::string after = stateOfFiles(folder, true);
  put(at("new"), "");
  EXPECT_NE(stateOfFiles(folder, true), after);
  EXPECT_EQ(stateOfFiles(at("nowhere"), true), "");
}

TEST_F(FileState, aFileHasWhatStandsBesideIt) {
  put(at("model.onnx"), "a");
  put(at("other.onnx"), "b");
  const std::string before = stateOfFiles(at("model.onnx"), true);
  put(at("other.onnx"), "bc");
  EXPECT_EQ(stateOfFiles(at("model.onnx"), true), before);
  put(at("model.onnx_data"), "weights");
  EXPECT_NE(stateOfFiles(at("model.onnx"), true), before);
  EXPECT_EQ(stateOfFile(at("model.onnx"), true), before);
  EXPECT_EQ(stateOfFile(at("nowhere"), true), "");
}

// One that takes the place of another and looks like it.
TEST_F(FileState, inodesAreFollowedWhereTheyAreAskedFor) {
  put(at("a"), "1");
  const std::string with = stateOfFile(at("a"), true), without = stateOfFile(at("a"), false);
  const auto time = std::filesystem::last_write_time(at("a"));
  put(at("b"), "2");
  std::filesystem::rename(at("b"), at("a"));
  std::filesystem::last_write_time(at("a"), time);
  EXPECT_NE(stateOfFile(at("a"), true), with);
  EXPECT_EQ(stateOfFile(at("a"), false), without);
}

} // namespace
} // namespace vx::test
