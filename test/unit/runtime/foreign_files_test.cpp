// Files of other kinds that users give for a module: the loader names the kind, and the tool for it.
#include "runtime_test.h"

namespace vx::test {

// Loads bytes; the message without the file's name in front.
static std::string refusalOfBytes(const std::string &bytes) {
  const std::string path = scratchPath("damaged.vxm");
  writeFile(path, {bytes.begin(), bytes.end()});
  Ref<Module> module;
  const Status status = Module::load(path, module);
  EXPECT_EQ(status.code(), VX_INVALID_MODULE);
  const std::string message(status.message());
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  return message.substr(path.size() + 2);
}

// A message as protobuf has it: each field's tag and what it holds.
TEST(ForeignFiles, anOnnxModel) {
  const std::string model("\x08\x0a\x12\x02vx\x3a\x03\x12\x01g\x42\x02\x10\x11", 15);
  auto isModel = [&] {
    const std::string path = scratchPath("damaged.vxm");
    return "is an ONNX model and no vx module: compile it with 'vx-compile " + path + " -o " + path + "'";
  };
  EXPECT_EQ(refusalOfBytes(model), isModel());
  EXPECT_EQ(refusalOfBytes("\x3a\x03\x12\x01g"), isModel());
  // Without a graph, with another field, and cut off.
  EXPECT_EQ(refusalOfBytes(model.substr(0, 6)),
            "is no vx module: the file has 6 bytes and does not begin with 'VXMODULE'");
  EXPECT_EQ(refusalOfBytes(model + "\x4a\x01x"),
            "is no vx module: the file has 18 bytes and does not begin with 'VXMODULE'");
  EXPECT_EQ(refusalOfBytes(model.substr(0, 14)),
            "is no vx module: the file has 14 bytes and does not begin with 'VXMODULE'");
  Ref<Module> module;
  const std::string path = scratchPath("net.v1.onnx");
  writeFile(path, {model.begin(), model.end()});
  EXPECT_FAILS(Module::load(path, module), VX_INVALID_MODULE,
               path + ": is an ONNX model and no vx module: compile it with 'vx-compile " + path + " -o " +
                   scratchPath("net.v1.vxm") + "'");
}

TEST(ForeignFiles, aGgufFile) {
  Ref<Module> module;
  const std::string path = scratchPath("net.gguf");
  for (const std::string bytes :
       {"GGUF", "GGUF and whatever comes after the four letters, which is more than a header"}) {
    writeFile(path, {bytes.begin(), bytes.end()});
    EXPECT_FAILS(Module::load(path, module), VX_INVALID_MODULE,
                 path + ": is a GGUF file and no vx module: compile it with 'vx-compile " + path + " -o " +
                     scratchPath("net.vxm") + "', or run a language model with 'vx-llm run " + path + "'");
  }
  EXPECT_EQ(refusalOfBytes("GGU"), "is no vx module: the file has 3 bytes and does not begin with 'VXMODULE'");
}

} // namespace vx::test
