// registry.json: the documents that are refused with a reason, and the lines of its comparison with a folder.
#include "registry_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace vx::serve {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; // of "hello"

class RegistryFileTest : public ::testing::Test {
protected:
  RegistryFileTest() {
    std::filesystem::create_directories(folder);
    write("m.vxm", "hello");
  }
  ~RegistryFileTest() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  RegistryFile read(const std::string &text) const {
    write(RegistryFileName, text);
    return readRegistryFile(folder.string());
  }
  std::string refusal(const std::string &text) const {
    const RegistryFile file = read(text);
    EXPECT_TRUE(file.models.empty() || file.refusal.empty());
    return file.refusal;
  }
  static std::string ofFile(const std::string &members) {
    return R"({"version":1,"models":[{"name":"m","kind":"module","bytes":5,"files":[{)" + members + "}]}]}";
  }
  std::vector<std::string> compare(const std::string &text) const {
    ModelPlace place;
    place.name = "m";
    place.path = (folder / "m.vxm").string();
    return compareWithRegistry(folder.string(), read(text), std::span(&place, 1));
  }

  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(RegistryFileTest, refusals) {
  for (const auto &[text, reason] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{", "1:2: expected JSON: syntax error while parsing object key - unexpected end of input; expected string "
                 "literal"},
           {"{\n \"version\": 1,\n \"models\": [{\"name\": \"é\", nu]}", "3:29: expected JSON: syntax error"},
           {"{\n \"version\": 1,\n \"mod", "3:6: expected JSON: syntax error"},
           {"{\"version\": 1e999}", "1:13: expected JSON: number overflow parsing '1e999'"},
           {"\n []", "2:2: expected an object, got a list"},
           {" {}", "1:2: expected the key 'version'"},
           {"{\"models\":[],\n \"versoin\":1}", "2:2: unknown key 'versoin', did you mean 'version'"},
           {R"({"version":2,"models":[]})", "1:12: version: expected 1, got 2"},
           {R"({"version":1})", "1:1: expected the key 'models'"},
           {R"({"version":1,"models":{}})", "1:23: models: expected a list, got an object"},
           {"{\"version\":1,\n\"models\":[],\n  \"model\":1}", "3:3: unknown key 'model', did you mean 'models'"},
           {R"({"version":1,"models":[3]})", "1:24: models[0]: expected an object, got 3"},
           {"{\"version\":1,\"models\":[\n{\"name\":7}]}", "2:9: models[0].name: expected a string, got 7"},
           {"{\"version\":1,\"models\":[\n{\"nmae\":\"a\"}]}",
            "2:2: models[0]: unknown key 'nmae', did you mean 'name'"},
           {R"({"version":1,"models":[{"name":"a","kind":"modul"}]})",
            "1:43: models[0].kind: expected module, onnx or folder, got 'modul', did you mean 'module'"},
           {R"({"version":1,"models":[{"name":"a","kind":"zip"}]})",
            "1:43: models[0].kind: expected module, onnx or folder, got 'zip'"},
           {ofFile(R"("path":"../m.vxm","bytes":5,"modified":1,"sha256":"")"),
            "1:79: models[0].files[0].path: expected a path within the model folder, got '../m.vxm'"},
           {ofFile(R"("path":"/m.vxm","bytes":5,"modified":1,"sha256":"")"),
            "1:79: models[0].files[0].path: expected a path within the model folder, got '/m.vxm'"},
           {ofFile(R"("path":"a/../../m.vxm","bytes":5,"modified":1,"sha256":"")"),
            "1:79: models[0].files[0].path: expected a path within the model folder, got 'a/../../m.vxm'"},
           {ofFile(R"("path":"","bytes":5,"modified":1,"sha256":"")"),
            "1:79: models[0].files[0].path: expected a path within the model folder, got ''"},
           {ofFile("\"path\":\"m.vxm\",\n\"byte\":5,\"modified\":1,\"sha256\":\"\""),
            "2:1: models[0].files[0]: unknown key 'byte', did you mean 'bytes'"},
           {ofFile("\"path\":\"m.vxm\",\n\"bytes\":-5,\"modified\":1,\"sha256\":\"\""),
            "2:9: models[0].files[0].bytes: expected a number of 0 or more, got -5"},
           {ofFile("\"path\":\"m.vxm\",\"bytes\":5,\n\"modified\":1.5,\"sha256\":\"\""),
            "2:12: models[0].files[0].modified: expected a whole number, got 1.5"},
           {ofFile("\"path\":\"m.vxm\",\"bytes\":5,\n\"modified\":9223372036854775808,\"sha256\":\"\""),
            "2:12: models[0].files[0].modified: expected at most 9223372036854775807, got 9223372036854775808"},
           {ofFile("\"path\":\"m.vxm\",\"bytes\":5,\"modified\":1,\n\"sha256\":\"2CF2\""),
            "2:10: models[0].files[0].sha256: expected 64 digits of 0 to 9 and a to f, got '2CF2'"}})
    EXPECT_THAT(refusal(text), StartsWith("registry.json:" + reason)) << text;
  EXPECT_THAT(refusal(std::string(10, '[') + std::string(10, ']')),
              "registry.json: expected values in at most 8 others, got more");
  EXPECT_EQ(refusal(""), "");
}

// Every beginning of a file that is right is refused with a line and column.
TEST_F(RegistryFileTest, truncated) {
  const std::string whole =
      ofFile("\"path\":\"m.vxm\",\n\"bytes\":5,\"modified\":1,\"sha256\":\"" + std::string(hash) + "\"");
  EXPECT_EQ(refusal(whole), "");
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_THAT(refusal(whole.substr(0, size)), ContainsRegex("^registry.json:[12]:[0-9]+: expected JSON: "));
}

TEST_F(RegistryFileTest, comparison) {
  const auto file = [](const std::string &bytes, std::string_view digest) {
    return ofFile(R"("path":"m.vxm","bytes":)" + bytes + R"(,"modified":-1,"sha256":")" + std::string(digest) + "\"");
  };
  EXPECT_THAT(compare(file("5", hash)), ElementsAre());
  EXPECT_THAT(compare(file("6", hash)), ElementsAre("registry.json: model 'm': 'm.vxm': expected 6 bytes, got 5"));
  const std::string zeros(64, '0');
  EXPECT_THAT(compare(file("5", zeros)), ElementsAre("registry.json: model 'm': 'm.vxm': expected the SHA-256 " +
                                                     zeros + ", got " + std::string(hash)));
  EXPECT_THAT(compare("["), ElementsAre(HasSubstr("registry.json:1:2: expected JSON")));
}

// A log has a line for each difference, whatever the names in the file are.
TEST_F(RegistryFileTest, lines) {
  EXPECT_THAT(compare(R"({"version":1,"models":[{"name":"a\nb","kind":"onnx","bytes":0,"files":[]}]})"),
              ElementsAre("registry.json: model 'a\\u000ab' is not in the folder; 'vx-models scan --write' makes the "
                          "file anew"));
  EXPECT_THAT(
      compare(ofFile(R"("path":"x\ny","bytes":1,"modified":0,"sha256":")" + std::string(hash) + "\"")),
      ElementsAre("registry.json: model 'm': 'x\\u000ay': expected a file of 1 bytes, got none: No such file or "
                  "directory"));
}

// A file that is older than 1970 is written with a negative time, which reads again.
TEST_F(RegistryFileTest, oldFiles) {
  const std::filesystem::file_time_type old =
      std::filesystem::last_write_time(folder / "m.vxm") - std::chrono::hours(24 * 365 * 70);
  std::filesystem::last_write_time(folder / "m.vxm", old);
  ModelPlace place;
  place.name = "m";
  place.path = (folder / "m.vxm").string();
  std::vector<std::string> notes;
  const std::string text = describeRegistry(folder.string(), std::span(&place, 1), notes).dump();
  EXPECT_THAT(text, HasSubstr("\"modified\":-"));
  EXPECT_EQ(refusal(text), "");
  EXPECT_THAT(compare(text), ElementsAre());
}

} // namespace
} // namespace vx::serve
