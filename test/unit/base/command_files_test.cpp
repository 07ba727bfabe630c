#include "vx/base/command_files.h"

#include "scratch_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace vx {

namespace fs = std::filesystem;

class CommandFilesTest : public test::ScratchFolder {
protected:
  static std::string problemOf(const std::string &input, const std::string &output) {
    CommandFiles files;
    files.addInput("the model", input);
    files.addOutput("the module", output);
    return files.problem();
  }
  static std::string same(const std::string &input, const std::string &output) {
    return "the module '" + output + "' is the same file as the model '" + input + "', expected another name for it";
  }
};

TEST_F(CommandFilesTest, spellings) {
  const std::string model = at("m");
  put(model, "model");
  fs::create_directory(folder / "sub");
  fs::create_symlink("m", folder / "link");
  fs::create_symlink("link", folder / "link-of-link");
  fs::create_symlink(folder, folder / "sub" / "up");
  fs::create_hard_link(folder / "m", folder / "hard");
  for (const std::string &name : {at("m"), at("./m"), at("sub/../m"), at("none/../m"), at("link"), at("link-of-link"),
                                  at("hard"), at("sub/up/m"), fs::relative(model).string()}) {
    EXPECT_EQ(problemOf(model, name), same(model, name));
    EXPECT_EQ(problemOf(name, model), same(name, model));
  }
  for (const std::string &name : {at("m2"), at("sub/m"), at("none/m")})
    EXPECT_EQ(problemOf(model, name), "");
}

// Names of files that are not there yet.
TEST_F(CommandFilesTest, futureFiles) {
  fs::create_symlink("later", folder / "link");
  fs::create_directory_symlink(".", folder / "here");
  for (const std::string &name : {at("later"), at("./later"), at("link"), at("here/later"), at("here/here/link")}) {
    CommandFiles files;
    files.addOutput("output 'x',", at("later"));
    files.addOutput("output 'y',", name);
    EXPECT_EQ(files.problem(), "output 'y', '" + name + "' is the same file as output 'x', '" + at("later") +
                                   "', expected another name for it");
  }
}

// Two names of one input are nothing bad.
TEST_F(CommandFilesTest, inputsMayAgree) {
  put(at("m"), "model");
  CommandFiles files;
  files.addInput("input 'x'", at("m"));
  files.addInput("input 'y'", at("m"));
  files.addOutput("output 'z'", at("z"));
  EXPECT_EQ(files.problem(), "");
}

TEST_F(CommandFilesTest, kinds) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  auto problemOf = [](const std::string &path, CommandFiles::Kind kind) {
    CommandFiles files;
    files.addOutput("the output", path, kind);
    return files.problem();
  };
  using Kind = CommandFiles::Kind;
  for (Kind kind : {Kind::RegularFile, Kind::RegularFileOrStream}) {
    EXPECT_EQ(problemOf(at("pipe"), kind), "cannot write '" + at("pipe") + "': expected a name for a file, got a pipe");
    EXPECT_EQ(problemOf(folder.string(), kind),
              "cannot write '" + folder.string() + "': expected a name for a file, got a folder");
  }
  EXPECT_EQ(problemOf("/dev/null", Kind::RegularFile),
            "cannot write '/dev/null': expected a name for a file, got a device");
  EXPECT_EQ(problemOf("/dev/null", Kind::RegularFileOrStream), "");
  EXPECT_EQ(problemOf("/dev/stdout", Kind::RegularFile),
            "cannot write '/dev/stdout': expected a name for a file, got a stream");
  EXPECT_EQ(problemOf("/dev/stdout", Kind::RegularFileOrStream), "");
  // Two outputs may vanish in one device.
  CommandFiles files;
  files.addOutput("a", "/dev/null", Kind::RegularFileOrStream);
  files.addOutput("b", "/dev/null", Kind::RegularFileOrStream);
  EXPECT_EQ(files.problem(), "");
}

TEST_F(CommandFilesTest, streams) {
  EXPECT_EQ(descriptorOf("/dev/stdout"), 1);
  EXPECT_EQ(descriptorOf("/dev/fd/17"), 17);
  EXPECT_EQ(descriptorOf("/proc/self/fd/2"), 2);
  EXPECT_EQ(descriptorOf("/dev/null"), std::nullopt);
  EXPECT_EQ(descriptorOf(at("x")), std::nullopt);
  fs::create_symlink("/dev/stdout", folder / "out");
  EXPECT_EQ(descriptorOf(at("out")), 1);
  // A descriptor of a file is that file.
  put(at("m"), "model");
  const int file = ::open(at("m").c_str(), O_WRONLY);
  const std::string name = "/dev/fd/" + std::to_string(file);
  CommandFiles files;
  files.addInput("the model", at("m"));
  files.addOutput("the text", name, CommandFiles::Kind::RegularFileOrStream);
  EXPECT_EQ(files.problem(),
            "the text '" + name + "' is the same file as the model '" + at("m") + "', expected another name for it");
  ::close(file);
}

} // namespace vx
